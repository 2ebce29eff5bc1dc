/* client_host_test.c -- a host among others, when leases or their container are
 * taken away, refused or throttled; in virtual time.
 *
 * Goal: a host loses what another has, and nothing else; what a fleet does not
 * own is soon owned again; an end is reported.  Method: hosts on a fake
 * service; a case writes the lease documents as another host would.
 */
#include "client/hosts.h"
#include "client/skewed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct hosts h;

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

static runnel_processor_state state_of(int number)
{
    runnel_processor_stats stats;

    stats_of(number, &stats);
    return stats.state;
}

/* Options with the intervals that a processor has by default. */
static runnel_processor_options usual_options(void)
{
    runnel_processor_options o = hosts_options();

    o.lease_acquire_ms = o.lease_renew_ms = o.lease_expire_ms = 0;
    return o;
}

static bool is_thiefs(const char *token)
{
    return strstr(hosts_lease(&h, token)->json, "\"Owner\":\"thief\"");
}

/* ---- leases that others take --------------------------------------------- */

static unsigned thefts;

/* Another host is faster: between our listing and our write. */
static bool overtake(void *context, const struct service_request *q,
                     struct service_answer *a)
{
    (void)context;
    (void)a;
    if (thefts == 0 && rn_view_eq(q->method, RN_LIT("PUT"))) {
        thefts++;
        hosts_tamper(&h, "0", "\"Owner\":null", "\"Owner\":\"thief\"");
    }
    return false;
}

static void a_lease_that_another_was_faster_to_take_is_left(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    thefts = 0;
    hosts_open(&h, 1, 1);
    h.world.wire.before = overtake;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    assert_int_equal(thefts, 1);
    assert_true(is_thiefs("0"));
    assert_int_equal(h.hosts[0].opened, 0);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_LOST], 0);
    assert_string_equal(h.hosts[0].last_message, ""); /* no warning */
    hosts_stop(&h, 0);
}

static void a_stop_leaves_a_stolen_lease_alone(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    hosts_tamper(&h, "0", "\"Owner\":\"host-0\"", "\"Owner\":\"thief\"");
    hosts_stop(&h, 0);
    assert_true(is_thiefs("0"));
    assert_int_equal(h.hosts[0].closed, 1);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_RELEASED], 1);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_TROUBLE], 0);
}

static void a_stop_does_not_mind_that_a_lease_is_gone(void **state)
{
    runnel_processor_options o = hosts_options();
    const struct service_entry *lease;

    (void)state;
    hosts_open(&h, 1, 1);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    lease = hosts_lease(&h, "0");
    assert_non_null(service_delete(h.leases, lease->id, lease->pk));
    hosts_stop(&h, 0);
    assert_int_equal(hosts_leases(&h), 0);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_RELEASED], 1);
    assert_string_equal(h.hosts[0].last_message, "");
}

/* ---- balance ------------------------------------------------------------- */

static void one_lease_that_cannot_be_taken_stops_no_other(void **state)
{
    static const struct hosts_fault broken = {
        .method = "PUT", .part = "=..1", .status = 400, .times = 100000
    };
    static const struct hosts_fault silent = {
        .method = "POST", .part = "STARTSWITH", .status = 503, .times = 100000
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 4);
    hosts_refuse(&h, &broken);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 10000);
    assert_int_equal(hosts_owned(&h, 0), 3);
    h.fault.times = 0;
    hosts_run(&h, 10000);
    assert_int_equal(hosts_owned(&h, 0), 4);
    hosts_refuse(&h, &silent);
    hosts_put(&h, 0, 100);
    hosts_run(&h, 60000);
    assert_true(hosts_all_seen(&h));
    assert_int_equal(hosts_owned(&h, 0), 4);
    assert_int_equal(h.hosts[0].closed, 0);
    h.fault.times = 0;
    hosts_start(&h, 1, &o);
    hosts_run(&h, 20000);
    assert_int_equal(hosts_owned(&h, 1), 2);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

static void put_foreign(const char *token)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"id\":\"plocalhost_AAAAAQ==_AAAAAYAAAAE=..%s\","
             "\"LeaseToken\":\"%s\",\"Owner\":\"net\","
             "\"ContinuationToken\":null,\"properties\":{},"
             "\"timestamp\":null}",
             token, token);
    assert_non_null(service_upsert(h.leases, json));
}

