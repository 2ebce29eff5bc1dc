/* store_maintenance_test.c -- background work lets others pass while it can.
 *
 * A store on the machine's env but for give_way, which counts.  It is opened
 * without tasks, so that nothing changes meanwhile, and then marked to have
 * them.
 */
#include "store/local/local.h"
#include "store/local/maintenance.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int ways_given;
static struct rn_env_ops ops;
static struct rn_env env = { &ops };
static char dir[64];
static struct rn_local *local;

static void count_way(struct rn_env *e)
{
    (void)e;
    ways_given++;
}

static void write_row(void)
{
    struct rn_store *s = &local->base;
    struct rn_txn *txn = NULL;

    assert_int_equal(
        rn_txn_begin(s, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn, NULL),
        RN_OK);
    assert_int_equal(rn_txn_put(txn, RN_LIT("key"), RN_LIT("value")), RN_OK);
    assert_int_equal(rn_txn_commit(txn, NULL), RN_OK);
}

/* With a row in memory and in the log. */
static int setup(void **state)
{
    struct rn_store_opts opts = { .env = &env, .where = dir, .manual = true };
    struct rn_store *store = NULL;
    struct rn_err err = { 0 };

    (void)state;
    ops = *rn_env_real()->ops;
    ops.give_way = count_way;
    snprintf(dir, sizeof(dir), "/tmp/runnel_maintenance_XXXXXX");
    if (!mkdtemp(dir) || rn_store_open("local", &opts, &store, &err))
        return -1;
    local = (struct rn_local *)store;
    write_row();
    local->opts.manual = false;
    ways_given = 0;
    return 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    local->opts.manual = true;
    rn_store_close(&local->base);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command); // NOLINT: the test's own directory
}

static void a_task_that_keeps_ahead_gives_way(void **state)
{
    (void)state;
    rn_local_give_way(local);
    assert_int_equal(ways_given, 1);
}

static void a_task_that_has_fallen_behind_does_not(void **state)
{
    (void)state;
    /* As if a memtable were being flushed of which the map has nothing yet. */
    local->flush.total = 1000;
    rn_local_give_way(local);
    assert_int_equal(ways_given, 0);
    local->flush.done = 1000;
    rn_local_give_way(local);
    assert_int_equal(ways_given, 1);
}

static void nor_does_a_task_that_the_log_needs(void **state)
{
    (void)state;
    local->opts.wal_bytes = RN_WAL_BLOCK; /* of which the row takes all */
    rn_local_give_way(local);
    assert_int_equal(ways_given, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_task_that_keeps_ahead_gives_way),
        CASE(a_task_that_has_fallen_behind_does_not),
        CASE(nor_does_a_task_that_the_log_needs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
