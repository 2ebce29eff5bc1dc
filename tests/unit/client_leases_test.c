/* client_leases_test.c -- leases for tools, and the lag, in virtual time.
 *
 * While hosts run, leases are moved, released, cut, exported and imported.  The
 * lag is compared with what was written and not yet checkpointed.
 */
#include "client/api/container.h"
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct hosts h;
static runnel_container source, leases;
static runnel_lease_set set;
static runnel_error error;

static void open_world(unsigned ranges)
{
    hosts_open(&h, 1, ranges);
    source.inner = h.world.container;
    assert_int_equal(rn_client_container_open(h.world.account, "db", "leases",
                                              &leases.inner, NULL),
                     RUNNEL_OK);
    set = (runnel_lease_set){ RUNNEL_LEASE_SET_INIT, .source = &source,
                              .name = "p", .leases = &leases };
}

static int tear_down(void **state)
{
    (void)state;
    rn_client_container_unref(leases.inner);
    hosts_close(&h);
    return 0;
}

static void run_once(void)
{
    runnel_processor_options o = hosts_options();

    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 30000);
    hosts_run(&h, 1000);
    hosts_stop(&h, 0);
}

/* ---- lag ----------------------------------------------------------------- */

struct lags {
    runnel_lag total;
    size_t count;
    runnel_lag_state last;
    bool any_bound;
};

static bool add_lag(void *context, const runnel_lag *lag)
{
    struct lags *l = context;

    if (!lag->lease) {
        l->total = *lag;
        return true;
    }
    l->count++;
    l->last = lag->state;
    l->any_bound = l->any_bound || lag->is_upper_bound;
    return true;
}

static struct lags measure(void)
{
    struct lags l = { .count = 0 };

    assert_int_equal(runnel_lag_each(&set, add_lag, &l, &error), RUNNEL_OK);
    return l;
}

static void the_lag_counts_what_is_not_checkpointed(void **state)
{
    struct lags l;

    (void)state;
    open_world(2);
    l = measure(); /* no leases: a scaler is to start a host */
    assert_int_equal(l.count, 0);
    assert_true(l.total.behind == 1);
    hosts_put(&h, 0, 40);
    run_once();
    l = measure();
    assert_int_equal(l.count, 2);
    assert_true(l.total.behind == 0 && l.total.behind_ms == 0);
    hosts_put(&h, 100, 130);
    hosts_run(&h, 7000);
    l = measure();
    assert_true(l.total.behind == 30);
    assert_in_range(l.total.behind_ms, 6000, 9000);
    assert_false(l.any_bound);
}

static void the_lag_of_many_leases_is_read_eight_at_a_time(void **state)
{
    struct lags l;
    int64_t start;

    (void)state;
    open_world(16);
    hosts_put(&h, 0, 200);
    run_once();
    hosts_put(&h, 0, 100);
    h.world.wire.latency_ns = 1;
    h.world.wire.faults.delay = 1000;
    h.world.wire.faults.delay_ms = 1000;
    start = world_now_ms(&h.world);
    l = measure();
    assert_int_equal(l.count, 16);
    assert_true(l.total.behind == 100);
    /* One by one the probes alone would take 8 s. */
    assert_true(world_now_ms(&h.world) - start < 7000);
}

static void a_lease_of_a_split_range_has_a_lag_of_one(void **state)
{
    struct lags l;

    (void)state;
    open_world(1);
    hosts_put(&h, 0, 10);
    run_once();
    assert_true(service_split(h.world.box, 0, 0));
    /* Its routing map may be old: the answer is 410. */
    l = measure();
    assert_int_equal(l.last, RUNNEL_LAG_GONE);
    assert_true(l.total.behind == 1);
}

