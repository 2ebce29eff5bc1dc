/* client_options_test.c -- options of a processor that change how it works, in
 * virtual time: lease stores, factories, modes, headers; and many cycles.
 */
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct hosts h;
static unsigned count;

static int set_up(void **state)
{
    (void)state;
    count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hosts_close(&h);
    return 0;
}

/* ---- allocations --------------------------------------------------------- */

static int64_t objects;
static bool is_service;

void *__real_rn_new(size_t size);
char *__real_rn_new_text(const char *text);
char *__wrap_rn_new_text(const char *text);
void __real_rn_free(void *object);
void *__wrap_rn_new(size_t size);
void __wrap_rn_free(void *object);

void *__wrap_rn_new(size_t size)
{
    void *object = __real_rn_new(size);

    objects += object && !is_service;
    return object;
}

char *__wrap_rn_new_text(const char *text)
{
    char *copy = __real_rn_new_text(text);

    objects += copy && !is_service;
    return copy;
}

void __wrap_rn_free(void *object)
{
    objects -= object && !is_service;
    __real_rn_free(object);
}

static void guard(bool is_inside)
{
    is_service = is_inside;
}

static runnel_verdict always_yield(struct hosts_host *host, const char *lease,
                                   const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    (void)batch;
    return RUNNEL_YIELD;
}

/* ---- lease stores -------------------------------------------------------- */

static void cycles_of_acquire_and_release_leave_nothing_behind(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_lease_store *store;
    int64_t before;

    (void)state;
    hosts_open(&h, 1, 4);
    store = hosts_memory_open(&h);
    h.judge = always_yield;
    o.lease_store = store;
    h.world.wire.guard = guard;
    o.lease_acquire_ms = 20;
    hosts_put(&h, 0, 40);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    before = objects;
    hosts_run(&h, 130000);
    assert_true(h.hosts[0].closed >= 10000);
    /* What is under way differs from moment to moment. */
    if (objects - before > 60 || before - objects > 60)
        fail_msg("%lld objects, then %lld", (long long)before,
                 (long long)objects);
    hosts_stop(&h, 0);
    h.world.wire.guard = NULL;
    hosts_memory_close(store);
}

static void two_hosts_share_leases_in_memory(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_lease_store *store;

    (void)state;
    hosts_open(&h, 1, 4);
    store = hosts_memory_open(&h);
    o.lease_store = store;
    hosts_start(&h, 0, &o);
    hosts_start(&h, 1, &o);
    hosts_put(&h, 0, 100);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 20000);
    hosts_put(&h, 0, 100);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(h.deliveries, 200);
    assert_true(h.hosts[0].batches > 0 && h.hosts[1].batches > 0);
    hosts_kill(&h, 1);
    hosts_put(&h, 0, 100);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_stop(&h, 0);
    hosts_check(&h);
    hosts_memory_close(store);
}

static void a_restarted_host_adopts_its_leases_in_memory_at_once(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_lease_store *store;

    (void)state;
    hosts_open(&h, 1, 4);
    store = hosts_memory_open(&h);
    o.lease_store = store;
    hosts_put(&h, 0, 100);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 1000);
    hosts_kill(&h, 0);
    hosts_put(&h, 0, 100);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 1000);
    hosts_stop(&h, 0);
    hosts_check(&h);
    hosts_memory_close(store);
}

