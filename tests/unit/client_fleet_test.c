/* client_fleet_test.c -- several hosts share the leases, in virtual time.
 *
 * Hosts join, leave, crash and are cut off while documents are written and
 * ranges split and merge.  A ledger holds what handlers got against what was
 * written.
 */
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct hosts h;

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static runnel_processor_state state_of(int number)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    rn_host_read_stats(h.hosts[number].engine, &stats);
    return stats.state;
}

static void a_second_host_gets_half_and_nothing_comes_twice(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 8);
    hosts_put(&h, 0, 400);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    assert_int_equal(hosts_owned(&h, 0), 8);
    hosts_start(&h, 1, &o);
    for (int i = 0; i < 12; i++) {
        hosts_put(&h, i * 20, i * 20 + 40);
        hosts_run(&h, 500);
    }
    assert_int_equal(hosts_owned(&h, 0), 4);
    assert_int_equal(hosts_owned(&h, 1), 4);
    hosts_until(&h, hosts_all_seen, 30000);
    assert_true(h.deliveries <= 400 + 12 * 40);
    assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_HANDED_OVER);
    hosts_stop(&h, 1);
    hosts_run(&h, 6000);
    assert_int_equal(hosts_owned(&h, 0), 8);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static bool is_half(struct hosts *all)
{
    return hosts_owned(all, 0) == 4 && hosts_owned(all, 1) == 4;
}

static bool has_all(struct hosts *all)
{
    return hosts_owned(all, 0) == 8;
}

/* The owner meets the marks at its next checkpoint, and the marker looks for
 * them every second: neither waits for its balance timer. */
static void a_busy_host_hands_leases_over_within_seconds(void **state)
{
    runnel_processor_options o = hosts_options();
    int64_t start;

    (void)state;
    hosts_open(&h, 1, 8);
    o.lease_acquire_ms = 13000;
    o.lease_renew_ms = 17000;
    o.lease_expire_ms = 60000;
    hosts_start(&h, 0, &o);
    hosts_until(&h, has_all, 5000);
    hosts_run(&h, 3000);
    hosts_start(&h, 1, &o);
    start = world_now_ms(&h.world);
    for (int i = 0; !is_half(&h) && i < 300; i++) {
        hosts_put(&h, 0, 100);
        hosts_run(&h, 100);
    }
    assert_true(world_now_ms(&h.world) - start < 5000);
    hosts_until(&h, hosts_all_seen, 10000);
    hosts_stop(&h, 1);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* Shorter than what hosts know of the store's clock, in which marks age. */
static void leases_are_handed_over_by_hosts_that_balance_often(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        runnel_processor_options o = hosts_options();
        hosts_open(&h, seed, 8);
        o.lease_acquire_ms = 20;
        o.lease_renew_ms = 17000;
        o.lease_expire_ms = 60000;
        hosts_start(&h, 0, &o);
        hosts_until(&h, has_all, 5000);
        hosts_start(&h, 1, &o);
        hosts_until(&h, is_half, 5000);
        hosts_stop(&h, 1);
        hosts_until(&h, has_all, 5000);
        hosts_stop(&h, 0);
        hosts_check(&h);
        hosts_close(&h);
    }
    hosts_open(&h, 1, 1); /* for the tear-down */
}

static void four_ranges_and_two_hosts_make_two_leases_each(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 4);
    hosts_start(&h, 0, &o);
    hosts_start(&h, 1, &o);
    hosts_start(&h, 2, &o);
    hosts_run(&h, 20000);
    hosts_stop(&h, 2);
    hosts_run(&h, 20000);
    assert_int_equal(hosts_owned(&h, 0), 2);
    assert_int_equal(hosts_owned(&h, 1), 2);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
}

