/* client_bootstrap_test.c -- how the lease store is initialised when others do
 * so too, crash, or refuse; in virtual time.
 *
 * Goal: one set of leases whatever happens, and a position in each lease before
 * the first change is handled.  Method: hosts on a fake service whose answers a
 * case replaces.
 */
#include "client/hosts.h"
#include "client/skewed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define BASE "plocalhost_AAAAAQ==_AAAAAYAAAAE="
#define LOCK BASE ".lock"
#define MARKER BASE ".info"

enum { HERD = 24 };

static struct hosts h;

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

static bool has(const char *id)
{
    char pk[160];

    snprintf(pk, sizeof(pk), "[\"%s\"]", id);
    return service_live(h.leases, id, pk) != NULL;
}

static void stats_of(int number, runnel_processor_stats *out)
{
    *out = (runnel_processor_stats){ RUNNEL_STATS_INIT };
    rn_host_read_stats(h.hosts[number].engine, out);
}

static bool is_settled(struct hosts *all)
{
    runnel_processor_stats stats;

    (void)all;
    stats_of(0, &stats);
    return stats.state != RUNNEL_STARTING;
}

/* Starts host 0 and waits for the end of its bootstrap. */
static void start(const runnel_processor_options *o)
{
    hosts_start(&h, 0, o);
    hosts_until(&h, is_settled, 100000);
}

/* ---- the lock ------------------------------------------------------------ */

static void a_lock_of_a_live_host_is_waited_for(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    assert_non_null(service_upsert(h.leases, "{\"id\":\"" LOCK "\"}"));
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 10000);
    assert_int_equal(hosts_leases(&h), 0);
    assert_non_null(service_delete(h.leases, LOCK, "[\"" LOCK "\"]"));
    hosts_until(&h, hosts_all_seen, 3000);
    assert_int_equal(hosts_leases(&h), 2);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* With a container that expires documents, and with one that does not. */
static void a_lock_of_a_killed_host_holds_for_half_a_minute(void **state)
{
    static const int64_t ttls[] = { -1, 0 };
    runnel_processor_options o = hosts_options();

    (void)state;
    for (int i = 0; i < 2; i++) {
        hosts_open(&h, 1, 2);
        h.leases->default_ttl = ttls[i];
        hosts_put(&h, 0, 20);
        hosts_start(&h, 0, &o);
        for (int ms = 0; ms < 5000 && !has(LOCK); ms++)
            hosts_run(&h, 1);
        assert_true(has(LOCK));
        hosts_kill(&h, 0);
        hosts_start(&h, 1, &o);
        hosts_until(&h, hosts_all_seen, 34000);
        assert_int_equal(hosts_leases(&h), 2);
        assert_false(has(LOCK));
        hosts_stop(&h, 1);
        hosts_check(&h);
        if (i == 0)
            hosts_close(&h);
    }
}

/* The key may not delete, or the server does not answer. */
static void a_lock_that_cannot_be_removed_ends_the_start(void **state)
{
    static const struct hosts_fault faults[] = {
        { .method = "DELETE", .part = ".lock", .status = 403, .times = 100000 },
        { .method = "DELETE", .part = ".lock", .status = 503, .times = 100000 },
    };
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    o.start_ms = 10000;
    for (int i = 0; i < 2; i++) {
        hosts_open(&h, 1, 1);
        h.leases->default_ttl = 0;
        assert_non_null(service_upsert(h.leases, "{\"id\":\"" LOCK "\"}"));
        hosts_run(&h, 40000);
        hosts_refuse(&h, &faults[i]);
        start(&o);
        assert_int_equal(rn_host_wait_ready(h.hosts[0].engine, &error),
                         i ? RUNNEL_BUSY : RUNNEL_FORBIDDEN);
        assert_non_null(strstr(error.message, "the lock of a host"));
        assert_in_range(h.fault.done, 1, 100);
        hosts_kill(&h, 0);
        if (i == 0)
            hosts_close(&h);
    }
}

/* It has listed an empty store, and is stopped for a minute: another makes the
 * leases, and one of them is split. */