static void a_missing_lease_container_is_created_if_asked(void **state)
{
    runnel_processor_options o = hosts_options();
    struct service_box *made;

    (void)state;
    hosts_open(&h, 1, 2);
    h.leases->is_deleted = true;
    o.create_leases = true;
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    made = service_find(&h.world.service, "db", "leases");
    assert_non_null(made);
    assert_non_null(strstr(made->key_json, "\"/id\""));
    assert_int_equal(made->default_ttl, -1);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

/* ---- factories, modes, headers ------------------------------------------- */

static unsigned created, destroyed, handled;

static runnel_verdict count_changes(void *context, const char *lease,
                                    const runnel_batch *batch)
{
    (void)context;
    (void)lease;
    handled += (unsigned)runnel_batch_count(batch);
    return RUNNEL_DONE;
}

static runnel_code create_observer(void *context, const char *lease,
                                   runnel_observer *out)
{
    (void)context;
    (void)lease;
    created++;
    *out = (runnel_observer){ RUNNEL_OBSERVER_INIT, .changes = count_changes };
    return RUNNEL_OK;
}

static void destroy_observer(void *context, runnel_observer *observer)
{
    (void)context;
    assert_true(observer->changes == count_changes);
    destroyed++;
}

static void a_factory_makes_an_observer_for_each_lease(void **state)
{
    runnel_observer_factory factory = { .create = create_observer,
                                        .destroy = destroy_observer };
    runnel_processor_options o = hosts_options();

    (void)state;
    created = destroyed = handled = 0;
    hosts_open(&h, 1, 3);
    o.factory = &factory;
    hosts_put(&h, 0, 30);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    assert_int_equal(created, 3);
    assert_int_equal(handled, 30);
    hosts_stop(&h, 0);
    assert_int_equal(destroyed, 3);
    assert_int_equal(h.deliveries, 0); /* not the one that was given beside */
}

static unsigned kinds[5];

static runnel_verdict count_kinds(void *context, const char *lease,
                                  const runnel_batch *batch)
{
    (void)context;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        kinds[runnel_batch_at(batch, i)->kind]++;
    return RUNNEL_DONE;
}

static runnel_code create_counter(void *context, const char *lease,
                                  runnel_observer *out)
{
    (void)context;
    (void)lease;
    *out = (runnel_observer){ .changes = count_kinds };
    return RUNNEL_OK;
}

static void all_versions_and_deletes_are_handled(void **state)
{
    static const runnel_feed_options all = { RUNNEL_FEED_INIT,
                                             .mode = RUNNEL_FEED_ALL };
    runnel_observer_factory factory = { .create = create_counter };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 2);
    o.feed = &all;
    o.factory = &factory;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    hosts_put(&h, 0, 10);
    hosts_put(&h, 0, 10);
    assert_non_null(service_delete(h.world.box, "3", "[\"3\"]"));
    hosts_run(&h, 40000);
    assert_int_equal(kinds[RUNNEL_CREATED], 10);
    assert_int_equal(kinds[RUNNEL_REPLACED], 10);
    assert_int_equal(kinds[RUNNEL_DELETED], 1);
    assert_non_null(
        strstr(hosts_lease(&h, "0")->json, "\"Mode\":\"Full-Fidelity Feed\""));
    hosts_stop(&h, 0);
}

static bool look_at_headers(void *context, const struct service_request *q,
                            struct service_answer *a)
{
    struct rn_view session = service_header(q, "x-ms-session-token");
    struct rn_view items = service_header(q, "x-ms-max-item-count");

    (void)context;
    (void)a;
    if (service_header(q, "a-im").at && session.at &&
        rn_view_eq(session, RN_LIT("0:-1#1")) && items.at &&
        rn_view_eq(items, RN_LIT("7")))
        count++;
    return false;
}

static void page_size_and_session_token_are_sent(void **state)
{
    static const runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                              .start = RUNNEL_START_BEGINNING,
                                              .page_limit = 7,
                                              .session_token = "0:-1#1" };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    h.world.wire.before = look_at_headers;
    o.feed = &feed;
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_true(count >= 3);
    assert_int_equal(h.hosts[0].batches, 3);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_continuation_is_where_new_leases_begin(void **state)
{
    static const runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                              .token = "\"15\"" };
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 1);
    o.feed = &feed;
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    assert_int_equal(h.deliveries, 5);
    hosts_stop(&h, 0);
    o.feed = &hosts_beginning; /* it has a position: this is ignored */
    hosts_start(&h, 0, &o);
    hosts_run(&h, 3000);
    assert_int_equal(h.deliveries, 5);
    hosts_stop(&h, 0);
}