/* A host of another library renews what it still has. */
static void run_beside_foreign(int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 500) {
        for (char token[] = "0"; token[0] < '6'; token[0]++)
            if (strstr(hosts_lease(&h, token)->json, "\"Owner\":\"net\""))
                put_foreign(token);
        hosts_run(&h, 500);
    }
}

static void beside_another_library_one_lease_is_stolen_a_pass(void **state)
{
    runnel_processor_options o = usual_options();
    unsigned owned = 0;

    (void)state;
    hosts_open(&h, 1, 6);
    for (char token[] = "0"; token[0] < '6'; token[0]++)
        put_foreign(token);
    hosts_start(&h, 0, &o);
    run_beside_foreign(2000);
    assert_int_equal(hosts_owned(&h, 0), 1);
    for (int i = 0; i < 120; i++) { /* a minute */
        run_beside_foreign(500);
        assert_true(hosts_owned(&h, 0) <= owned + 1);
        owned = hosts_owned(&h, 0) > owned ? hosts_owned(&h, 0) : owned;
        assert_true(owned <= 1 + (unsigned)(i + 4) * 500 / 10400);
    }
    assert_int_equal(owned, 3); /* half, and no more */
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_FOREIGN], 1);
    for (size_t i = 0; i < h.leases->entry_count; i++)
        assert_null(strstr(h.leases->entries[i]->json, "runnel.wanted"));
    hosts_stop(&h, 0);
}

/* Counts how long more than a quarter of the leases have no owner. */
static void run_and_watch(int64_t ms, int64_t *longest_ms)
{
    static int64_t since_ms;

    for (int64_t i = 0; i < ms; i += 100) {
        unsigned owned = 0;
        hosts_put(&h, (int)(i / 100 % 50), (int)(i / 100 % 50) + 1);
        hosts_run(&h, 100);
        for (int k = 0; k < 8; k++)
            owned += hosts_owned(&h, k);
        if (12 - owned <= 3)
            since_ms = world_now_ms(&h.world);
        else if (world_now_ms(&h.world) - since_ms > *longest_ms)
            *longest_ms = world_now_ms(&h.world) - since_ms;
    }
}

static void a_rolling_restart_leaves_few_leases_without_owner(void **state)
{
    runnel_processor_options o = usual_options();
    int64_t longest_ms = 0;

    (void)state;
    hosts_open(&h, 1, 12);
    for (int i = 0; i < 3; i++)
        hosts_start(&h, i, &o);
    hosts_run(&h, 60000);
    for (int i = 0; i < 3; i++) {
        hosts_stop(&h, i);
        hosts_start(&h, i + 3, &o); /* under another name */
        run_and_watch(40000, &longest_ms);
    }
    assert_true(longest_ms <= 20000);
    for (int i = 3; i < 6; i++)
        assert_int_equal(hosts_owned(&h, i), 4);
    hosts_until(&h, hosts_all_seen, 5000);
    for (int i = 3; i < 6; i++)
        hosts_stop(&h, i);
    hosts_check(&h);
}

/* ---- clocks -------------------------------------------------------------- */

static unsigned lost(int hosts)
{
    unsigned count = 0;

    for (int i = 0; i < hosts; i++)
        count += h.hosts[i].events[RUNNEL_EVENT_LOST];
    return count;
}

/* Ahead by 30 s, 2 minutes and a year, behind by 2 minutes; then one clock
 * jumps back by 10 minutes. */