static void a_host_that_was_held_up_with_the_lock_looks_again(void **state)
{
    static struct skewed skew;
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 20);
    skewed_init(&skew, rn_sim_env(h.world.sim));
    h.hosts[0].env = &skew.env;
    hosts_start(&h, 0, &o);
    for (int ms = 0; ms < 5000 && hosts_leases(&h) == 0; ms++)
        hosts_run(&h, 1);
    assert_int_equal(hosts_leases(&h), 1); /* the second is not sent yet */
    skewed_pause(&skew, true);
    hosts_start(&h, 1, &o);
    hosts_until(&h, hosts_all_seen, 40000);
    assert_true(service_split(h.world.box, 1, 0));
    hosts_run(&h, 20000);
    assert_int_equal(hosts_leases(&h), 3);
    skewed_pause(&skew, false);
    for (int ms = 0; ms < 10000; ms++) {
        hosts_run(&h, 1);
        assert_int_equal(hosts_leases(&h), 3);
    }
    assert_int_equal(h.deliveries, 20);
    assert_false(has(LOCK));
    for (int i = 0; i < 2; i++)
        hosts_stop(&h, i);
    hosts_check(&h);
}

static void hosts_that_start_at_once_ask_little(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats;
    uint64_t first_minute = 0;
    uint64_t both = 0;

    (void)state;
    hosts_open(&h, 1, HERD);
    o.lease_acquire_ms = o.lease_renew_ms = o.lease_expire_ms = 0;
    for (int i = 0; i < HERD; i++)
        hosts_start(&h, i, &o);
    hosts_run(&h, 60000);
    assert_int_equal(hosts_leases(&h), HERD);
    for (int i = 0; i < HERD; i++) {
        stats_of(i, &stats);
        assert_int_equal(stats.leases_owned, 1);
        first_minute += stats.lease_reads + stats.lease_writes;
    }
    hosts_run(&h, 60000);
    for (int i = 0; i < HERD; i++) {
        stats_of(i, &stats);
        both += stats.lease_reads + stats.lease_writes;
    }
    /* The first host takes all leases, and hands over all but one. */
    assert_true(first_minute <= HERD * 30);
    /* Then, in a minute, five or six listings and four or five renewals. */
    assert_true(both - first_minute <= HERD * 12);
}

/* ---- failures ------------------------------------------------------------ */

static unsigned created_leases(void)
{
    unsigned count = 0;

    for (size_t i = 0; i < h.leases->entry_count; i++)
        count += h.leases->entries[i]->op == SERVICE_CREATE &&
                 strstr(h.leases->entries[i]->id, "..");
    return count;
}

static void a_failure_between_two_leases_leaves_no_marker(void **state)
{
    static const struct hosts_fault busy = {
        .method = "POST", .part = "=..1", .status = 503, .times = 100000
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 3);
    hosts_refuse(&h, &busy);
    hosts_put(&h, 0, 30);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000);
    assert_true(h.fault.done > 5);
    assert_int_equal(hosts_leases(&h), 1);
    assert_false(has(MARKER));
    h.fault.times = 0;
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(hosts_leases(&h), 3);
    assert_int_equal(created_leases(), 3);
    assert_true(has(MARKER));
    assert_false(has(LOCK));
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_start_that_gives_up_releases_the_lock(void **state)
{
    static const struct hosts_fault forbidden = {
        .method = "POST", .part = "=..1", .status = 403, .times = 100000
    };
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    hosts_open(&h, 1, 3);
    hosts_refuse(&h, &forbidden);
    start(&o);
    assert_int_equal(rn_host_wait_ready(h.hosts[0].engine, &error),
                     RUNNEL_FORBIDDEN);
    assert_false(has(LOCK));
    assert_false(has(MARKER));
    hosts_kill(&h, 0);
}

static void a_listing_that_fails_is_not_an_empty_store(void **state)
{
    static const struct hosts_fault faults[] = {
        { .method = "POST", .part = "STARTSWITH", .status = 429, .times = 12 },
        { .method = "POST", .part = "STARTSWITH", .status = 503, .times = 12 },
    };
    runnel_processor_options o = hosts_options();
    size_t before;

    (void)state;
    hosts_open(&h, 1, 3);
    start(&o);
    hosts_stop(&h, 0);
    before = h.leases->entry_count;
    for (int i = 0; i < 2; i++) {
        hosts_refuse(&h, &faults[i]);
        start(&o);
        assert_int_equal(h.fault.done, 12);
        hosts_stop(&h, 0);
    }
    for (size_t i = before; i < h.leases->entry_count; i++)
        assert_int_equal(h.leases->entries[i]->op, SERVICE_REPLACE);
}

static void a_missing_container_ends_the_start_with_few_requests(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    hosts_open(&h, 1, 2);
    h.leases->is_deleted = true;
    start(&o);
    assert_int_equal(rn_host_wait_ready(h.hosts[0].engine, &error),
                     RUNNEL_NOT_FOUND);
    assert_true(h.world.service.requests < 10);
}

/* ---- keys and names ------------------------------------------------------ */