static void leases_of_a_crashed_host_are_taken_after_they_expire(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 4);
    hosts_start(&h, 0, &o);
    hosts_start(&h, 1, &o);
    hosts_run(&h, 15000);
    assert_int_equal(hosts_owned(&h, 1), 2);
    hosts_kill(&h, 1);
    hosts_put(&h, 0, 100);
    hosts_run(&h, 5000);
    assert_int_equal(hosts_owned(&h, 0), 2); /* not yet: it may be alive */
    hosts_until(&h, hosts_all_seen, 15000);
    assert_int_equal(hosts_owned(&h, 0), 4);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_restart_with_the_same_name_adopts_its_leases(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 4);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    hosts_kill(&h, 0);
    hosts_put(&h, 0, 100);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 2000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void of_two_hosts_with_one_name_the_older_stops(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 4);
    o.host = "twin";
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    hosts_start(&h, 1, &o);
    hosts_run(&h, 10000);
    assert_int_equal(state_of(0), RUNNEL_FAILED);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_NAME_CLASH], 1);
    assert_int_equal(state_of(1), RUNNEL_RUNNING);
    assert_non_null(strstr(h.hosts[0].last_message,
                           "\"twin\" too, so this one stops; give each host "
                           "a name of its own"));
    assert_true(h.hosts[1].events[RUNNEL_EVENT_CONFIGURATION] > 0);
    assert_non_null(strstr(h.hosts[1].last_message,
                           "written by a host named \"twin\" moments ago; if "
                           "that host still runs, it stops now"));
    hosts_put(&h, 0, 100);
    hosts_until(&h, hosts_all_seen, 10000);
    assert_int_equal(h.deliveries, 100);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

/* Now and then both start in the same millisecond. */
static void of_two_hosts_that_start_at_once_one_stops(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    o.host = "twin";
    for (uint64_t seed = 1; seed <= 30; seed++) {
        if (seed > 1)
            hosts_close(&h);
        hosts_open(&h, seed, 2);
        hosts_start(&h, 0, &o);
        hosts_run(&h, 3000);
        hosts_stop(&h, 0);
        hosts_start(&h, 0, &o);
        hosts_start(&h, 1, &o);
        hosts_run(&h, 15000);
        assert_int_equal((state_of(0) == RUNNEL_RUNNING) +
                             (state_of(1) == RUNNEL_RUNNING),
                         1);
    }
}

static void hosts_of_other_names_are_independent(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_start(&h, 0, &o);
    o.name = "q";
    hosts_start(&h, 1, &o);
    hosts_put(&h, 0, 50);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 5000);
    assert_int_equal(h.deliveries, 100);
    assert_int_equal(hosts_leases(&h), 4);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
}

/* ---- splits and merges --------------------------------------------------- */

static void a_split_under_load_loses_nothing(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_start(&h, 0, &o);
    hosts_start(&h, 1, &o);
    for (int i = 0; i < 60; i++) {
        hosts_put(&h, i, i + 50);
        hosts_run(&h, 200);
        if (i == 20)
            assert_true(service_split(h.world.box, 0, 300));
        if (i == 40)
            assert_true(service_split(h.world.box, 2, 0));
    }
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 5000);
    assert_int_equal(hosts_leases(&h), 4);
    assert_true(h.hosts[0].events[RUNNEL_EVENT_SPLIT] +
                    h.hosts[1].events[RUNNEL_EVENT_SPLIT] >=
                2);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

static void each_half_of_a_merge_keeps_its_place(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_start(&h, 0, &o);
    for (int i = 0; i < 40; i++) {
        hosts_put(&h, i, i + 50);
        hosts_run(&h, 200);
        if (i == 10)
            assert_true(service_merge(h.world.box, 0, 1, 0));
        if (i == 25)
            assert_true(service_split(h.world.box, 2, 0));
    }
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 5000);
    assert_true(hosts_leases(&h) >= 2);
    hosts_stop(&h, 0);
    hosts_check(&h);
    assert_true(h.deliveries <= 40 * 50);
}

static const runnel_batch *held;

static runnel_verdict hold(struct hosts_host *host, const char *lease,
                           const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    held = batch;
    return RUNNEL_PENDING;
}

