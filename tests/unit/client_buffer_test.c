/* client_buffer_test.c -- the memory that a processor reads ahead into, in
 * virtual time.
 *
 * Batches that a handler holds count against it; a lease that waits after a
 * failure gives its share to the others.
 */
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct hosts h;
static unsigned last_attempt;

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static void stats_of(int number, runnel_processor_stats *out)
{
    *out = (runnel_processor_stats){ RUNNEL_STATS_INIT };
    rn_host_read_stats(h.hosts[number].engine, out);
}

static runnel_batch *held[64];
static unsigned held_count;

static runnel_verdict hold(struct hosts_host *host, const char *lease,
                           const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    assert_true(held_count < 64);
    held[held_count++] = runnel_batch_hold(batch);
    return RUNNEL_DONE;
}

static void batches_that_are_held_count_as_buffered(void **state)
{
    const runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                       .start = RUNNEL_START_BEGINNING,
                                       .page_limit = 10 };
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats;

    (void)state;
    hosts_open(&h, 1, 2);
    h.judge = hold;
    o.feed = &feed;
    o.buffer_bytes = 64 << 10;
    hosts_put(&h, 0, 400);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000);
    stats_of(0, &stats);
    assert_in_range(stats.buffered_bytes, 32 << 10, 80 << 10);
    assert_false(hosts_all_seen(&h));
    for (int i = 0; i < 1000 && !hosts_all_seen(&h); i++) {
        while (held_count > 0)
            runnel_batch_close(held[--held_count]);
        hosts_run(&h, 100);
    }
    hosts_check(&h);
    hosts_stop(&h, 0);
    while (held_count > 0) /* beyond the life of the host */
        runnel_batch_close(held[--held_count]);
}

static bool is_mended;

static runnel_verdict fail_lease_0(struct hosts_host *host, const char *lease,
                                   const runnel_batch *batch)
{
    (void)host;
    if (strcmp(lease, "0") != 0 || is_mended)
        return RUNNEL_DONE;
    last_attempt = runnel_batch_attempt(batch);
    return RUNNEL_AGAIN;
}

static void a_lease_in_back_off_gives_its_memory_to_others(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats;
    unsigned before;

    (void)state;
    hosts_open(&h, 1, 2);
    h.judge = fail_lease_0;
    o.buffer_bytes = 1; /* one page at a time */
    o.retry_delay_ms = 5000;
    o.retry_attempts = RUNNEL_OFF;
    hosts_put(&h, 0, 200);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    before = h.hosts[0].batches;
    hosts_put(&h, 0, 200);
    hosts_run(&h, 1000);
    assert_true(h.hosts[0].batches > before); /* of lease 1 */
    stats_of(0, &stats);
    assert_int_equal(stats.buffered_bytes, 0);
    hosts_run(&h, 30000);
    assert_in_range(last_attempt, 3, 4); /* counted on, though dropped */
    is_mended = true;
    hosts_until(&h, hosts_all_seen, 120000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(batches_that_are_held_count_as_buffered,
                                  tear_down),
        cmocka_unit_test_teardown(
            a_lease_in_back_off_gives_its_memory_to_others, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