static void a_drained_feed_is_polled_at_its_interval(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };
    uint64_t before;

    (void)state;
    hosts_open(&h, 1, 1);
    h.world.service.cannot_wait = true;
    o.poll_ms = 700;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    before = h.world.service.feed_reads;
    hosts_run(&h, 14000);
    assert_in_range(h.world.service.feed_reads - before, 18, 21);
    rn_host_read_stats(h.hosts[0].engine, &stats);
    assert_true(stats.charge > 18);
    hosts_put(&h, 0, 5);
    hosts_until(&h, hosts_all_seen, 800);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void fewest_and_most_leases_are_kept(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    hosts_open(&h, 1, 6);
    o.max_leases = 2;
    hosts_start(&h, 0, &o);
    hosts_run(&h, 10000);
    assert_int_equal(hosts_owned(&h, 0), 2);
    o.max_leases = 0;
    o.min_leases = 4;
    hosts_start(&h, 1, &o);
    hosts_run(&h, 10000);
    assert_int_equal(hosts_owned(&h, 0), 2);
    assert_int_equal(hosts_owned(&h, 1), 4);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
}

/* ---- limits of time, and failures ---------------------------------------- */

static char preference[32]; /* of the last read that asked to wait */

static bool note_preference(void *context, const struct service_request *q,
                            struct service_answer *a)
{
    struct rn_view prefer = service_header(q, "Prefer");

    (void)context;
    (void)a;
    if (service_header(q, "A-IM").at && prefer.at)
        snprintf(preference, sizeof(preference), "%.*s", RN_FMT(prefer));
    return false;
}

static void a_read_asks_the_server_to_wait_as_long_as_it_should(void **state)
{
    static const struct {
        uint32_t wait_ms;
        const char *expected;
    } cases[] = { { 0, "wait=30" }, { 7000, "wait=7" }, { RUNNEL_OFF, "" } };
    runnel_processor_options o = hosts_options();

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        preference[0] = '\0';
        hosts_open(&h, 1, 1);
        h.world.wire.before = note_preference;
        o.wait_ms = cases[i].wait_ms;
        hosts_start(&h, 0, &o);
        hosts_run(&h, 5000);
        hosts_put(&h, 0, 5);
        hosts_until(&h, hosts_all_seen, 1000);
        assert_string_equal(preference, cases[i].expected);
        hosts_stop(&h, 0);
        hosts_check(&h);
        if (i < 2)
            hosts_close(&h);
    }
}

static runnel_code wait_ready(runnel_error *error)
{
    runnel_code rc = rn_host_wait_ready(h.hosts[0].engine, error);

    rn_host_free(h.hosts[0].engine);
    h.hosts[0].engine = NULL;
    return rc;
}

/* The lock of a host that lives, or no network at all. */
static void a_start_gives_up_when_its_time_is_over(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };
    int64_t began_ms;

    (void)state;
    o.start_ms = 4000;
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        hosts_open(&h, 1, 1);
        assert_non_null(service_upsert(
            h.leases, "{\"id\":\"plocalhost_AAAAAQ==_AAAAAYAAAAE=.lock\"}"));
        began_ms = world_now_ms(&h.world);
        hosts_start(&h, 0, &o);
        scripted_cut(h.hosts[0].network, is_cut);
        assert_int_equal(wait_ready(&error),
                         is_cut ? RUNNEL_UNREACHABLE : RUNNEL_TIMEOUT);
        assert_in_range(world_now_ms(&h.world) - began_ms, 4000, 12000);
        if (!is_cut)
            hosts_close(&h);
    }
}

static runnel_verdict fail_on_7(struct hosts_host *host, const char *lease,
                                const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        if (runnel_batch_at(batch, i)->id.at[0] == '7')
            return RUNNEL_AGAIN;
    return RUNNEL_DONE;
}