static void children_begin_at_the_stored_position(void **state)
{
    static const runnel_feed_options small = { RUNNEL_FEED_INIT,
                                               .start = RUNNEL_START_BEGINNING,
                                               .page_limit = 5 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = hold;
    o.feed = &small;
    hosts_put(&h, 0, 40);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 1000);
    assert_true(service_split(h.world.box, 0, 0));
    hosts_run(&h, 1000);
    hosts_kill(&h, 0); /* one batch has no verdict */
    for (int i = 0; i < 40; i++)
        h.seen[i] = -1;
    h.judge = NULL;
    hosts_start(&h, 1, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_run(&h, 3000);
    assert_int_equal(hosts_leases(&h), 2);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

static bool forbid_delete(void *context, const struct service_request *q,
                          struct service_answer *a)
{
    (void)context;
    if (!rn_view_eq(q->method, RN_LIT("DELETE")) ||
        !memmem(q->path.at, q->path.len, "..", 2))
        return false;
    a->header_count = 0;
    service_refuse(a, 403, 0, "No.");
    return true;
}

static void a_parent_that_cannot_be_deleted_is_not_read_again(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_start(&h, 0, &o);
    hosts_put(&h, 0, 40);
    hosts_until(&h, hosts_all_seen, 20000);
    h.world.wire.before = forbid_delete;
    assert_true(service_split(h.world.box, 0, 0));
    hosts_put(&h, 0, 40);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 20000);
    assert_int_equal(hosts_leases(&h), 3);
    assert_true(h.hosts[0].events[RUNNEL_EVENT_CONFIGURATION] > 0);
    assert_int_equal(h.deliveries, 80);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* Its handler runs on while its leases expire and another host works. */
static void a_host_that_was_cut_off_writes_nothing_when_it_is_back(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    held = NULL;
    h.judge = hold;
    hosts_put(&h, 0, 1);
    hosts_run(&h, 1000);
    assert_non_null(held);
    scripted_cut(h.hosts[0].network, true);
    h.judge = NULL;
    h.seen[0] = -1;
    hosts_put(&h, 1, 40);
    hosts_start(&h, 1, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    assert_int_equal(hosts_owned(&h, 1), 2);
    /* The answer to a read from before may still come; then no more. */
    assert_true(h.hosts[0].batches <= 2);
    scripted_cut(h.hosts[0].network, false);
    runnel_batch_ack(held, RUNNEL_DONE);
    hosts_run(&h, 5000);
    assert_true(h.hosts[0].events[RUNNEL_EVENT_LOST] >= 1);
    hosts_run(&h, 20000);
    assert_int_equal(hosts_owned(&h, 0), 1);
    assert_int_equal(hosts_owned(&h, 1), 1);
    hosts_put(&h, 0, 40);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(h.delivered[0], 3);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

/* ---- containers that disappear ------------------------------------------- */

static int64_t first_call_ms[2], last_call_ms[2];

/* Host 0 fails and is called again and again; host 1 succeeds. */
static runnel_verdict note_call(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    int64_t now_ms = world_now_ms(&h.world);

    (void)lease;
    (void)batch;
    if (!first_call_ms[host->number])
        first_call_ms[host->number] = now_ms;
    last_call_ms[host->number] = now_ms;
    return host->number == 0 ? RUNNEL_AGAIN : RUNNEL_DONE;
}

static void no_call_starts_when_the_lease_may_be_anothers(void **state)
{
    runnel_processor_options o = hosts_options();
    int64_t cut_ms;

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = note_call;
    o.retry_attempts = RUNNEL_OFF;
    o.retry_delay_max_ms = 200;
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    scripted_cut(h.hosts[0].network, true);
    cut_ms = world_now_ms(&h.world);
    hosts_start(&h, 1, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_run(&h, 5000);
    /* It went on without the lease store for a while, and stopped in time. */
    assert_true(last_call_ms[0] > cut_ms + 3000);
    assert_true(last_call_ms[0] < cut_ms + 10000);
    assert_true(last_call_ms[0] < first_call_ms[1]);
    scripted_cut(h.hosts[0].network, false);
    hosts_run(&h, 5000);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_LOST], 1);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

static void a_deleted_source_is_terminal(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    o.wait_ms = RUNNEL_OFF;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    h.world.box->is_deleted = true;
    hosts_run(&h, 20000);
    assert_int_equal(state_of(0), RUNNEL_FAILED);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_TERMINAL], 1);
    assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_RESOURCE_GONE);
    assert_int_equal(hosts_owned(&h, 0), 0);
    hosts_stop(&h, 0);
}

static void a_source_that_was_created_anew_is_terminal(void **state)
{
    const struct service_definition again = {
        .db = "db", .name = "source", .key = "/pk", .ranges = 2
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    h.world.box->is_deleted = true;
    h.world.box = service_add(&h.world.service, &again);
    hosts_put(&h, 0, 10); /* LSNs that the leases are beyond */
    hosts_run(&h, 40000);
    assert_int_equal(state_of(0), RUNNEL_FAILED);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_TERMINAL], 1);
    assert_int_equal(h.deliveries, 50);
    assert_int_equal(hosts_owned(&h, 0), 0);
    assert_non_null(strstr(h.hosts[0].last_message, "restart the processor"));
    hosts_stop(&h, 0);
    hosts_start(&h, 0, &o); /* which helps */
    hosts_run(&h, 10000);
    assert_int_equal(h.deliveries, 60);
    hosts_stop(&h, 0);
}

