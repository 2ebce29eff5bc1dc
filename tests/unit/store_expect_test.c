/* store_expect_test.c -- to be told of keys leads to where they are.
 *
 * A prefetch has no visible effect, but a damaged page has one: the first read
 * that touches it reports the damage (verify_on_touch.h).  So the test damages
 * one leaf at a time in a map of three levels.  A prefetch of a key in that
 * leaf, whether the key exists or not, reports it, and most others do not.
 */
#include "store/admin/compact.h"
#include "store/integrity/fault_guard.h"
#include "store/lmdb/page.h"
#include "store/local/local.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    ROWS = 20000,
    KEY = 64,
    PAGE = 4096,
    PAGE_FLAGS = 10,
    FAR = ROWS / 2, /* rows between two keys that share nothing */
    DAMAGES = 24,
};

static char dir[64], path[RN_PATH_MAX];
static struct rn_local *local;

/* Every fourth is short; long ones begin alike. */
static struct rn_view key_of(unsigned row, const char *behind, char out[KEY])
{
    return rn_view_of(out,
                      (size_t)snprintf(out, KEY, "row%s %06u%s",
                                       row % 4 ? " number" : "", row, behind));
}

static void open_store(void)
{
    struct rn_store_opts opts = { .where = dir, .manual = true };
    struct rn_store *store = NULL;
    struct rn_err err = { 0 };

    if (rn_store_open("local", &opts, &store, &err))
        fail_msg("%s", err.text);
    local = (struct rn_local *)store;
}

static void write_rows(void)
{
    static const char value[100];
    struct rn_txn *txn = NULL;
    char key[KEY];

    assert_int_equal(rn_txn_begin(&local->base, RN_TXN_WRITE,
                                  (struct rn_lock){ 0 }, &txn, NULL),
                     RN_OK);
    for (unsigned i = 0; i < ROWS; i++)
        assert_int_equal(rn_txn_put(txn, key_of(i, "", key),
                                    rn_view_of(value, sizeof(value))),
                         RN_OK);
    assert_int_equal(rn_txn_commit(txn, NULL), RN_OK);
}

/* Compacted, so that there is one copy of each row. */
static int setup(void **state)
{
    struct rn_compacted done;
    struct rn_err err = { 0 };

    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/runnel_expect_XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    open_store();
    write_rows();
    rn_store_close(&local->base);
    if (rn_compact(rn_env_real(), dir, &done, &err))
        fail_msg("%s", err.text);
    open_store();
    rn_local_map_path(dir, local->generation, path);
    rn_store_close(&local->base);
    return 0;
}

static int teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command); // NOLINT: the test's own directory
}

/* Where in the file a row's leaf begins. */
static off_t leaf_of(int file, unsigned row)
{
    char page[PAGE], key[KEY];
    struct rn_view k = key_of(row, "", key);

    for (off_t at = 2 * PAGE; pread(file, page, PAGE, at) == PAGE; at += PAGE) {
        if (page[PAGE_FLAGS] == RN_PAGE_LEAF && memmem(page, PAGE, k.at, k.len))
            return at;
    }
    fail_msg("row %u is not in the file", row);
    return 0;
}

/* The last byte is of a row. */
static void flip(int file, off_t leaf)
{
    char byte;

    assert_int_equal(pread(file, &byte, 1, leaf + PAGE - 1), 1);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, leaf + PAGE - 1), 1);
}

/* Where damage was met by who was told of this key, or 0. */
static uint64_t met_by(unsigned row, const char *behind)
{
    struct rn_map_stat stat;
    struct rn_txn *txn = NULL;
    char key[KEY];
    struct rn_view k = key_of(row, behind, key);

    open_store();
    assert_int_equal(rn_txn_begin(&local->base, RN_TXN_READ,
                                  (struct rn_lock){ 0 }, &txn, NULL),
                     RN_OK);
    rn_txn_expect(txn, &k, 1);
    rn_txn_abort(txn);
    local->map->ops->stat(local->map, &stat);
    rn_store_close(&local->base);
    return stat.damaged_at;
}

static void each_key_leads_to_its_leaf(void **state)
{
    int file = open(path, O_RDWR);
    unsigned innocent = 0;

    (void)state;
    assert_true(file >= 0);
    for (unsigned i = 0; i < DAMAGES; i++) {
        /* Not of the first or last pages, which open looks at. */
        unsigned row = ROWS / 4 + i * (ROWS / 2 / DAMAGES | 1);
        off_t leaf = leaf_of(file, row);

        flip(file, leaf);
        assert_int_equal(met_by(row, ""), leaf);
        assert_int_equal(met_by(row, "\001"), leaf); /* not there */
        innocent += !met_by((row + FAR) % ROWS, "");
        flip(file, leaf);
        assert_int_equal(met_by(row, ""), 0);
    }
    /* Pages are checked with their neighbours, some of which are branches on
     * the way to any key. */
    assert_true(innocent > DAMAGES / 2);
    close(file);
}

/* More than are looked for at once, and none. */
static void any_number_may_be_told_of(void **state)
{
    struct rn_view keys[200], value;
    char texts[200][KEY];
    struct rn_txn *txn = NULL;

    (void)state;
    open_store();
    assert_int_equal(rn_txn_begin(&local->base, RN_TXN_READ,
                                  (struct rn_lock){ 0 }, &txn, NULL),
                     RN_OK);
    for (unsigned i = 0; i < 200; i++)
        keys[i] = key_of(i * 99, i % 2 ? "" : "x", texts[i]);
    rn_txn_expect(txn, keys, 0);
    rn_txn_expect(txn, keys, 200);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(rn_txn_get(txn, keys[i], &value),
                         i % 2 ? RN_OK : RN_NOT_FOUND);
    rn_txn_abort(txn);
    rn_store_close(&local->base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_leads_to_its_leaf),
        cmocka_unit_test(any_number_may_be_told_of),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
