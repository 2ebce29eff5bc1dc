/* conformance_test.c -- every store keeps the contract of store.h.
 *
 *   store_conformance_test NAME [WHERE]
 *
 * Goal: nothing above the waist can distinguish stores.  Method: drive
 * a store through the waist alone and compare with what the contract says, case
 * by case (order, txn, limits), against a sorted array under random operations
 * (model), and with threads (concurrent).
 *
 * WHERE is what `opts.where` will be.  If it begins with a slash it is a
 * directory: every store opened is given a new one inside, and all are removed
 * at the end.  Otherwise the store is emptied whenever it is opened afresh.
 */
#include "store/conformance.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct test_clock suite_clock;

static const char *name, *where;
static char dir[512], place[600];
static unsigned opened;

/* ---- stores -------------------------------------------------------------- */

bool suite_persists(void)
{
    return strcmp(name, "mem") != 0;
}

struct rn_store *suite_reopen(const struct rn_store_opts *opts)
{
    struct rn_store_opts o = { 0 };
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    if (opts)
        o = *opts;
    if (!o.memtable_bytes)
        o.memtable_bytes = 64 << 10; /* so that rows lie in every place */
    if (!o.env)
        o.env = &suite_clock.env;
    o.where = place;
    if (rn_store_open(name, &o, &s, &err) != RN_OK)
        fail_msg("opening %s at %s: %s", name, place, err.text);
    return s;
}

/* Deletes at most a thousand keys; false if there was none. */
static bool thin_out(struct rn_store *s)
{
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);
    struct rn_view key = { 0 }, value;
    enum rn_code rc = RN_OK;
    int n = 0;

    for (; rc == RN_OK && n < 1000; n++) {
        struct rn_cursor *c = must_scan(t, (struct rn_key_interval){ 0 });
        char copy[RN_KEY_MAX];

        rc = rn_cursor_next(c, &key, &value);
        if (rc == RN_OK)
            key.at = memcpy(copy, key.at, key.len);
        rn_cursor_end(c);
        if (rc == RN_OK)
            must_del(t, key);
    }
    must_commit(t);
    return n > 1;
}

struct rn_store *suite_open(const struct rn_store_opts *opts)
{
    struct rn_store *s;

    if (dir[0]) {
        snprintf(place, sizeof(place), "%s/%u", dir, ++opened);
        assert_int_equal(mkdir(place, 0700), 0);
    } else {
        snprintf(place, sizeof(place), "%s", where ? where : "");
    }
    s = suite_reopen(opts);
    while (!dir[0] && thin_out(s))
        ;
    return s;
}

/* ---- helpers ------------------------------------------------------------- */

void assert_code(enum rn_code got, enum rn_code wanted)
{
    assert_string_equal(rn_code_name(got), rn_code_name(wanted));
}

struct rn_txn *must_begin(struct rn_store *s, enum rn_txn_mode mode)
{
    struct rn_txn *t = NULL;
    struct rn_err err = { 0 };
    enum rn_code rc = rn_txn_begin(s, mode, (struct rn_lock){ 0 }, &t, &err);

    if (rc)
        fail_msg("begin: %s: %s", rn_code_name(rc), err.text);
    assert_non_null(t);
    return t;
}

void must_commit(struct rn_txn *t)
{
    struct rn_err err = { 0 };
    enum rn_code rc = rn_txn_commit(t, &err);

    if (rc)
        fail_msg("commit: %s: %s", rn_code_name(rc), err.text);
}

void must_put(struct rn_txn *t, struct rn_view key, struct rn_view value)
{
    assert_code(rn_txn_put(t, key, value), RN_OK);
}

void must_del(struct rn_txn *t, struct rn_view key)
{
    assert_code(rn_txn_del(t, key), RN_OK);
}

struct rn_cursor *must_scan(struct rn_txn *t, struct rn_key_interval range)
{
    struct rn_cursor *c = NULL;

    assert_code(rn_txn_scan(t, &range, &c), RN_OK);
    assert_non_null(c);
    return c;
}

void must_store(struct rn_store *s, struct rn_view key, struct rn_view value)
{
    struct rn_txn *t = must_begin(s, RN_TXN_WRITE);

    must_put(t, key, value);
    must_commit(t);
}

void assert_view(struct rn_view got, struct rn_view wanted)
{
    assert_int_equal(got.len, wanted.len);
    if (wanted.len)
        assert_memory_equal(got.at, wanted.at, wanted.len);
}

void assert_value(struct rn_txn *t, struct rn_view key, struct rn_view wanted)
{
    struct rn_view got;

    assert_code(rn_txn_get(t, key, &got), RN_OK);
    assert_view(got, wanted);
}

void assert_absent(struct rn_txn *t, struct rn_view key)
{
    struct rn_view got;

    assert_code(rn_txn_get(t, key, &got), RN_NOT_FOUND);
}

/* ---- main ---------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int kind,
                      struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

static const struct chapter *const chapters[] = {
    &chapter_order, &chapter_txn,        &chapter_limits,
    &chapter_model, &chapter_concurrent,
};

enum { CHAPTERS = sizeof(chapters) / sizeof(chapters[0]), TESTS_MAX = 100 };

static int run(void)
{
    static struct CMUnitTest tests[TESTS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < CHAPTERS; i++) {
        for (size_t j = 0; j < chapters[i]->count && count < TESTS_MAX; j++)
            tests[count++] = chapters[i]->tests[j];
    }
    return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}

int main(int argc, char **argv)
{
    int failed;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s NAME [WHERE]\n", argv[0]);
        return 2;
    }
    name = argv[1];
    where = argc > 2 ? argv[2] : NULL;
    test_clock_init(&suite_clock);
    if (where && where[0] == '/') {
        snprintf(dir, sizeof(dir), "%s/conformance.XXXXXX", where);
        if (!mkdtemp(dir)) {
            perror(dir);
            return 2;
        }
    }
    failed = run();
    if (dir[0])
        nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
