/* client_host_memory_test.c -- a processor whose allocations fail loses no
 * change, keeps nothing, and says so where it cannot go on.
 *
 * In run n the n-th allocation of the hosts fails: of a start, a balance, a
 * handler's batch, a dead letter, a split, a hand-over or a stop.  A start that
 * fails is made again; everything else must come to its end by itself.  The
 * runs end when one needs fewer allocations.  The calls for tools do the same.
 */
#include "client/api/container.h"
#include "client/hosts.h"
#include "client/lease/store_memory.h"
#include "lib/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { BAD = 3, LIMIT_MS = 100000, STEP_MS = 50, EXPIRE_MS = 13000 };

static struct hosts h;
static struct service_box *letters;
static long nth;

/* ---- hosts --------------------------------------------------------------- */

/* What is tried, beside the options of hosts_options. */
struct variant {
    bool has_table;  /* leases in memory, by a table of functions */
    uint32_t lanes;  /* and small batches, of which changes are marked */
    bool is_merged;  /* two ranges become one; else one becomes two */
    unsigned ranges; /* at first */
};

static const struct variant *variant;
static runnel_lease_store *store;

/* One change never succeeds; with lanes it alone is marked. */
static runnel_verdict judge(struct hosts_host *host, const char *lease,
                            const runnel_batch *batch)
{
    (void)host;
    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        if (strtol(runnel_batch_at(batch, i)->id.at, NULL, 10) != BAD)
            continue;
        runnel_batch_explain(batch, "bad");
        if (!variant->lanes)
            return RUNNEL_AGAIN;
        runnel_batch_mark(batch, i, RUNNEL_AGAIN);
    }
    return RUNNEL_DONE;
}

static runnel_processor_options options(void)
{
    runnel_processor_options o = hosts_options();

    o.exhausted = RUNNEL_DEAD_LETTER;
    o.retry_attempts = 2;
    o.wait_ms = 10000; /* few polls */
    o.lease_store = store;
    o.parallel = variant->lanes;
    return o;
}

static bool is_settled(int number)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    rn_host_read_stats(h.hosts[number].engine, &stats);
    return stats.state != RUNNEL_STARTING;
}

/* A write whose answer cannot be kept is uncertain. */
static void must_be_memory(runnel_code rc, const runnel_error *error)
{
    if ((rc != RUNNEL_NO_MEMORY && rc != RUNNEL_UNCERTAIN) ||
        !rn_fault_struck())
        fail_msg("allocation %ld: %s: %s", nth, runnel_code_name(rc),
                 error->message);
}

/* Once more if memory was lacking. */
static void start(int number)
{
    runnel_processor_options o = options();
    struct hosts_host *host = &h.hosts[number];
    runnel_error error = { 0 };
    runnel_code rc;

    do {
        rc = hosts_try(&h, number, &o, &error);
        for (int ms = 0; !rc && !is_settled(number); ms += STEP_MS) {
            assert_true(ms < LIMIT_MS);
            hosts_run(&h, STEP_MS);
        }
        if (!rc && (rc = rn_host_wait_ready(host->engine, &error))) {
            rn_host_free(host->engine);
            host->engine = NULL;
        }
        if (rc)
            must_be_memory(rc, &error);
    } while (rc);
}

static void put(int from, int to)
{
    rn_fault_hold(true);
    hosts_put(&h, from, to);
    rn_fault_hold(false);
}

static void split_or_merge(void)
{
    rn_fault_hold(true);
    assert_true(variant->is_merged ? service_merge(h.world.box, 0, 1, 0)
                                   : service_split(h.world.box, 0, 0));
    rn_fault_hold(false);
}

static bool is_done(struct hosts *all)
{
    for (int i = 0; i < HOSTS_DOCUMENTS_MAX; i++)
        if (i != BAD && all->seen[i] < all->written[i])
            return false;
    return letters->entry_count > 0;
}

static unsigned owned(struct hosts *all, int number)
{
    runnel_processor_stats stats = { RUNNEL_STATS_INIT };

    rn_host_read_stats(all->hosts[number].engine, &stats);
    return stats.leases_owned;
}

static bool is_shared(struct hosts *all)
{
    return owned(all, 0) == 1 && owned(all, 1) == 1;
}

static void until(bool (*is_true)(struct hosts *all), const char *what)
{
    for (int ms = 0; ms < LIMIT_MS && !is_true(&h); ms += STEP_MS)
        hosts_run(&h, STEP_MS);
    if (!is_true(&h))
        fail_msg("allocation %ld failed: %s", nth, what);
}

/* Accounts and stores are not what is tried here. */
static void open_world(void)
{
    const struct service_definition dead = { .db = "db",
                                             .name = "dead",
                                             .key = "/id" };
    runnel_processor_options wrong = hosts_options();

    hosts_open(&h, 1, variant->ranges);
    letters = service_add(&h.world.service, &dead);
    assert_int_equal(rn_client_container_open(h.world.account, "db", "dead",
                                              &h.dead_letters, NULL),
                     RUNNEL_OK);
    wrong.name = NULL;
    for (int i = 0; i < 2; i++)
        assert_int_equal(hosts_try(&h, i, &wrong, NULL), RUNNEL_BAD_REQUEST);
    store = NULL;
    if (variant->has_table)
        assert_int_equal(rn_lease_store_memory_open(rn_sim_env(h.world.sim),
                                                    (struct rn_view){ 0 },
                                                    &store, NULL),
                         RUNNEL_OK);
    h.judge = judge;
    h.world.wire.guard = rn_fault_hold;
}