static void halves_of_a_merged_range_have_an_upper_bound(void **state)
{
    runnel_processor_options o = hosts_options();
    struct lags l;

    (void)state;
    open_world(2);
    hosts_put(&h, 0, 20);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_true(service_merge(h.world.box, 0, 1, 0));
    hosts_put(&h, 0, 20);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 5000);
    hosts_stop(&h, 0);
    hosts_put(&h, 0, 10);
    l = measure();
    assert_true(l.any_bound && l.total.is_upper_bound);
    assert_true(l.total.behind >= 10);
}

/* ---- tools --------------------------------------------------------------- */

struct seen {
    unsigned count, owned, foreign;
    char position[64];
    uint64_t generation;
};

static bool add_lease(void *context, const runnel_lease *lease)
{
    struct seen *s = context;

    s->count++;
    s->owned += lease->host != NULL;
    s->foreign += lease->is_foreign;
    s->generation = lease->generation;
    snprintf(s->position, sizeof(s->position), "%s",
             lease->position ? lease->position : "");
    assert_true(lease->json.len > 0 && lease->range.max != NULL);
    return true;
}

static struct seen look(void)
{
    struct seen s = { .count = 0 };

    assert_int_equal(runnel_leases_each(&set, add_lease, &s, &error),
                     RUNNEL_OK);
    return s;
}

static void a_seek_moves_a_host_that_runs(void **state)
{
    runnel_feed_options to = { RUNNEL_FEED_INIT,
                               .start = RUNNEL_START_BEGINNING };
    runnel_processor_options o = hosts_options();
    struct seen s;

    (void)state;
    open_world(1);
    hosts_put(&h, 0, 30);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 1000);
    assert_int_equal(h.deliveries, 30);
    assert_int_equal(runnel_leases_seek(&set, NULL, &to, &error), RUNNEL_OK);
    hosts_run(&h, 10000);
    assert_int_equal(h.deliveries, 60);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_SEEK], 1);
    s = look();
    assert_int_equal(s.generation, 1);
    to.start = RUNNEL_START_DEFAULT;
    to.token = "\"25\"";
    assert_int_equal(runnel_leases_seek(&set, "0", &to, &error), RUNNEL_OK);
    hosts_run(&h, 10000);
    assert_int_equal(h.deliveries, 65);
    assert_int_equal(runnel_leases_seek(&set, "7", &to, &error),
                     RUNNEL_NOT_FOUND);
    hosts_stop(&h, 0);
}

static void a_seek_goes_to_an_lsn_a_time_and_now(void **state)
{
    runnel_feed_options to = { RUNNEL_FEED_INIT, .token = "20" };
    runnel_processor_options o = hosts_options();
    int64_t middle_ms;

    (void)state;
    open_world(1);
    hosts_put(&h, 0, 30);
    hosts_run(&h, 5000);
    middle_ms = rn_wall_ms(rn_sim_env(h.world.sim));
    hosts_put(&h, 30, 40);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 1000);
    assert_int_equal(h.deliveries, 40);
    assert_int_equal(runnel_leases_seek(&set, "0", &to, &error), RUNNEL_OK);
    hosts_run(&h, 10000);
    assert_int_equal(h.deliveries, 60);
    to.token = NULL;
    to.start_time_ms = middle_ms;
    assert_int_equal(runnel_leases_seek(&set, "0", &to, &error), RUNNEL_OK);
    hosts_run(&h, 10000);
    assert_int_equal(h.deliveries, 70);
    hosts_stop(&h, 0);
    hosts_put(&h, 40, 50); /* nobody reads these */
    for (int i = 40; i < 50; i++)
        h.written[i] = -1;
    to.start_time_ms = 0;
    to.start = RUNNEL_START_NOW;
    assert_int_equal(runnel_leases_seek(&set, NULL, &to, &error), RUNNEL_OK);
    hosts_start(&h, 0, &o);
    hosts_put(&h, 60, 65);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(h.deliveries, 75);
    to.start = RUNNEL_START_DEFAULT;
    to.token = "rn1.e30";
    assert_int_equal(runnel_leases_seek(&set, NULL, &to, &error),
                     RUNNEL_BAD_REQUEST);
    hosts_stop(&h, 0);
}