static void clocks_that_are_wrong_take_no_lease_from_its_owner(void **state)
{
    static const int64_t ahead_s[] = { 30, 120, -120, 365 * 86400 };
    static struct skewed skews[4];
    runnel_processor_options o = usual_options();
    unsigned owned = 0;
    int64_t killed_ms;

    (void)state;
    hosts_open(&h, 1, 8);
    for (int i = 0; i < 4; i++) {
        skewed_init(&skews[i], rn_sim_env(h.world.sim));
        skews[i].ahead_ms = ahead_s[i] * 1000;
        h.hosts[i].env = &skews[i].env;
        hosts_start(&h, i, &o);
    }
    hosts_run(&h, 120000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(hosts_owned(&h, i), 2);
    assert_int_equal(lost(4), 0);
    skews[0].ahead_ms -= 600000;
    hosts_run(&h, 300000);
    assert_int_equal(lost(4), 0);
    hosts_kill(&h, 3); /* that of next year */
    killed_ms = world_now_ms(&h.world);
    while (hosts_owned(&h, 3) > 0)
        hosts_run(&h, 100);
    assert_in_range(world_now_ms(&h.world) - killed_ms, 40000, 80000);
    hosts_run(&h, 20000);
    for (int i = 0; i < 3; i++)
        owned += hosts_owned(&h, i);
    assert_int_equal(owned, 8);
    assert_int_equal(lost(3), 0);
    for (int i = 0; i < 3; i++)
        hosts_stop(&h, i);
}

/* Its timestamp is far from the time at which the service stored it. */
static void a_wrong_clock_of_another_library_is_reported(void **state)
{
    runnel_processor_options o = usual_options();

    (void)state;
    hosts_open(&h, 1, 1);
    assert_non_null(service_upsert(
        h.leases, "{\"id\":\"plocalhost_AAAAAQ==_AAAAAYAAAAE=..0\","
                  "\"LeaseToken\":\"0\",\"Owner\":\"net\",\"FeedRange\":{"
                  "\"Range\":{\"min\":\"\",\"max\":\"FF\"}},"
                  "\"ContinuationToken\":null,\"properties\":{},"
                  "\"timestamp\":\"2001-01-01T00:00:00Z\"}"));
    hosts_start(&h, 0, &o);
    hosts_run(&h, 40000);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_CONFIGURATION], 1);
    assert_non_null(strstr(h.hosts[0].last_message, "the clock of net is -"));
    assert_int_equal(h.hosts[0].opened, 0); /* it lives by the store's clock */
    hosts_stop(&h, 0);
}

/* ---- crashes and stops --------------------------------------------------- */

static const runnel_batch *held;

static runnel_verdict hold_first(struct hosts_host *host, const char *lease,
                                 const runnel_batch *batch)
{
    (void)lease;
    if (host->number != 0)
        return RUNNEL_DONE;
    held = batch;
    return RUNNEL_PENDING;
}

static void leases_of_a_killed_host_are_taken_within_73_seconds(void **state)
{
    runnel_processor_options o = usual_options();
    int64_t killed_ms;

    (void)state;
    hosts_open(&h, 1, 3);
    h.judge = hold_first;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 2000);
    hosts_put(&h, 0, 30);
    hosts_run(&h, 2000);
    assert_non_null(held);
    hosts_kill(&h, 0);
    killed_ms = world_now_ms(&h.world);
    memset(h.handled, 0, sizeof(h.handled));
    hosts_start(&h, 1, &o);
    hosts_start(&h, 2, &o);
    /* The expiry, a second of rounding, and one interval with its jitter. */
    while (hosts_owned(&h, 0) > 0)
        hosts_run(&h, 100);
    assert_in_range(world_now_ms(&h.world) - killed_ms, 50000, 80000);
    hosts_run(&h, 5000);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(h.delivered[i], 2);
        assert_int_equal(h.handled[i], 1);
    }
    hosts_stop(&h, 1);
    hosts_stop(&h, 2);
}