static void a_lease_container_that_was_emptied_is_terminal(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    while (hosts_leases(&h) > 0)
        for (size_t i = 0; i < h.leases->entry_count; i++) {
            const struct service_entry *e = h.leases->entries[i];
            char pk[160];
            snprintf(pk, sizeof(pk), "[\"%s\"]", e->id);
            if (e->is_live)
                service_delete(h.leases, e->id, pk);
        }
    {
        const struct service_entry *e = NULL;
        for (size_t i = 0; i < h.leases->entry_count; i++)
            if (h.leases->entries[i]->is_live)
                e = h.leases->entries[i];
        assert_null(e);
    }
    hosts_run(&h, 30000);
    assert_int_equal(state_of(0), RUNNEL_FAILED);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_TERMINAL], 1);
    assert_int_equal(h.deliveries, 50); /* never from the beginning again */
    hosts_stop(&h, 0);
}

/* ---- restarts and starts of many (processor.md 8: L18, B7) --------------- */

enum { RESTARTED = 16, STEP_MS = 200 };

/* How many leases no running host owns. */
static unsigned count_unowned(void)
{
    unsigned owned = 0;

    for (int i = 0; i < HOSTS_MAX; i++)
        if (h.hosts[i].engine)
            owned += hosts_owned(&h, i);
    return hosts_leases(&h) - owned;
}

/* Time passes; returns for how long too many leases had no owner at most. */
static int64_t watch(int64_t ms, int64_t *lasts_ms)
{
    int64_t longest = 0;

    for (int64_t at = 0; at < ms; at += STEP_MS) {
        hosts_run(&h, STEP_MS);
        *lasts_ms = count_unowned() * 4 > RESTARTED ? *lasts_ms + STEP_MS : 0;
        longest = *lasts_ms > longest ? *lasts_ms : longest;
    }
    return longest;
}

static void
in_a_rolling_restart_leases_have_owners_within_20_seconds(void **state)
{
    runnel_processor_options o = hosts_options();
    int64_t lasts_ms = 0, longest = 0, at;

    (void)state;
    o.lease_acquire_ms = 13000;
    o.lease_renew_ms = 17000;
    o.lease_expire_ms = 60000;
    hosts_open(&h, 3, RESTARTED);
    for (int i = 0; i < 3; i++)
        hosts_start(&h, i, &o);
    hosts_run(&h, 120000);
    assert_int_equal(count_unowned(), 0);
    for (int i = 0; i < 6; i++) {
        hosts_put(&h, i * 100, i * 100 + 100);
        rn_host_drain(h.hosts[i].engine, 20000);
        for (int k = 0; k < 100 && state_of(i) != RUNNEL_STOPPED; k++) {
            at = watch(STEP_MS, &lasts_ms);
            longest = at > longest ? at : longest;
        }
        hosts_stop(&h, i);
        at = watch(30000, &lasts_ms); /* the machine boots */
        longest = at > longest ? at : longest;
        hosts_start(&h, i + 3, &o); /* under another name */
        at = watch(60000, &lasts_ms);
        longest = at > longest ? at : longest;
        assert_int_equal(count_unowned(), 0);
    }
    if (longest > 20000)
        fail_msg("%lld ms", (long long)longest);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_check(&h);
}

enum { STARTED = 20 };

