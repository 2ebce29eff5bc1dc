/* client_tamper_test.c -- a stored position that somebody else changes while a
 * host works on the lease.
 *
 * The fleets of client.sim do this at random; here are the two cases whose
 * outcome can be told exactly.
 */
#include "client/dotnet_lease.h"
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const runnel_batch *pending; /* without a verdict yet */
static unsigned calls;
static bool is_late; /* verdicts are given by the case */

static runnel_verdict judge(struct hosts_host *host, const char *lease,
                            const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    calls++;
    if (!is_late)
        return RUNNEL_DONE;
    pending = batch;
    return RUNNEL_PENDING;
}

/* Writes another position into the lease, as an operator would. */
static void put_position(struct hosts *h, const char *position)
{
    const struct service_entry *e = hosts_lease(h, "0");
    struct rn_buf json = RN_BUF_INIT(1 << 16);
    struct dotnet_lease lease;

    assert_true(dotnet_lease_parse(rn_view_text(e->json), &lease));
    dotnet_copy(lease.continuation, sizeof(lease.continuation),
                rn_view_text(position));
    dotnet_lease_print(&lease, &json);
    assert_int_equal(rn_buf_add(&json, RN_LIT("\0")), RN_OK);
    (void)service_upsert(h->leases, json.at);
    rn_buf_release(&json);
}

static struct hosts *open_host(void)
{
    struct hosts *h = calloc(1, sizeof(*h));
    runnel_processor_options options = hosts_options();

    assert_non_null(h);
    calls = 0;
    is_late = false;
    hosts_open(h, 7, 1);
    h->judge = judge;
    hosts_start(h, 0, &options);
    hosts_put(h, 0, 10);
    hosts_until(h, hosts_all_seen, 10000);
    return h;
}

static void close_host(struct hosts *h)
{
    hosts_stop(h, 0);
    hosts_close(h);
    free(h);
}

static void
a_call_from_before_the_change_ends_before_the_next_begins(void **state)
{
    struct hosts *h = open_host();
    unsigned before = calls;

    (void)state;
    is_late = true;
    hosts_put(h, 10, 12);
    hosts_run(h, 1000);
    assert_int_equal(calls, before + 1);
    put_position(h, "\"4\"");
    hosts_run(h, 8000); /* it has seen the change, at a renewal */
    assert_int_equal(calls, before + 1);
    is_late = false;
    runnel_batch_ack(pending, RUNNEL_DONE);
    hosts_run(h, 8000);
    assert_true(calls > before + 1);
    assert_true(h->delivered[5] > 1); /* behind the old position */
    assert_int_equal(h->delivered[1], 1);
    hosts_check(h);
    close_host(h);
}

static void
a_position_put_forward_is_not_believed_while_the_owner_lives(void **state)
{
    struct hosts *h = open_host();

    (void)state;
    is_late = true;
    hosts_put(h, 10, 12);
    hosts_run(h, 1000);
    put_position(h, "\"12\""); /* as if these two were done */
    hosts_run(h, 8000);
    is_late = false;
    runnel_batch_ack(pending, RUNNEL_AGAIN);
    hosts_until(h, hosts_all_seen, 20000);
    assert_true(h->delivered[10] > 0 && h->delivered[11] > 0);
    hosts_check(h);
    close_host(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_call_from_before_the_change_ends_before_the_next_begins),
        cmocka_unit_test(
            a_position_put_forward_is_not_believed_while_the_owner_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