static void hosts_that_race_make_one_lease_by_partition_key(void **state)
{
    runnel_processor_options o = hosts_options();
    char pk[200];

    (void)state;
    hosts_open_keyed(&h, 1, 3, "/partitionKey");
    for (int i = 0; i < 4; i++)
        hosts_start(&h, i, &o);
    hosts_put(&h, 0, 30);
    hosts_until(&h, hosts_all_seen, 30000);
    assert_int_equal(hosts_leases(&h), 3);
    assert_int_equal(created_leases(), 3);
    for (char token[] = "0"; token[0] < '3'; token[0]++) {
        const struct service_entry *lease = hosts_lease(&h, token);
        snprintf(pk, sizeof(pk), "[\"%s\"]", lease->id);
        assert_string_equal(lease->pk, pk);
    }
    for (int i = 0; i < 4; i++)
        hosts_stop(&h, i);
    hosts_check(&h);
}

/* As .NET before 3.59 made them: the key is random, not the id. */
static void a_lease_keeps_the_partition_key_that_it_has(void **state)
{
    static const char member[] = "\"partitionKey\":\"" BASE;
    runnel_processor_options o = hosts_options();
    const struct service_entry *old;

    (void)state;
    hosts_open_keyed(&h, 1, 1, "/partitionKey");
    start(&o);
    hosts_stop(&h, 0);
    old = hosts_lease(&h, "0");
    hosts_tamper(&h, "0", member, "\"partitionKey\":\"f81d4fae-");
    assert_non_null(service_delete(h.leases, old->id, old->pk));
    assert_int_equal(hosts_leases(&h), 1);
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 10000);
    hosts_run(&h, 20000); /* renewals */
    assert_int_equal(hosts_owned(&h, 0), 1);
    hosts_stop(&h, 0);
    assert_int_equal(hosts_owned(&h, 0), 0);
    assert_int_equal(hosts_leases(&h), 1);
    assert_non_null(strstr(hosts_lease(&h, "0")->pk, "f81d4fae-"));
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_CONFIGURATION], 0);
    hosts_check(&h);
}

static void a_name_may_have_quotes_and_other_letters(void **state)
{
    static const char *const keys[] = { "/id", "/partitionKey" };
    runnel_processor_options o = hosts_options();

    (void)state;
    o.name = "q\"uote' %25 & [\xc3\xa9]";
    o.host = "h\"ost %25 \xc3\xa9";
    for (int i = 0; i < 2; i++) {
        hosts_open_keyed(&h, 1, 2, keys[i]);
        hosts_put(&h, 0, 20);
        hosts_start(&h, 0, &o);
        hosts_until(&h, hosts_all_seen, 10000);
        hosts_stop(&h, 0);
        hosts_put(&h, 0, 20);
        hosts_start(&h, 0, &o);
        hosts_until(&h, hosts_all_seen, 10000);
        assert_int_equal(hosts_leases(&h), 2);
        assert_int_equal(h.deliveries, 40);
        hosts_stop(&h, 0);
        hosts_check(&h);
        if (i == 0)
            hosts_close(&h);
    }
}

/* A lease as the first hosts of version 2 or 3 wrote it. */
static void an_old_lease_gets_its_range(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    assert_non_null(service_upsert(
        h.leases, "{\"id\":\"" BASE "..0\",\"PartitionId\":\"0\","
                  "\"Owner\":null,\"ContinuationToken\":null,"
                  "\"properties\":{},\"timestamp\":null,\"state\":1}"));
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 10000);
    assert_non_null(strstr(hosts_lease(&h, "0")->json,
                           "\"FeedRange\":{\"Range\":{\"min\":\"\""));
    assert_non_null(strstr(hosts_lease(&h, "0")->json, "\"LeaseToken\":\"0\""));
    assert_non_null(
        strstr(hosts_lease(&h, "0")->json, "\"PartitionId\":\"0\""));
    assert_non_null(strstr(hosts_lease(&h, "0")->json, "\"state\":1"));
    assert_int_equal(hosts_leases(&h), 2);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* Between our reading of the ranges and of the leases a range is split; one
 * half has a lease of ours, the other one of a host of version 2. */
static bool split_late(void *context, const struct service_request *q,
                       struct service_answer *a)
{
    (void)context;
    (void)a;
    if (!has(LOCK) || hosts_leases(&h) > 0 || q->body.len == 0 ||
        !memmem(q->body.at, q->body.len, "STARTSWITH", 10))
        return false;
    assert_true(service_split(h.world.box, 0, 0));
    assert_non_null(service_upsert(
        h.leases, "{\"id\":\"" BASE "..1\",\"LeaseToken\":\"1\",\"FeedRange\":"
                  "{\"Range\":{\"min\":\"\",\"max\":"
                  "\"1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF\"}},\"Owner\":null,"
                  "\"ContinuationToken\":null}"));
    assert_non_null(service_upsert(
        h.leases, "{\"id\":\"" BASE "..2\",\"PartitionId\":\"2\","
                  "\"Owner\":null,\"ContinuationToken\":null}"));
    return false;
}

