/* store_replay_test.c -- the WAL, replayed, makes what was committed.
 *
 * A process writes groups drawn from a seed and is gone without closing; this
 * one draws the same into a model, opens the store and compares.  Few keys, so
 * that a key is put, deleted and put again within a WAL; keys that are the
 * beginning of others, or differ by zero bytes, so that the order they are
 * sorted into matters.
 */
#include "store/local/local.h"
#include "store/local/maintenance.h"
#include "store/wal/redo.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { KEYS = 400, KEY_BYTES = 40, VALUE_MAX = 9000, PATH = 64 };

struct model {
    uint64_t prng;
    uint32_t value[KEYS]; /* 1 + its length and place in `bytes`; 0: absent */
};

static char bytes[2 * VALUE_MAX];

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t draw(struct model *m, uint64_t below)
{
    return mix(m->prng += 0x9e3779b97f4a7c15u) % below;
}

/* Key i: i / 20 zero bytes, or letters, behind one of 20 beginnings that differ
 * at every length around that at which comparing changes its way. */
static struct rn_view key_of(unsigned i, char out[KEY_BYTES])
{
    size_t begin = 1 + i % 20, more = i / 20;

    memset(out, 'k', begin);
    memset(out + begin, more % 2 ? 'x' : '\0', more);
    return rn_view_of(out, begin + more);
}

static struct rn_view value_of(uint32_t value)
{
    return rn_view_of(bytes + value % 1000, value - 1);
}

static void write_group(struct rn_store *s, struct model *m, unsigned writes)
{
    struct rn_txn *txn = NULL;
    char key[KEY_BYTES];

    if (s)
        assert_int_equal(
            rn_txn_begin(s, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn, NULL),
            RN_OK);
    while (writes--) {
        unsigned i = (unsigned)draw(m, KEYS);
        bool put = !m->value[i] || draw(m, 3) > 0;

        m->value[i] = put ? 1 + (uint32_t)draw(m, VALUE_MAX) : 0;
        if (s && put)
            assert_int_equal(
                rn_txn_put(txn, key_of(i, key), value_of(m->value[i])), RN_OK);
        else if (s)
            assert_int_equal(rn_txn_del(txn, key_of(i, key)), RN_OK);
    }
    if (s)
        assert_int_equal(rn_txn_commit(txn, NULL), RN_OK);
}

static void expect_model(struct rn_store *s, const struct model *m)
{
    struct rn_txn *txn = NULL;
    struct rn_view value;
    char key[KEY_BYTES];

    assert_int_equal(
        rn_txn_begin(s, RN_TXN_READ, (struct rn_lock){ 0 }, &txn, NULL), RN_OK);
    for (unsigned i = 0; i < KEYS; i++) {
        enum rn_code rc = rn_txn_get(txn, key_of(i, key), &value);
        assert_int_equal(rc, m->value[i] ? RN_OK : RN_NOT_FOUND);
        if (!rc)
            assert_true(rn_view_eq(value, value_of(m->value[i])));
    }
    rn_txn_abort(txn);
}

/* Memory is made ready by a task beside the replay; or not, where there are no
 * tasks, or no thread is to be had for it. */
enum stocking { NO_TASKS, STOCKED, REFUSED, STOCKINGS };

static enum stocking stocking;
static unsigned stockers;

static int start_task(struct rn_env *env, struct rn_task *task)
{
    bool stocks = strcmp(task->name, "stocker") == 0;

    stockers += stocks;
    return stocks && stocking == REFUSED
               ? EAGAIN
               : rn_env_real()->ops->task_start(env, task);
}