static void a_host_stops_under_load_and_others_go_on(void **state)
{
    runnel_processor_options o = usual_options();
    int64_t began_ms;

    (void)state;
    hosts_open(&h, 1, 6);
    hosts_start(&h, 0, &o);
    hosts_start(&h, 1, &o);
    hosts_run(&h, 60000);
    assert_int_equal(hosts_owned(&h, 0), 3);
    for (int i = 0; i < 100; i++) {
        hosts_put(&h, 0, 100);
        hosts_run(&h, 10);
    }
    began_ms = world_now_ms(&h.world);
    hosts_stop(&h, 0);
    assert_true(world_now_ms(&h.world) - began_ms < 5000);
    assert_int_equal(hosts_owned(&h, 0), 0);
    hosts_put(&h, 0, 100);
    hosts_until(&h, hosts_all_seen, 16000); /* an interval with its jitter */
    assert_int_equal(hosts_owned(&h, 1), 6);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

static void a_stop_during_the_start_and_a_second_one_do_no_harm(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    for (int ms = 0; ms < 40; ms += 3) {
        hosts_open(&h, 1, 3);
        hosts_start(&h, 0, &o);
        hosts_run(&h, ms);
        rn_host_drain(h.hosts[0].engine, 20000);
        rn_host_drain(h.hosts[0].engine, 20000);
        hosts_run(&h, 5000);
        assert_int_equal(state_of(0), RUNNEL_STOPPED);
        assert_int_equal(rn_host_wait_stopped(h.hosts[0].engine, 0, &error),
                         RUNNEL_OK);
        hosts_stop(&h, 0); /* once more */
        assert_int_equal(hosts_owned(&h, 0), 0);
        hosts_put(&h, 0, 10);
        hosts_start(&h, 1, &o); /* no lock is in its way */
        hosts_until(&h, hosts_all_seen, 5000);
        hosts_stop(&h, 1);
        hosts_close(&h);
    }
    hosts_open(&h, 1, 1); /* for the tear-down */
}

/* A lease is missing, and the server does not let it be made. */
static void a_stop_does_not_wait_for_a_repair(void **state)
{
    static const struct hosts_fault busy = {
        .method = "POST", .part = "=..1", .status = 503, .times = 100000
    };
    runnel_processor_options o = hosts_options();
    char pk[160];

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    hosts_refuse(&h, &busy);
    snprintf(pk, sizeof(pk), "[\"%s\"]", hosts_lease(&h, "1")->id);
    assert_non_null(service_delete(h.leases, hosts_lease(&h, "1")->id, pk));
    hosts_run(&h, 6000);
    assert_true(h.fault.done > 0);
    rn_host_drain(h.hosts[0].engine, 2000);
    hosts_run(&h, 8000);
    assert_int_equal(state_of(0), RUNNEL_STOPPED);
    assert_int_equal(hosts_owned(&h, 0), 0);
    for (size_t i = 0; i < h.leases->entry_count; i++)
        assert_false(h.leases->entries[i]->is_live &&
                     strstr(h.leases->entries[i]->id, ".lock"));
}

/* ---- the lease container ------------------------------------------------- */

static void a_deleted_lease_container_is_terminal(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    h.leases->is_deleted = true;
    hosts_run(&h, 20000);
    assert_int_equal(state_of(0), RUNNEL_FAILED);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_TERMINAL], 1);
    assert_int_equal(h.hosts[0].closed, 2);
    assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_LEASE_LOST);
    hosts_stop(&h, 0);
}

/* The session of the old container is no good for the new one: every listing
 * would be answered with 404/1002. */
static void a_lease_container_that_was_created_anew_is_terminal(void **state)
{
    const struct service_definition again = { .db = "db",
                                              .name = "leases",
                                              .key = "/id" };
    static const struct hosts_fault no_session = { .method = "POST",
                                                   .part = "STARTSWITH",
                                                   .status = 404,
                                                   .sub = 1002,
                                                   .times = 100000 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_put(&h, 0, 50);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    h.leases->is_deleted = true;
    h.leases = service_add(&h.world.service, &again);
    hosts_refuse(&h, &no_session);
    hosts_run(&h, 30000);
    assert_int_equal(state_of(0), RUNNEL_FAILED);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_TERMINAL], 1);
    assert_int_equal(h.deliveries, 50); /* never from the beginning again */
    hosts_stop(&h, 0);
}

static void a_session_that_is_behind_is_no_new_container(void **state)
{
    static const struct hosts_fault no_session = { .method = "POST",
                                                   .part = "STARTSWITH",
                                                   .status = 404,
                                                   .sub = 1002,
                                                   .times = 40 };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    hosts_refuse(&h, &no_session);
    hosts_run(&h, 60000);
    assert_int_equal(h.fault.done, 40);
    assert_int_equal(state_of(0), RUNNEL_RUNNING);
    assert_int_equal(hosts_owned(&h, 0), 2);
    hosts_stop(&h, 0);
}

