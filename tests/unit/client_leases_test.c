/* client_leases_test.c -- leases for tools, and the lag, in virtual time.
 *
 * While hosts run, leases are moved, released, cut, exported and imported.  The
 * lag is compared with what was written and not yet checkpointed.
 */
#include "client/api/own.h"
#include "client/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct hosts h;
static runnel_container source, leases;
static runnel_lease_set set;
static runnel_error error;

static void open_world(unsigned ranges)
{
    hosts_open(&h, 1, ranges);
    source.inner = h.world.container;
    assert_int_equal(
        rn_container_open(h.world.account, "db", "leases", &leases.inner, NULL),
        RUNNEL_OK);
    set = (runnel_lease_set){ RUNNEL_LEASE_SET_INIT, .source = &source,
                              .name = "p", .leases = &leases };
}

static int tear_down(void **state)
{
    (void)state;
    rn_container_unref(leases.inner);
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
    set.name = "copy";
    assert_int_equal(
        runnel_leases_import(&set, runnel_reply_body(reply), &error),
        RUNNEL_OK);
    assert_int_equal(look().count, 3);
    o.name = "copy";
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

int main(void)
{
#define CASE(f) cmocka_unit_test_teardown(f, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(the_lag_counts_what_is_not_checkpointed),
        CASE(a_lease_of_a_split_range_has_a_lag_of_one),
        CASE(halves_of_a_merged_range_have_an_upper_bound),
        CASE(a_seek_moves_a_host_that_runs),
        CASE(a_released_lease_is_taken_again),
        CASE(a_lease_is_cut_into_pieces_at_its_position),
        CASE(exported_leases_are_imported_under_another_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