/* A host of another library writes lease 0: no property of ours is touched. */
static void write_foreign(const char *json)
{
    const char *owner = strstr(json, "\"Owner\":null");
    char text[4096];

    assert_non_null(owner);
    snprintf(text, sizeof(text), "%.*s\"Owner\":\"dotnet\"%s",
             (int)(owner - json), json, owner + strlen("\"Owner\":null"));
    assert_non_null(service_upsert(h.leases, text));
}

static void a_lease_of_a_live_foreign_host_is_not_moved(void **state)
{
    runnel_feed_options to = { RUNNEL_FEED_INIT,
                               .start = RUNNEL_START_BEGINNING };

    (void)state;
    open_world(2);
    hosts_put(&h, 0, 30);
    run_once();
    write_foreign(hosts_lease(&h, "0")->json);
    assert_int_equal(runnel_leases_seek(&set, NULL, &to, &error),
                     RUNNEL_CONFLICT);
    assert_non_null(strstr(error.message, "dotnet"));
    assert_null(strstr(hosts_lease(&h, "1")->json, "runnel.generation"));
    assert_int_equal(runnel_leases_seek(&set, "1", &to, &error), RUNNEL_OK);
    hosts_run(&h, 62000); /* it is dead */
    assert_int_equal(runnel_leases_seek(&set, "0", &to, &error), RUNNEL_OK);
    assert_int_equal(look().owned, 0);
}

static char *before_seek;

/* Writes its old copy without a condition, as .NET does after a split. */
static void overwrite(void *context, const struct service_request *q,
                      const struct service_answer *a)
{
    (void)context;
    (void)a;
    if (rn_view_eq(q->method, RN_LIT("PUT")) && before_seek) {
        write_foreign(before_seek);
        before_seek = NULL;
    }
}

static void a_foreign_write_over_a_seek_is_reported(void **state)
{
    runnel_feed_options to = { RUNNEL_FEED_INIT,
                               .start = RUNNEL_START_BEGINNING };

    (void)state;
    open_world(1);
    hosts_put(&h, 0, 30);
    run_once();
    before_seek = hosts_lease(&h, "0")->json;
    h.world.wire.after = overwrite;
    assert_int_equal(runnel_leases_seek(&set, NULL, &to, &error),
                     RUNNEL_CONFLICT);
    assert_non_null(strstr(error.message, "wrote over"));
}

static void a_released_lease_is_taken_again(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    open_world(2);
    hosts_start(&h, 0, &o);
    hosts_run(&h, 5000);
    assert_int_equal(look().owned, 2);
    assert_int_equal(runnel_leases_release(&set, NULL, &error), RUNNEL_OK);
    assert_int_equal(look().owned, 0);
    hosts_run(&h, 20000);
    assert_int_equal(look().owned, 2);
    assert_int_equal(h.hosts[0].events[RUNNEL_EVENT_LOST], 2);
    hosts_put(&h, 0, 20);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_stop(&h, 0);
    hosts_check(&h);
}