static void leases_of_ranges_that_are_new_to_us_leave_no_hole(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_put(&h, 0, 20);
    h.world.wire.before = split_late;
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(hosts_leases(&h), 2);
    assert_int_equal(h.deliveries, 20);
    assert_non_null(strstr(hosts_lease(&h, "2")->json, "\"FeedRange\""));
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* ---- where a lease begins ------------------------------------------------ */

static runnel_verdict always_fail(struct hosts_host *host, const char *lease,
                                  const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    (void)batch;
    return RUNNEL_AGAIN;
}

static void the_first_batch_of_a_start_of_now_is_not_lost(void **state)
{
    static const runnel_feed_options feeds[] = {
        { RUNNEL_FEED_INIT },
        { RUNNEL_FEED_INIT, .mode = RUNNEL_FEED_ALL },
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    for (int i = 0; i < 2; i++) {
        hosts_open(&h, 1, 2);
        o.feed = &feeds[i];
        h.judge = always_fail;
        start(&o);
        hosts_put(&h, 0, 20);
        hosts_run(&h, 5000);
        assert_true(h.deliveries >= 20);
        hosts_kill(&h, 0);
        h.judge = NULL;
        hosts_start(&h, 1, &o); /* with a now of its own */
        hosts_until(&h, hosts_all_seen, 30000);
        hosts_stop(&h, 1);
        hosts_check(&h);
        if (i == 0)
            hosts_close(&h);
    }
}

static void what_is_written_after_an_idle_hour_is_not_lost(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 20);
    for (int i = 0; i < 20; i++)
        h.seen[i] = h.written[i]; /* before the start: not expected */
    o.feed = NULL;
    start(&o);
    hosts_run(&h, 3600000);
    hosts_stop(&h, 0);
    hosts_put(&h, 20, 30);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(h.deliveries, 10);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_start_time_holds_until_there_is_a_position(void **state)
{
    runnel_feed_options feed = { RUNNEL_FEED_INIT, .start = RUNNEL_START_TIME };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_put(&h, 0, 10);
    hosts_run(&h, 10000);
    feed.start_time_ms = rn_wall_ms(rn_sim_env(h.world.sim)) - 5000;
    hosts_put(&h, 10, 20);
    o.feed = &feed;
    h.judge = always_fail;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    hosts_kill(&h, 0); /* no checkpoint yet */
    memset(h.delivered, 0, sizeof(h.delivered));
    h.judge = NULL;
    o.feed = &hosts_beginning; /* the lease knows better */
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    for (int i = 0; i < 20; i++)
        assert_int_equal(h.delivered[i], i >= 10);
    hosts_stop(&h, 0);
}

static void a_continuation_is_before_a_time(void **state)
{
    runnel_feed_options feed = { RUNNEL_FEED_INIT, .token = "\"15\"" };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_run(&h, 60000);
    feed.start_time_ms = rn_wall_ms(rn_sim_env(h.world.sim)) - 30000;
    hosts_put(&h, 0, 20);
    o.feed = &feed;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    assert_int_equal(h.deliveries, 5);
    hosts_stop(&h, 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_lock_of_a_live_host_is_waited_for),
        CASE(a_lock_of_a_killed_host_holds_for_half_a_minute),
        CASE(a_lock_that_cannot_be_removed_ends_the_start),
        CASE(a_host_that_was_held_up_with_the_lock_looks_again),
        CASE(hosts_that_start_at_once_ask_little),
        CASE(a_failure_between_two_leases_leaves_no_marker),
        CASE(a_start_that_gives_up_releases_the_lock),
        CASE(a_listing_that_fails_is_not_an_empty_store),
        CASE(a_missing_container_ends_the_start_with_few_requests),
        CASE(hosts_that_race_make_one_lease_by_partition_key),
        CASE(a_lease_keeps_the_partition_key_that_it_has),
        CASE(a_name_may_have_quotes_and_other_letters),
        CASE(an_old_lease_gets_its_range),
        CASE(leases_of_ranges_that_are_new_to_us_leave_no_hole),
        CASE(the_first_batch_of_a_start_of_now_is_not_lost),
        CASE(what_is_written_after_an_idle_hour_is_not_lost),
        CASE(a_start_time_holds_until_there_is_a_position),
        CASE(a_continuation_is_before_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