static void a_batch_is_judged_as_one_if_it_should_be(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    (void)state;
    hosts_open(&h, 1, 1);
    h.judge = fail_on_7;
    o.whole_batch = true;
    o.retry_attempts = 3;
    o.exhausted = RUNNEL_SKIP;
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 20000);
    assert_int_equal(h.deliveries, 30);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_BISECTED], 0);
    rn_host_read_stats(h.hosts[0].engine, &stats);
    assert_int_equal(stats.skips, 10);
    hosts_put(&h, 10, 12);
    hosts_run(&h, 2000);
    assert_int_equal(h.handled[11], 1);
    hosts_stop(&h, 0);
}

/* ---- fleets -------------------------------------------------------------- */

static bool has_mark(void)
{
    for (size_t i = 0; i < h.leases->entry_count; i++)
        if (strstr(h.leases->entries[i]->json, "runnel.wanted"))
            return true;
    return false;
}

/* Even among hosts of ours: one theft a pass, and no marks. */
static void
a_compatible_fleet_is_balanced_as_the_official_libraries_do(void **state)
{
    static const runnel_fleet fleets[] = { RUNNEL_FLEET_AUTO,
                                           RUNNEL_FLEET_COMPATIBLE };
    runnel_processor_options o = hosts_options();
    unsigned owned;

    (void)state;
    for (int i = 0; i < 2; i++) {
        hosts_open(&h, 1, 8);
        o.fleet = fleets[i];
        hosts_start(&h, 0, &o);
        hosts_run(&h, 5000);
        assert_int_equal(hosts_owned(&h, 0), 8);
        hosts_start(&h, 1, &o);
        owned = 0;
        for (int ms = 0; ms < 20000; ms += 500) {
            hosts_run(&h, 500);
            if (i == 1)
                assert_true(hosts_owned(&h, 1) <= owned + 1);
            owned = hosts_owned(&h, 1);
        }
        assert_int_equal(hosts_owned(&h, 0), 4);
        assert_int_equal(hosts_owned(&h, 1), 4);
        assert_int_equal(has_mark(), i == 0);
        hosts_stop(&h, 0);
        hosts_stop(&h, 1);
        if (i == 0)
            hosts_close(&h);
    }
}

/* A lease of a .NET host that lives; it expires after ten seconds. */
static void a_native_fleet_refuses_to_share_with_another_library(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_error error = { 0 };

    (void)state;
    hosts_open(&h, 1, 1);
    assert_non_null(service_upsert(
        h.leases, "{\"id\":\"plocalhost_AAAAAQ==_AAAAAYAAAAE=..0\","
                  "\"LeaseToken\":\"0\",\"Owner\":\"net-1\","
                  "\"ContinuationToken\":null,\"properties\":{},"
                  "\"timestamp\":null}"));
    o.fleet = RUNNEL_FLEET_NATIVE;
    hosts_start(&h, 0, &o);
    assert_int_equal(wait_ready(&error), RUNNEL_UNSUPPORTED);
    assert_non_null(strstr(error.message, "net-1"));
    assert_non_null(strstr(error.message, "RUNNEL_FLEET_AUTO"));
    hosts_run(&h, 15000); /* it has died */
    hosts_put(&h, 0, 10);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(cycles_of_acquire_and_release_leave_nothing_behind),
        CASE(two_hosts_share_leases_in_memory),
        CASE(a_restarted_host_adopts_its_leases_in_memory_at_once),
        CASE(a_missing_lease_container_is_created_if_asked),
        CASE(a_factory_makes_an_observer_for_each_lease),
        CASE(all_versions_and_deletes_are_handled),
        CASE(page_size_and_session_token_are_sent),
        CASE(a_continuation_is_where_new_leases_begin),
        CASE(a_drained_feed_is_polled_at_its_interval),
        CASE(fewest_and_most_leases_are_kept),
        CASE(a_read_asks_the_server_to_wait_as_long_as_it_should),
        CASE(a_start_gives_up_when_its_time_is_over),
        CASE(a_batch_is_judged_as_one_if_it_should_be),
        CASE(a_compatible_fleet_is_balanced_as_the_official_libraries_do),
        CASE(a_native_fleet_refuses_to_share_with_another_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