static void a_lease_is_cut_into_pieces_at_its_position(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    open_world(1);
    hosts_put(&h, 0, 40);
    run_once();
    assert_int_equal(runnel_leases_cut(&set, "0", 4, &error), RUNNEL_OK);
    hosts_put(&h, 20, 60);
    hosts_start(&h, 0, &o);
    hosts_start(&h, 1, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    hosts_run(&h, 15000);
    assert_int_equal(look().count, 4);
    assert_int_equal(hosts_owned(&h, 0), 2);
    assert_int_equal(hosts_owned(&h, 1), 2);
    assert_int_equal(h.deliveries, 80);
    hosts_stop(&h, 0);
    hosts_stop(&h, 1);
    hosts_check(&h);
}

static void exported_leases_are_imported_under_another_name(void **state)
{
    runnel_processor_options o = hosts_options();
    runnel_reply *reply = NULL;

    (void)state;
    open_world(3);
    hosts_put(&h, 0, 40);
    run_once();
    assert_int_equal(runnel_leases_export(&set, &reply, &error), RUNNEL_OK);
    assert_int_equal(
        runnel_leases_import(&set, runnel_reply_body(reply), &error),
        RUNNEL_CONFLICT);
    set.name = "a \"copy\"";
    assert_int_equal(
        runnel_leases_import(&set, runnel_reply_body(reply), &error),
        RUNNEL_OK);
    assert_int_equal(look().count, 3);
    o.name = set.name;
    hosts_start(&h, 1, &o);
    hosts_put(&h, 0, 10);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(h.deliveries, 50); /* from the exported positions */
    hosts_stop(&h, 1);
    assert_int_equal(runnel_leases_delete(&set, &error), RUNNEL_OK);
    assert_int_equal(look().count, 0);
    runnel_reply_close(reply);
    hosts_check(&h);
}

static void leases_are_forked_and_deleted_when_no_host_is_live(void **state)
{
    runnel_processor_options o = hosts_options();

    (void)state;
    open_world(3);
    hosts_put(&h, 0, 40);
    hosts_start(&h, 0, &o);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(runnel_leases_delete(&set, &error), RUNNEL_CONFLICT);
    assert_int_equal(look().count, 3);
    hosts_stop(&h, 0);
    set.name = "fork";
    assert_int_equal(runnel_leases_fork(&set, "none", &error),
                     RUNNEL_NOT_FOUND);
    assert_int_equal(runnel_leases_fork(&set, "p", &error), RUNNEL_OK);
    assert_int_equal(runnel_leases_fork(&set, "p", &error), RUNNEL_CONFLICT);
    o.name = "fork";
    hosts_start(&h, 1, &o);
    hosts_put(&h, 0, 10);
    hosts_until(&h, hosts_all_seen, 20000);
    assert_int_equal(h.deliveries, 50); /* from the positions of "p" */
    hosts_stop(&h, 1);
    assert_int_equal(runnel_leases_delete(&set, &error), RUNNEL_OK);
    assert_int_equal(look().count, 0);
}

static void a_set_with_a_bad_name_is_refused(void **state)
{
    (void)state;
    open_world(1);
    set.name = "caf\xe9";
    assert_int_equal(runnel_leases_import(&set, runnel_text("[]"), &error),
                     RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "UTF-8"));
    assert_int_equal(h.leases->entry_count, 0);
}

static void an_array_with_a_bad_lease_creates_none(void **state)
{
    static const char *const arrays[] = {
        "{}",
        "[{\"LeaseToken\":\"0\",\"id\":\"x..0\"},7]",
        ("[{\"LeaseToken\":\"0\",\"id\":\"x..0\"},"
         "{\"LeaseToken\":\"0\",\"id\":\"x..0\"}]"),
    };

    (void)state;
    open_world(1);
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++) {
        assert_int_equal(
            runnel_leases_import(&set, runnel_text(arrays[i]), &error),
            RUNNEL_BAD_REQUEST);
        assert_int_equal(h.leases->entry_count, 0);
    }
}

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(the_lag_counts_what_is_not_checkpointed),
        CASE(the_lag_of_many_leases_is_read_eight_at_a_time),
        CASE(a_lease_of_a_split_range_has_a_lag_of_one),
        CASE(halves_of_a_merged_range_have_an_upper_bound),
        CASE(a_seek_moves_a_host_that_runs),
        CASE(a_seek_goes_to_an_lsn_a_time_and_now),
        CASE(a_lease_of_a_live_foreign_host_is_not_moved),
        CASE(a_foreign_write_over_a_seek_is_reported),
        CASE(a_released_lease_is_taken_again),
        CASE(a_lease_is_cut_into_pieces_at_its_position),
        CASE(exported_leases_are_imported_under_another_name),
        CASE(leases_are_forked_and_deleted_when_no_host_is_live),
        CASE(a_set_with_a_bad_name_is_refused),
        CASE(an_array_with_a_bad_lease_creates_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