static void close_world(void)
{
    rn_client_container_unref(h.dead_letters);
    hosts_close(&h);
    if (store)
        ((struct rn_own_store *)store)->close((struct rn_own_store *)store);
}

/* Returns whether an allocation failed. */
static bool run_hosts(void)
{
    long before = rn_fault_live();
    bool struck;

    open_world();
    rn_fault_arm(nth);
    put(0, 6);
    start(0);
    until(is_done, "not all is handled");
    split_or_merge();
    put(10, 16);
    start(1);
    until(is_shared, "leases are not shared");
    put(10, 16);
    until(is_done, "not all is handled by two");
    hosts_stop(&h, 0);
    put(20, 26);
    until(is_done, "not all is handled by the other");
    hosts_run(&h, EXPIRE_MS); /* a parent that was marked in the last moment */
    hosts_stop(&h, 1);
    struck = rn_fault_struck();
    rn_fault_arm(0);
    assert_int_equal(h.disorder, 0);
    if (hosts_owned(&h, 0) + hosts_owned(&h, 1) > 0)
        fail_msg("allocation %ld failed: a lease is not released", nth);
    close_world();
    if (rn_fault_live() != before)
        fail_msg("allocation %ld failed, and %ld leaked", nth,
                 rn_fault_live() - before);
    return struck;
}

static void a_fleet_survives_any_allocation_that_fails(void **state)
{
    static const struct variant variants[] = {
        { .ranges = 1 },
        { .ranges = 2, .has_table = true, .lanes = 3, .is_merged = true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        variant = &variants[i];
        for (nth = 1; run_hosts(); nth++)
            ;
        print_message("%ld allocations\n", nth - 1);
        assert_true(nth > 500);
    }
}

/* ---- calls for tools ----------------------------------------------------- */

static unsigned told;

static bool count_lease(void *context, const runnel_lease *lease)
{
    (void)context;
    (void)lease;
    told++;
    return true;
}

static bool count_lag(void *context, const runnel_lag *lag)
{
    (void)context;
    told += lag->lease != NULL;
    if (lag->state == RUNNEL_LAG_FAILED)
        must_be_memory(lag->error->code, lag->error);
    return true;
}

static runnel_code copy_leases(const runnel_lease_set *set, runnel_error *error)
{
    runnel_lease_set other = *set;
    runnel_reply *reply = NULL;
    runnel_code rc = runnel_leases_export(set, &reply, error);

    other.name = "copy";
    if (!rc)
        rc = runnel_leases_delete(&other, error); /* of an earlier attempt */
    if (!rc)
        rc = runnel_leases_import(&other, runnel_reply_body(reply), error);
    runnel_reply_close(reply);
    if (!rc)
        rc = runnel_leases_delete(&other, error);
    if (!rc)
        rc = runnel_leases_fork(&other, "p", error);
    return rc;
}

static runnel_code use_tools(const runnel_lease_set *set, runnel_error *error)
{
    const runnel_feed_options to = { RUNNEL_FEED_INIT,
                                     .start = RUNNEL_START_NOW };
    runnel_code rc;

    told = 0;
    rc = runnel_leases_each(set, count_lease, NULL, error);
    if (!rc)
        rc = runnel_lag_each(set, count_lag, NULL, error);
    if (!rc)
        rc = runnel_leases_seek(set, NULL, &to, error);
    if (!rc)
        rc = runnel_leases_release(set, NULL, error);
    if (!rc)
        rc = copy_leases(set, error);
    if (!rc)
        rc = runnel_leases_cut(set, "0", 2, error);
    return rc;
}

/* Returns whether an allocation failed. */
static bool run_tools(void)
{
    static const struct variant plain = { .ranges = 2 };
    runnel_container source = { 0 }, leases = { 0 };
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT, .source = &source,
                             .leases = &leases, .name = "p" };
    long before = rn_fault_live();
    runnel_error error = { 0 };
    runnel_code rc = RUNNEL_NO_MEMORY;
    bool struck;

    variant = &plain;
    open_world();
    source.inner = h.world.container;
    assert_int_equal(rn_client_container_open(h.world.account, "db", "leases",
                                              &leases.inner, NULL),
                     RUNNEL_OK);
    start(0);
    hosts_stop(&h, 0);
    rn_fault_arm(nth);
    while (rc) {
        rc = use_tools(&set, &error);
        if (rc)
            must_be_memory(rc, &error);
    }
    struck = rn_fault_struck();
    rn_fault_arm(0);
    assert_int_equal(told, 4);
    assert_int_equal(hosts_leases(&h), 4);
    rn_client_container_unref(leases.inner);
    close_world();
    if (rn_fault_live() != before)
        fail_msg("allocation %ld failed, and %ld leaked", nth,
                 rn_fault_live() - before);
    return struck;
}

static void calls_for_tools_survive_any_allocation_that_fails(void **state)
{
    (void)state;
    for (nth = 1; run_tools(); nth++)
        ;
    print_message("%ld allocations\n", nth - 1);
    assert_true(nth > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fleet_survives_any_allocation_that_fails),
        cmocka_unit_test(calls_for_tools_survive_any_allocation_that_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