static struct rn_store *open_at(const char *dir, enum stocking how)
{
    static struct rn_env_ops ops;
    static struct rn_env env = { &ops };
    struct rn_store_opts opts = { .env = &env,
                                  .where = dir,
                                  .manual = how == NO_TASKS };
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    ops = *rn_env_real()->ops;
    ops.task_start = start_task;
    stocking = how;
    stockers = 0;
    if (rn_store_open("local", &opts, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

/* `groups` groups in a process that dies, then the same in `m` alone. */
static void write_and_die(const char *dir, struct model *m, unsigned groups)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct rn_store *s = open_at(dir, NO_TASKS);
        for (unsigned i = 0; i < groups; i++)
            write_group(s, m, 1 + (unsigned)draw(m, 60));
        _exit(0);
    }
    for (unsigned i = 0; i < groups; i++)
        write_group(NULL, m, 1 + (unsigned)draw(m, 60));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void what_was_committed_is_there_after_a_death(void **state)
{
    char dir[PATH] = "/tmp/runnel-replay-XXXXXX", command[PATH + 16];
    struct model m = { .prng = 1 };

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)mix(i);
    assert_non_null(mkdtemp(dir));
    for (unsigned round = 0; round < 12; round++) {
        struct rn_store_status status;
        struct rn_store *s;
        unsigned groups = 1 + round * round;
        enum stocking how = round % STOCKINGS;

        write_and_die(dir, &m, groups);
        s = open_at(dir, how);
        rn_store_status(s, &status);
        assert_true(status.recovered_records >= groups);
        if (how == NO_TASKS || groups > 30)
            assert_int_equal(stockers > 0, how != NO_TASKS);
        expect_model(s, &m);
        if (how == NO_TASKS)
            assert_int_equal(rn_local_checkpoint((struct rn_local *)s, NULL),
                             RN_OK);
        rn_store_close(s);
    }
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0); // NOLINT: the test's own directory
}

static void what_are_no_writes_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum rn_code rc;
    } rows[] = {
        { "", 0, RN_NOT_FOUND },
        { "\1\0\1\0\2\0\0\0kvv", 11, RN_OK },
        { "\2\0\1\0\0\0\0\0k", 9, RN_OK },
        { "\1\0\1\0\2\0\0\0kvv", 10, RN_CORRUPT },        /* value cut off */
        { "\1\0\1\0\2\0\0\0", 8, RN_CORRUPT },            /* key too */
        { "\1\0\1\0\2\0\0", 7, RN_CORRUPT },              /* header */
        { "\0\0\1\0\2\0\0\0kvv", 11, RN_CORRUPT },        /* no kind */
        { "\3\0\1\0\2\0\0\0kvv", 11, RN_CORRUPT },        /* another */
        { "\1\0\1\0\xff\xff\xff\xffkvv", 11, RN_CORRUPT } /* long value */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rn_view payload = rn_view_of(rows[i].bytes, rows[i].len);
        struct rn_redo write;
        assert_int_equal(rn_redo_next(&payload, &write), rows[i].rc);
    }
}

/* With segments this small; by default one holds twice what a group may. */
static void a_group_that_no_segment_can_hold_is_refused(void **state)
{
    static char large[60000];
    char dir[PATH] = "/tmp/runnel-replay-XXXXXX", command[PATH + 16];
    struct rn_store_opts opts = { .where = dir,
                                  .manual = true,
                                  .segment_bytes = 1 };
    struct rn_view value = { large, sizeof(large) };
    struct rn_store *s = NULL;
    struct rn_txn *txn = NULL;
    struct rn_err err = { 0 };

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(rn_store_open("local", &opts, &s, &err), RN_OK);
    for (int i = 0; i < 2; i++) {
        bool fits = i == 1;
        assert_int_equal(
            rn_txn_begin(s, RN_TXN_WRITE, (struct rn_lock){ 0 }, &txn, &err),
            RN_OK);
        assert_int_equal(rn_txn_put(txn, RN_LIT("a"), RN_LIT("small")), RN_OK);
        if (!fits) {
            assert_int_equal(rn_txn_put(txn, RN_LIT("b"), value), RN_FULL);
            assert_non_null(strstr(rn_txn_why(txn, RN_FULL), "too large"));
            rn_txn_abort(txn);
            continue;
        }
        assert_int_equal(rn_txn_commit(txn, &err), RN_OK);
    }
    rn_store_close(s);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0); // NOLINT: the test's own directory
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_committed_is_there_after_a_death),
        cmocka_unit_test(what_are_no_writes_is_refused),
        cmocka_unit_test(a_group_that_no_segment_can_hold_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
