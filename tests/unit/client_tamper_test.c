/* client_tamper_test.c -- a stored position that somebody else changes while a
 * host works on the lease.
 *
 * The fleets of client.sim do this at random; here are the cases whose
 * outcome is known exactly.
 */
#include "client/dotnet_lease.h"
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void put_lease(struct hosts *h, const struct dotnet_lease *lease)
{
    struct rn_buf json = RN_BUF_INIT(1 << 16);

    dotnet_lease_print(lease, &json);
    assert_int_equal(rn_buf_add(&json, RN_LIT("\0")), RN_OK);
    (void)service_upsert(h->leases, json.at);
    rn_buf_release(&json);
}

static void read_lease(struct hosts *h, struct dotnet_lease *lease)
{
    const struct service_entry *e = hosts_lease(h, "0");

    assert_true(dotnet_lease_parse(rn_view_text(e->json), lease));
}

/* Writes another position into the lease, as an operator would. */
static void put_position(struct hosts *h, const char *position)
{
    struct dotnet_lease lease;

    read_lease(h, &lease);
    dotnet_copy(lease.continuation, sizeof(lease.continuation),
                rn_view_text(position));
    put_lease(h, &lease);
}

/* The same, as a seek does it. */
static void seek(struct hosts *h, const char *position)
{
    struct dotnet_lease lease;
    size_t len;

    read_lease(h, &lease);
    len = strlen(lease.properties);
    assert_true(len > 2);
    snprintf(lease.properties + len - 1, sizeof(lease.properties) - len + 1,
             ",\"runnel.generation\":\"1\"}");
    dotnet_copy(lease.continuation, sizeof(lease.continuation),
                rn_view_text(position));
    put_lease(h, &lease);
}

static struct hosts *open_host_from(const runnel_feed_options *feed)
{
    struct hosts *h = calloc(1, sizeof(*h));
    runnel_processor_options options = hosts_options();

    assert_non_null(h);
    calls = 0;
    is_late = false;
    hosts_open(h, 7, 1);
    h->judge = judge;
    options.feed = feed;
    hosts_start(h, 0, &options);
    hosts_run(h, 1000);
    hosts_put(h, 0, 10);
    hosts_until(h, hosts_all_seen, 10000);
    return h;
}

static struct hosts *open_host(void)
{
    return open_host_from(&hosts_beginning);
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

/* ---- a position that was erased ------------------------------------------ */

static const runnel_feed_options all = { RUNNEL_FEED_INIT,
                                         .mode = RUNNEL_FEED_ALL,
                                         .start = RUNNEL_START_NOW };
static const runnel_feed_options from_now = { RUNNEL_FEED_INIT,
                                              .start = RUNNEL_START_NOW };

static void all_versions_without_a_position_wait_for_a_seek(void **state)
{
    for (int is_stopped = 0; is_stopped < 2; is_stopped++) {
        struct hosts *h = open_host_from(&all);
        runnel_processor_options options = hosts_options();

        (void)state;
        options.feed = &all;
        if (is_stopped)
            hosts_stop(h, 0);
        put_position(h, "");
        hosts_put(h, 10, 20);
        if (is_stopped)
            hosts_start(h, 0, &options);
        hosts_run(h, 8000);
        hosts_put(h, 20, 30);
        hosts_run(h, 20000);
        assert_int_equal(h->hosts[0].events[RUNNEL_EVENT_RETENTION], 1);
        assert_non_null(strstr(h->hosts[0].last_message, "runnel_leases_seek"));
        /* A running host may have delivered some before it saw the change. */
        assert_int_equal(h->delivered[20], 0);
        assert_int_equal(hosts_owned(h, 0), 1); /* it keeps the lease */
        seek(h, "\"10\"");
        hosts_until(h, hosts_all_seen, 20000);
        hosts_check(h);
        close_host(h);
    }
}

static void a_lease_of_ours_without_a_position_begins_anew(void **state)
{
    struct hosts *h = open_host_from(&from_now);
    runnel_processor_options options = hosts_options();

    (void)state;
    options.feed = &from_now;
    hosts_stop(h, 0);
    put_position(h, "");
    hosts_put(h, 10, 20);
    hosts_start(h, 0, &options);
    hosts_until(h, hosts_all_seen, 20000);
    assert_int_equal(h->hosts[0].events[RUNNEL_EVENT_CONFIGURATION], 1);
    assert_non_null(strstr(h->hosts[0].last_message, "erased"));
    assert_int_equal(h->delivered[0], 2);
    hosts_check(h);
    close_host(h);
}

/* A lease of version 3 has no position until its first batch is done, and it
 * may not say where its own host began. */
static void a_foreign_lease_without_a_position_is_reported(void **state)
{
    struct hosts *h = open_host_from(&all);
    runnel_processor_options options = hosts_options();
    struct dotnet_lease lease;

    (void)state;
    options.feed = &all;
    hosts_stop(h, 0);
    read_lease(h, &lease);
    lease.continuation[0] = lease.properties[0] = '\0';
    put_lease(h, &lease);
    hosts_start(h, 0, &options);
    hosts_run(h, 3000);
    hosts_put(h, 10, 20);
    hosts_until(h, hosts_all_seen, 20000);
    assert_non_null(strstr(h->hosts[0].last_message, "another library"));
    assert_int_equal(h->delivered[0], 1);
    hosts_check(h);
    close_host(h);
}

/* Such a lease was split before its first read. */
static void children_of_a_foreign_lease_remember_the_start(void **state)
{
    struct hosts *h = open_host_from(&from_now);
    runnel_processor_options options = hosts_options();
    struct dotnet_lease lease;

    (void)state;
    options.feed = &from_now;
    hosts_stop(h, 0);
    read_lease(h, &lease);
    lease.continuation[0] = lease.properties[0] = '\0';
    put_lease(h, &lease);
    assert_true(service_split(h->world.box, 0, 0));
    hosts_start(h, 0, &options);
    for (int i = 0; i < 100 && !hosts_lease(h, "1"); i++)
        hosts_run(h, 100);
    assert_non_null(
        strstr(hosts_lease(h, "1")->json, "\"runnel.start\":\"now\""));
    hosts_run(h, 3000);
    hosts_put(h, 10, 20);
    hosts_until(h, hosts_all_seen, 20000);
    assert_int_equal(h->delivered[0], 1);
    assert_int_equal(h->hosts[0].events[RUNNEL_EVENT_CONFIGURATION], 0);
    close_host(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_call_from_before_the_change_ends_before_the_next_begins),
        cmocka_unit_test(
            a_position_put_forward_is_not_believed_while_the_owner_lives),
        cmocka_unit_test(all_versions_without_a_position_wait_for_a_seek),
        cmocka_unit_test(a_lease_of_ours_without_a_position_begins_anew),
        cmocka_unit_test(a_foreign_lease_without_a_position_is_reported),
        cmocka_unit_test(children_of_a_foreign_lease_remember_the_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
