/* client_host_health_test.c -- what a host says of itself: its counters and the
 * state of each lease, in virtual time.
 *
 * Goal: a probe and a table of metrics can rely on them.  Method: a host is
 * brought into each state, and what it says is compared with what happened.
 */
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct hosts h;
static const runnel_batch *held;

static struct {
    unsigned leases;
    runnel_lease_health health;
    char doing[16];
    char position[64]; /* "": none */
} told;

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static runnel_processor_stats stats_of(int number)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    rn_host_read_stats(h.hosts[number].engine, &stats);
    return stats;
}

static bool note(void *context, const runnel_lease_health *lease)
{
    (void)context;
    told.leases++;
    told.health = *lease;
    assert_string_equal(lease->lease, "0");
    snprintf(told.doing, sizeof(told.doing), "%s", lease->doing);
    snprintf(told.position, sizeof(told.position), "%s",
             lease->position ? lease->position : "");
    return true;
}

static void look(void)
{
    memset(&told, 0, sizeof(told));
    rn_host_each_lease(h.hosts[0].engine, note, NULL);
}

/* ---- a lease ------------------------------------------------------------- */

static runnel_verdict hold(struct hosts_host *host, const char *lease,
                           const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    held = batch;
    return RUNNEL_PENDING;
}

static void the_state_of_a_lease_is_told(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold;
    o.retry_delay_ms = 5000;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    look();
    assert_int_equal(told.leases, 1);
    assert_string_equal(told.doing, "waiting");
    assert_int_equal(told.health.attempt, 1);
    assert_in_range(told.health.renew_age_ms, 0, 3100);
    /* Ten seconds from the last write, less a margin. */
    assert_in_range(told.health.valid_ms, 5000, 10000);
    hosts_put(&h, 0, 5);
    hosts_run(&h, 1000);
    look();
    assert_string_equal(told.doing, "handling");
    assert_in_range(told.health.read_age_ms, 0, 1000);
    runnel_batch_ack(held, RUNNEL_AGAIN);
    hosts_run(&h, 1000);
    look();
    assert_string_equal(told.doing, "backoff");
    assert_int_equal(told.health.attempt, 2);
    assert_in_range(told.health.ack_age_ms, 900, 1100);
    hosts_run(&h, 6000);
    runnel_batch_ack(held, RUNNEL_DONE);
    hosts_run(&h, 500);
    look();
    assert_string_equal(told.doing, "waiting");
    assert_string_equal(told.position, "\"5\"");
    assert_int_equal(told.health.attempt, 1);
    assert_in_range(told.health.checkpoint_age_ms, 400, 500);
    assert_int_equal(told.health.failures, 0);
    scripted_cut(h.hosts[0].network, true);
    hosts_run(&h, 40000);
    look();
    assert_true(told.leases == 0 || told.health.failures > 0);
    scripted_cut(h.hosts[0].network, false);
    hosts_stop(&h, 0);
}

/* ---- a host -------------------------------------------------------------- */

static unsigned calls;

/* A batch of ten fails twice; a change alone is rejected. */
static runnel_verdict fail_some(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    if (calls++ < 2)
        return RUNNEL_AGAIN;
    return runnel_batch_count(batch) == 1 ? RUNNEL_REJECT : RUNNEL_DONE;
}

static bool throttle(void *context, const struct service_request *q,
                     struct service_answer *a)
{
    unsigned *left = context;

    if (*left == 0 || !service_header(q, "A-IM").at)
        return false;
    (*left)--;
    a->header_count = 0;
    service_refuse(a, 429, 3200, "Too many.");
    return true;
}

static void counters_say_what_happened(void **state)
{
    unsigned throttles = 1000;
    runnel_processor_options o = hosts_options();
    runnel_processor_stats s;

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = fail_some;
    o.exhausted = RUNNEL_SKIP;
    o.wait_ms = RUNNEL_OFF; /* an empty answer each time */
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    hosts_put(&h, 10, 11);
    hosts_run(&h, 20000);
    s = stats_of(0);
    assert_int_equal(s.state, RUNNEL_RUNNING);
    assert_int_equal(s.retries, 2);
    assert_int_equal(s.batches, 1);
    assert_int_equal(s.changes, 10);
    assert_int_equal(s.skips, 1);
    assert_int_equal(s.dead_letters, 0);
    assert_int_equal(s.batches_open, 0);
    assert_int_equal(s.buffered_bytes, 0);
    assert_int_equal(s.leases_owned, 1);
    assert_int_equal(s.leases_seen, 1);
    assert_int_equal(s.hosts_seen, 1);
    assert_int_equal(s.events_lost, 0);
    assert_true(s.feed_reads > 0 && s.feed_empty > 0);
    assert_true(s.feed_reads > s.feed_empty);
    assert_true(s.checkpoints >= 1);
    assert_true(s.lease_writes >= s.checkpoints && s.lease_reads > 0);
    assert_true(s.charge > 0);
    h.world.wire.before = throttle;
    h.world.wire.context = &throttles;
    h.world.wire.after = NULL;
    hosts_put(&h, 11, 20);
    hosts_run(&h, 60000);
    s = stats_of(0);
    assert_true(s.throttled > 0);
    assert_int_equal(s.throttled, h.hosts[0].events[RUNNEL_EVENT_THROTTLED]);
    throttles = 0;
    hosts_run(&h, 60000);
    assert_int_equal(h.handled[19], 1);
    hosts_stop(&h, 0);
}

static void probes_follow_the_life_of_a_host(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_start(&h, 0, &o);
    assert_false(stats_of(0).is_ready);
    assert_int_equal(stats_of(0).state, RUNNEL_STARTING);
    hosts_run(&h, 5000);
    assert_true(stats_of(0).is_ready && stats_of(0).is_live);
    /* Three acquire intervals without a listing. */
    scripted_cut(h.hosts[0].network, true);
    hosts_run(&h, 20000);
    assert_false(stats_of(0).is_live);
    assert_true(stats_of(0).is_ready);
    scripted_cut(h.hosts[0].network, false);
    hosts_run(&h, 20000);
    assert_true(stats_of(0).is_live);
    rn_host_drain(h.hosts[0].engine, 20000);
    hosts_run(&h, 2000);
    assert_int_equal(stats_of(0).state, RUNNEL_STOPPED);
    assert_false(stats_of(0).is_live);
    hosts_stop(&h, 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(the_state_of_a_lease_is_told),
        CASE(counters_say_what_happened),
        CASE(probes_follow_the_life_of_a_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