/* Each lists the leases twice, looks at the containers, the ranges, the marker
 * and the lock; one of them makes the leases meanwhile, and the others look for
 * the end of that once a second. */
static void hosts_that_start_together_send_few_requests(void **state)
{
    enum { EACH_MAX = 16 };
    runnel_processor_options o = hosts_options();
    unsigned running = 0;
    uint64_t requests;

    (void)state;
    hosts_open(&h, 5, STARTED);
    for (int i = 0; i < STARTED; i++)
        hosts_start(&h, i, &o);
    for (int k = 0; k < 600 && running < STARTED; k++) {
        hosts_run(&h, 50);
        running = 0;
        for (int i = 0; i < STARTED; i++)
            running += state_of(i) == RUNNEL_RUNNING;
    }
    assert_int_equal(running, STARTED);
    requests = h.world.service.requests - h.world.service.feed_reads;
    /* The leases are created once, and taken once. */
    assert_true(requests < STARTED * EACH_MAX + 2 * STARTED);
    assert_int_equal(hosts_leases(&h), STARTED);
    hosts_run(&h, 30000);
    for (int i = 0; i < STARTED; i++)
        assert_int_equal(hosts_owned(&h, i), 1);
    hosts_put(&h, 0, 100);
    hosts_until(&h, hosts_all_seen, 10000);
    assert_int_equal(h.deliveries, 100);
}

/* ---- many cycles --------------------------------------------------------- */

static void churn_splits_and_faults_lose_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        runnel_processor_options o = hosts_options();
        struct rn_prng prng;
        bool runs[4] = { false };
        rn_prng_init(&prng, seed);
        hosts_open(&h, seed, 3);
        hosts_start(&h, 4, &o);
        hosts_run(&h, 1000);
        h.world.wire.faults = (struct scripted_faults){ .lose_request = 5,
                                                        .lose_answer = 10,
                                                        .refuse = 10 };
        for (int round = 0; round < 80; round++) {
            int i = (int)rn_prng_below(&prng, 4);
            hosts_put(&h, round, round + 40);
            hosts_run(&h, 300 + (int64_t)rn_prng_below(&prng, 3000));
            if (!runs[i])
                hosts_start(&h, i, &o);
            else
                hosts_kill(&h, i);
            runs[i] = !runs[i];
            if (round % 10 == 5)
                service_split(h.world.box, (uint32_t)rn_prng_below(&prng, 6),
                              200);
        }
        h.world.wire.faults = (struct scripted_faults){ 0 };
        hosts_until(&h, hosts_all_seen, 120000);
        for (int i = 0; i < HOSTS_DOCUMENTS_MAX; i++)
            assert_true(h.seen[i] >= h.written[i]);
        hosts_close(&h);
    }
    hosts_open(&h, 1, 1); /* for the tear-down */
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_second_host_gets_half_and_nothing_comes_twice),
        CASE(a_busy_host_hands_leases_over_within_seconds),
        CASE(leases_are_handed_over_by_hosts_that_balance_often),
        CASE(four_ranges_and_two_hosts_make_two_leases_each),
        CASE(leases_of_a_crashed_host_are_taken_after_they_expire),
        CASE(a_restart_with_the_same_name_adopts_its_leases),
        CASE(of_two_hosts_with_one_name_the_older_stops),
        CASE(of_two_hosts_that_start_at_once_one_stops),
        CASE(hosts_of_other_names_are_independent),
        CASE(a_split_under_load_loses_nothing),
        CASE(each_half_of_a_merge_keeps_its_place),
        CASE(children_begin_at_the_stored_position),
        CASE(a_parent_that_cannot_be_deleted_is_not_read_again),
        CASE(a_host_that_was_cut_off_writes_nothing_when_it_is_back),
        CASE(no_call_starts_when_the_lease_may_be_anothers),
        CASE(a_deleted_source_is_terminal),
        CASE(a_source_that_was_created_anew_is_terminal),
        CASE(a_lease_container_that_was_emptied_is_terminal),
        CASE(in_a_rolling_restart_leases_have_owners_within_20_seconds),
        CASE(hosts_that_start_together_send_few_requests),
        CASE(churn_splits_and_faults_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