/* Its key was revoked, or has no right any more: of the source or the leases.
 */
static void a_host_that_is_refused_ends_and_says_so(void **state)
{
    static const struct hosts_fault refusals[] = {
        { .method = "GET",
          .part = "/colls/source/docs",
          .status = 401,
          .times = 100000 },
        { .method = "GET",
          .part = "/colls/source/docs",
          .status = 403,
          .times = 100000 },
        { .method = "PUT", .part = "..0", .status = 403, .times = 100000 },
    };
    runnel_processor_options o = hosts_options();

    (void)state;
    o.wait_ms = RUNNEL_OFF;
    for (int i = 0; i < 3; i++) {
        hosts_open(&h, 1, 1);
        hosts_start(&h, 0, &o);
        hosts_run(&h, 3000);
        assert_int_equal(hosts_owned(&h, 0), 1);
        hosts_refuse(&h, &refusals[i]);
        hosts_run(&h, 10000);
        assert_int_equal(state_of(0), RUNNEL_FAILED);
        assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_TERMINAL], 1);
        assert_int_equal(h.hosts[0].closed, 1);
        assert_int_equal(h.hosts[0].last_reason, RUNNEL_CLOSE_SERVICE_ERROR);
        assert_non_null(strstr(h.hosts[0].last_message,
                               i < 2 ? "the source refuses this host; check"
                                     : "the lease cannot be written"));
        assert_int_equal(hosts_owned(&h, 0), i == 2); /* until it expires */
        hosts_stop(&h, 0);
        if (i < 2)
            hosts_close(&h);
    }
}

static unsigned lease_requests;

/* Of ten requests to the lease container nine are refused. */
static bool throttle(void *context, const struct service_request *q,
                     struct service_answer *a)
{
    (void)context;
    if (!memmem(q->path.at, q->path.len, "/leases/", 8) ||
        ++lease_requests % 10 == 0)
        return false;
    a->header_count = 0;
    service_refuse(a, 429, 3200, "Too many.");
    service_say(a, "x-ms-retry-after-ms", "500");
    return true;
}

static void a_throttled_lease_container_slows_no_change_down(void **state)
{
    runnel_processor_options o = usual_options();

    (void)state;
    hosts_open(&h, 1, 2);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    h.world.wire.before = throttle;
    for (int i = 0; i < 30; i++) {
        hosts_put(&h, 0, 20);
        hosts_run(&h, 10000);
        assert_true(hosts_all_seen(&h));
    }
    h.world.wire.before = NULL;
    assert_true(h.hosts[0].events[RUNNEL_EVENT_THROTTLED] > 0);
    hosts_run(&h, 20000);
    assert_int_equal(state_of(0), RUNNEL_RUNNING);
    assert_int_equal(hosts_owned(&h, 0), 2);
    hosts_put(&h, 0, 20);
    hosts_until(&h, hosts_all_seen, 10000);
    assert_int_equal(h.deliveries, 31 * 20);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_lease_that_another_was_faster_to_take_is_left),
        CASE(a_stop_leaves_a_stolen_lease_alone),
        CASE(a_stop_does_not_mind_that_a_lease_is_gone),
        CASE(one_lease_that_cannot_be_taken_stops_no_other),
        CASE(beside_another_library_one_lease_is_stolen_a_pass),
        CASE(a_rolling_restart_leaves_few_leases_without_owner),
        CASE(clocks_that_are_wrong_take_no_lease_from_its_owner),
        CASE(a_wrong_clock_of_another_library_is_reported),
        CASE(leases_of_a_killed_host_are_taken_within_73_seconds),
        CASE(a_host_stops_under_load_and_others_go_on),
        CASE(a_stop_during_the_start_and_a_second_one_do_no_harm),
        CASE(a_stop_does_not_wait_for_a_repair),
        CASE(a_deleted_lease_container_is_terminal),
        CASE(a_lease_container_that_was_created_anew_is_terminal),
        CASE(a_session_that_is_behind_is_no_new_container),
        CASE(a_host_that_is_refused_ends_and_says_so),
        CASE(a_throttled_lease_container_slows_no_change_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
