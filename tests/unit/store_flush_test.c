/* store_flush_test.c -- how much is gathered in memory.
 *
 * A store without tasks, on the machine's env and the real map, but for how
 * much the disk says to have free, and the map to hold.
 */
#include "store/local/local.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static uint64_t disk_free, live;
static int disk_error;
static char dir[64];

static int say_space(struct rn_env *e, const char *path, uint64_t *free_bytes)
{
    (void)e;
    (void)path;
    *free_bytes = disk_free;
    return disk_error;
}

static void say_live(struct rn_map *m, struct rn_map_stat *out)
{
    rn_map_lmdb.stat(m, out);
    out->live_bytes = live;
}

static struct rn_local *open_store(struct rn_env *env, uint64_t wal_bytes)
{
    struct rn_store_opts opts = {
        .env = env, .where = dir, .wal_bytes = wal_bytes, .manual = true
    };
    struct rn_store *store = NULL;
    struct rn_err err = { 0 };

    snprintf(dir, sizeof(dir), "/tmp/runnel_flush_XXXXXX");
    assert_non_null(mkdtemp(dir));
    if (rn_store_open("local", &opts, &store, &err))
        fail_msg("%s", err.text);
    return (struct rn_local *)store;
}

static void close_store(struct rn_local *l)
{
    char command[128];

    rn_store_close(&l->base);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0); // NOLINT: the test's own directory
}

static void write_row(struct rn_local *l)
{
    struct rn_txn *txn = NULL;
    struct rn_err err = { 0 };

    assert_int_equal(
        rn_txn_begin(&l->base, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn, &err),
        RN_OK);
    assert_int_equal(rn_txn_put(txn, RN_LIT("key"), RN_LIT("value")), RN_OK);
    assert_int_equal(rn_txn_commit(txn, &err), RN_OK);
}

/* Of a table: the first after an open, and those after it. */
static const struct limit_case {
    const char *what;
    uint64_t wal, live, free, first, next;
    int error;
} cases[] = {
    { "an empty store", 0, 0, GIB << 10, 64 * MIB, 8 * MIB, 0 },
    { "a small one", 0, 100 * MIB, GIB << 10, 64 * MIB, 25 * MIB, 0 },
    { "a large one", 0, GIB, GIB << 10, 64 * MIB, 64 * MIB, 0 },
    { "a short log", 96 * MIB, GIB, GIB << 10, 48 * MIB, 48 * MIB, 0 },
    { "a long one", 400 * MIB, GIB, GIB << 10, 64 * MIB, 200 * MIB, 0 },
    { "a longer one", 2 * GIB, 4 * GIB, GIB << 10, 64 * MIB, 256 * MIB, 0 },
    { "half of a disk", 512 * MIB, 4 * GIB, GIB, 64 * MIB, 64 * MIB, 0 },
    { "a full disk", 512 * MIB, 4 * GIB, 0, 64 * MIB, 8 * MIB, 0 },
    { "a disk that does not say", 512 * MIB, 4 * GIB, 0, 64 * MIB, 256 * MIB,
      EIO },
};

static void check(const struct limit_case *c)
{
    struct rn_env_ops ops = *rn_env_real()->ops;
    struct rn_map_ops map_ops = rn_map_lmdb;
    struct rn_env env = { &ops };
    struct rn_local *l = open_store(&env, c->wal);
    uint64_t first = l->flush.limit, next;
    struct rn_err err = { 0 };

    write_row(l);
    ops.space = say_space;
    map_ops.stat = say_live;
    l->map->ops = &map_ops;
    live = c->live;
    disk_free = c->free;
    disk_error = c->error;
    assert_int_equal(rn_flush_all(l, &err), RN_OK);
    next = l->flush.limit;
    disk_error = 0;
    disk_free = GIB << 10;
    close_store(l);
    if (first != c->first || next != c->next)
        fail_msg("%s: %llu MiB, then %llu, not %llu and %llu", c->what,
                 (unsigned long long)(first / MIB),
                 (unsigned long long)(next / MIB),
                 (unsigned long long)(c->first / MIB),
                 (unsigned long long)(c->next / MIB));
}

static void a_table_is_in_proportion(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_in_proportion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
