/* backup_test.c -- a copy of a store in use is whole, or it is refused.
 *
 * Goal: what rn_backup says yes to can be restored, verified and read, and has
 * every group that was acknowledged before it began, whatever the store does
 * meanwhile: writes, takes checkpoints, is restarted, is compacted.
 *
 * Method: group n puts a few keys that follow from n, so the whole content is
 * known from the number of the last group in it.  The copy reads through an env
 * that does something to the store each time a chunk of the map, or of its
 * checksums, has been read; so each case happens in the middle of a copy, and
 * every time in the same way.  The last case does it with threads and the
 * clock.
 */
#include "lib/clock.h"
#include "tracked_store.h"

#include "base/file.h"
#include "store/admin/backup.h"
#include "store/admin/compact.h"
#include "store/admin/verify.h"
#include "store/integrity/fault_guard.h"
#include "store/local/local.h"
#include "store/local/maintenance.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { KEYS = 900, WRITES = 8, FIRST_GROUPS = 400, PATH = 320, LOG = 8 << 20 };

static struct test_clock store_clock; /* the store's */
static char home[256];
static struct {
    char from[PATH], copy[PATH], restored[PATH];
    struct rn_store *store;
    uint64_t groups;  /* acknowledged */
    uint32_t busy_ms; /* 0: the usual */
} fixture;

/* ---- content ------------------------------------------------------------- */

static uint64_t key_of(uint64_t group, unsigned i)
{
    return (group * 7919 + i * 131) % KEYS;
}

static struct rn_view key_text(uint64_t key, char out[16])
{
    return rn_view_of(out, (size_t)snprintf(out, 16, "k%04" PRIu64, key));
}

/* Long enough for a map of several chunks. */
static struct rn_view value_text(uint64_t group, uint64_t key, char out[8192])
{
    size_t len = 1000 + (group * 31 + key * 17) % 7000;

    memset(out, 'a' + (int)((group + key) % 26), len);
    memcpy(out, &group, sizeof(group));
    return rn_view_of(out, len);
}

static enum rn_code write_next(struct rn_err *err)
{
    static char value[8192];
    uint64_t group = fixture.groups + 1;
    struct rn_txn *t = NULL;
    char key[16];
    enum rn_code rc = rn_txn_begin(fixture.store, RN_TXN_WRITE,
                                   (struct rn_lock){ 0 }, &t, err);

    if (rc)
        return rc;
    for (unsigned i = 0; i < WRITES; i++) {
        uint64_t k = key_of(group, i);
        assert_int_equal(
            rn_txn_put(t, key_text(k, key), value_text(group, k, value)),
            RN_OK);
    }
    assert_int_equal(
        rn_txn_put(t, RN_LIT("n"), rn_view_of(&group, sizeof(group))), RN_OK);
    rc = rn_txn_commit(t, err);
    if (!rc)
        __atomic_store_n(&fixture.groups, group, __ATOMIC_RELEASE);
    return rc;
}

static void write_group(void)
{
    struct rn_err err = { 0 };

    if (write_next(&err))
        fail_msg("%s", err.text);
}

static uint64_t last_to(uint64_t key, uint64_t groups)
{
    for (uint64_t g = groups; g > 0; g--) {
        for (unsigned i = 0; i < WRITES; i++) {
            if (key_of(g, i) == key)
                return g;
        }
    }
    return 0;
}

/* The store at `dir` holds exactly what its groups leave, and at least those
 * up to `least`. */
static void expect_groups(const char *dir, uint64_t least)
{
    struct rn_store_opts opts = { .where = dir, .manual = true };
    static char want[8192];
    struct rn_store *s = NULL;
    struct rn_txn *t = NULL;
    struct rn_err err = { 0 };
    struct rn_view value;
    uint64_t groups;
    char key[16];

    if (rn_store_open("local", &opts, &s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(
        rn_txn_begin(s, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err), RN_OK);
    assert_int_equal(rn_txn_get(t, RN_LIT("n"), &value), RN_OK);
    memcpy(&groups, value.at, sizeof(groups));
    assert_true(groups >= least);
    for (uint64_t k = 0; k < KEYS; k++) {
        uint64_t g = last_to(k, groups);
        enum rn_code rc = rn_txn_get(t, key_text(k, key), &value);
        assert_int_equal(rc, g ? RN_OK : RN_NOT_FOUND);
        if (g)
            assert_true(rn_view_eq(value, value_text(g, k, want)));
    }
    rn_txn_abort(t);
    rn_store_close(s);
}

/* ---- stores -------------------------------------------------------------- */

static void open_store(bool manual)
{
    struct rn_store_opts opts = {
        .env = &store_clock.env,
        .where = fixture.from,
        .manual = manual,
        .segment_bytes = 512 << 10,
        .wal_bytes = LOG,
        .checkpoint_bytes = 1 << 20,
        .checkpoint_ms = 50,
        .reserve_bytes = 1 << 20,
        .ahead_bytes = 1 << 20, /* small: many transactions of the map */
        .busy_ms = fixture.busy_ms,
    };
    struct rn_err err = { 0 };

    if (rn_store_open("local", &opts, &fixture.store, &err))
        fail_msg("%s", err.text);
}

static void checkpoint(void)
{
    struct rn_err err = { 0 };

    if (rn_local_checkpoint((struct rn_local *)fixture.store, &err))
        fail_msg("%s", err.text);
}

static int setup(void **state)
{
    static int number;

    (void)state;
    number++;
    snprintf(fixture.from, PATH, "%s/%d", home, number);
    snprintf(fixture.copy, PATH, "%s/%d.copy", home, number);
    snprintf(fixture.restored, PATH, "%s/%d.restored", home, number);
    fixture.groups = 0;
    fixture.busy_ms = 0;
    open_store(true);
    while (fixture.groups < FIRST_GROUPS)
        write_group();
    checkpoint();
    write_group();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rn_fault_guard_install(); /* cmocka has taken the signals for itself again
                               */
    rn_store_close(fixture.store);
    fixture.store = NULL;
    return 0;
}

/* ---- an env in which things happen --------------------------------------- */

static struct {
    struct rn_env env;
    struct rn_env_ops ops;
    void (*happens)(void);
    unsigned skip; /* chunks, before it does */
    unsigned left; /* how often it may */
    bool busy;
    const char *fixed; /* a directory that cannot be written, or NULL */
} watcher;

static int watch_read(struct rn_file *file, void *out, size_t len,
                      uint64_t offset, size_t *got)
{
    int error = rn_env_real()->ops->pread(file, out, len, offset, got);

    if (len < 1 << 20 || watcher.busy)
        return error;
    if (watcher.skip) {
        watcher.skip--;
    } else if (watcher.left) {
        watcher.busy = true;
        watcher.left--;
        watcher.happens();
        watcher.busy = false;
    }
    return error;
}

static int watch_open(struct rn_env *env, const char *path, enum rn_open how,
                      struct rn_file **out)
{
    const char *fixed = watcher.fixed;
    int error = 0;

    if (fixed && strncmp(path, fixed, strlen(fixed)) == 0 &&
        path[strlen(fixed)] == '/' && how != RN_OPEN_READ)
        error = how == RN_OPEN_WRITE && access(path, F_OK) ? ENOENT : EROFS;
    if (!error)
        error = rn_env_real()->ops->open(rn_env_real(), path, how, out);
    if (!error)
        (*out)->env = env;
    return error;
}

static struct rn_env *env_where(void (*happens)(void), unsigned times)
{
    watcher.env = *rn_env_real();
    watcher.ops = *rn_env_real()->ops;
    watcher.ops.pread = watch_read;
    watcher.ops.open = watch_open;
    watcher.env.ops = &watcher.ops;
    watcher.happens = happens;
    watcher.left = times;
    watcher.skip = 0;
    watcher.busy = false;
    watcher.fixed = NULL;
    return &watcher.env;
}

static void write_some(void)
{
    for (int i = 0; i < 20; i++)
        write_group();
}

static void write_and_checkpoint(void)
{
    write_some();
    checkpoint();
}

/* After which nothing knows of the checkpoint that is being copied, and its
 * pages and its WAL are written over. */
static void restart(void)
{
    write_and_checkpoint();
    rn_store_close(fixture.store);
    open_store(true);
    for (int i = 0; i < 4; i++)
        write_and_checkpoint();
}

static void compact(void)
{
    struct rn_compacted done;
    struct rn_err err = { 0 };

    write_some();
    rn_store_close(fixture.store);
    if (rn_compact(rn_env_real(), fixture.from, &done, &err))
        fail_msg("%s", err.text);
    open_store(true);
    write_and_checkpoint();
}

/* ---- cases --------------------------------------------------------------- */

static void expect_whole(uint64_t least)
{
    struct rn_verify_counts counts;
    struct rn_err err = { 0 };

    if (rn_verify(rn_env_real(), fixture.copy, NULL, NULL, &counts, &err))
        fail_msg("%s", err.text);
    if (rn_restore(rn_env_real(), fixture.copy, fixture.restored, NULL, &err))
        fail_msg("%s", err.text);
    expect_groups(fixture.restored, least);
}

static void copied_while(void (*happens)(void), unsigned times, unsigned skip)
{
    struct rn_env *env = env_where(happens, times);
    uint64_t least = fixture.groups;
    struct rn_err err = { 0 };

    watcher.skip = skip;
    if (rn_backup(env, fixture.from, fixture.copy, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(watcher.left, 0);
    expect_whole(least);
}

static void a_copy_of_a_store_that_is_written_is_whole(void **state)
{
    (void)state;
    copied_while(write_some, 3, 0);
}

static void a_copy_beside_checkpoints_is_whole(void **state)
{
    (void)state;
    copied_while(write_and_checkpoint, 3, 0);
}

/* More than the WAL may hold, once the checksums and the WAL have been read. */
static void write_a_log_full(void)
{
    struct rn_store_status status;
    uint64_t least = fixture.groups + LOG / (WRITES * 1000);

    while (fixture.groups < least)
        write_group();
    rn_store_status(fixture.store, &status);
    assert_true(status.wal_bytes <= LOG);
}

static void a_long_copy_does_not_hold_up_writers(void **state)
{
    (void)state;
    copied_while(write_a_log_full, 1, 1);
}

/* As if the copy were stopped: its maintenance thread has seen it, and waits.
 */
static void stall(void)
{
    write_and_checkpoint();
    test_clock_push_ms(&store_clock, 61000);
    write_a_log_full();
    write_a_log_full();
}

static void a_copy_that_stands_still_does_not_hold_up_writers(void **state)
{
    (void)state;
    copied_while(stall, 1, 0);
}

static void nor_does_one_that_does_so_later(void **state)
{
    struct rn_local *l = (struct rn_local *)fixture.store;

    (void)state;
    copied_while(stall, 1, 1);
    assert_null(l->held);
}

/* In the middle of the checksums, with the WAL to come; in the middle of the
 * map. */
static void a_copy_begins_again_if_the_store_is_restarted(void **state)
{
    (void)state;
    copied_while(restart, 1, 0);
}

static void so_it_does_if_that_happens_later(void **state)
{
    (void)state;
    copied_while(restart, 1, 1);
}

static void a_copy_begins_again_if_the_store_is_compacted(void **state)
{
    (void)state;
    copied_while(compact, 1, 0);
}

static void so_it_does_if_that_happens_later_too(void **state)
{
    (void)state;
    copied_while(compact, 1, 1);
}

static void a_copy_that_cannot_be_whole_is_refused(void **state)
{
    char format[PATH + 16];
    struct rn_err err = { 0 };
    enum rn_code rc;

    (void)state;
    rc = rn_backup(env_where(restart, 1000), fixture.from, fixture.copy, NULL,
                   &err);
    assert_true(rc == RN_CORRUPT || rc == RN_BUSY);
    assert_non_null(strstr(err.text, fixture.from));
    snprintf(format, sizeof(format), "%s/format", fixture.copy);
    assert_int_equal(access(format, F_OK), -1);
}

static void the_keys_are_copied_for_their_owner_only(void **state)
{
    static const char keys[] = "{\"primary\":\"secret\"}";
    struct rn_buf copied = RN_BUF_INIT(4096);
    struct rn_err err = { 0 };
    char path[PATH + 16];
    struct stat st;

    (void)state;
    assert_int_equal(rn_file_replace(rn_env_real(), fixture.from, "keys",
                                     RN_LIT(keys), &err),
                     RN_OK);
    copied_while(write_some, 1, 0);
    snprintf(path, sizeof(path), "%s/keys", fixture.restored);
    assert_int_equal(
        rn_file_read_all(rn_env_real(), path, RN_OPEN_READ, &copied, &err),
        RN_OK);
    assert_true(rn_view_eq(rn_buf_view(&copied), RN_LIT(keys)));
    rn_buf_release(&copied);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
}

/* Enough for pages to be used again. */
static void write_many(void)
{
    for (int i = 0; i < 150; i++)
        write_group();
}

/* What was kept for the copy is let go while the checkpoint thread has the next
 * checkpoint in hands; that one, and those behind it, must not suffer. */
static void a_copy_may_end_beside_a_checkpoint(void **state)
{
    struct rn_local *l = (struct rn_local *)fixture.store;
    struct rn_verify_counts counts;
    struct rn_file *copying = NULL;
    struct rn_err err = { 0 };
    char path[PATH + 16];

    (void)state;
    snprintf(path, sizeof(path), "%s/backup", fixture.from);
    assert_int_equal(rn_file_open(rn_env_real(), path, RN_OPEN_READ, &copying),
                     0);
    assert_int_equal(rn_env_real()->ops->lock(copying, RN_LOCK_SHARED), 0);
    write_and_checkpoint();
    assert_non_null(l->held);
    write_many();
    while (l->checkpoint.step != RN_CHECKPOINT_FLUSH)
        (void)rn_local_maintain(l);
    rn_file_close(copying); /* and with it the lock */
    (void)rn_local_maintain(l);
    assert_null(l->held);
    checkpoint();
    write_many();
    checkpoint();
    rn_store_close(fixture.store);
    fixture.store = NULL;
    if (rn_verify(rn_env_real(), fixture.from, NULL, NULL, &counts, &err))
        fail_msg("%s", err.text);
    expect_groups(fixture.from, fixture.groups);
}

static void *write_on(void *stop)
{
    while (!__atomic_load_n((bool *)stop, __ATOMIC_ACQUIRE))
        write_group();
    return NULL;
}

/* The maintenance thread's own thread, a writer, and three copies one behind
 * the other. */
static void copies_under_load_are_whole(void **state)
{
    bool stop = false;
    pthread_t writer;

    (void)state;
    rn_store_close(fixture.store);
    open_store(false);
    assert_int_equal(pthread_create(&writer, NULL, write_on, &stop), 0);
    for (int i = 0; i < 3; i++) {
        uint64_t least = __atomic_load_n(&fixture.groups, __ATOMIC_ACQUIRE);
        struct rn_err err = { 0 };

        if (rn_backup(rn_env_real(), fixture.from, fixture.copy, NULL, &err))
            fail_msg("%s", err.text);
        expect_whole(least);
        tracked_dir_remove(fixture.copy);
        tracked_dir_remove(fixture.restored);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    pthread_join(writer, NULL);
    assert_true(fixture.groups > FIRST_GROUPS + 1);
}

static void back_up(struct rn_env *env, const char *from, const char *to)
{
    struct rn_err err = { 0 };

    if (rn_backup(env, from, to, NULL, &err))
        fail_msg("%s", err.text);
}

static void find_it_held(void)
{
    struct rn_file *file = NULL;
    char path[PATH + 16];

    snprintf(path, sizeof(path), "%s/backup", fixture.from);
    assert_int_equal(rn_file_open(rn_env_real(), path, RN_OPEN_READ, &file), 0);
    assert_int_equal(rn_env_real()->ops->lock(file, RN_LOCK_EXCLUSIVE), EAGAIN);
    rn_file_close(file);
}

/* A mount may be read-only although the server writes there by another. */
static void a_store_in_use_is_held_where_one_may_only_read(void **state)
{
    struct rn_env *env = env_where(find_it_held, 1);

    (void)state;
    watcher.fixed = fixture.from;
    back_up(env, fixture.from, fixture.copy);
    assert_int_equal(watcher.left, 0);
    expect_whole(fixture.groups);
}

static void
a_copy_that_may_only_be_read_can_be_copied_and_restored(void **state)
{
    struct rn_env *env = env_where(NULL, 0);
    struct rn_err err = { 0 };
    char again[PATH + 16];

    (void)state;
    back_up(env, fixture.from, fixture.copy);
    watcher.fixed = fixture.copy;
    snprintf(again, sizeof(again), "%s.again", fixture.copy);
    back_up(env, fixture.copy, again);
    expect_groups(again, fixture.groups);
    if (rn_restore(env, fixture.copy, fixture.restored, NULL, &err))
        fail_msg("%s", err.text);
    expect_groups(fixture.restored, fixture.groups);
}

static void a_restore_adds_nothing_to_the_copy(void **state)
{
    char path[PATH + 16];

    (void)state;
    back_up(rn_env_real(), fixture.from, fixture.copy);
    expect_whole(fixture.groups);
    snprintf(path, sizeof(path), "%s/backup", fixture.copy);
    assert_int_equal(access(path, F_OK), -1);
}

/* Something else that a copy holds, or does not any more. */
static struct rn_file *hold(const char *name)
{
    struct rn_env *env = rn_env_real();
    struct rn_file *file = NULL;
    char path[PATH + 16];

    snprintf(path, sizeof(path), "%s/%s", fixture.from, name);
    assert_int_equal(rn_file_open(env, path, RN_OPEN_READ, &file), 0);
    while (env->ops->lock(file, RN_LOCK_SHARED))
        ; /* the maintenance thread has it for moments */
    return file;
}

static bool nothing_is_new(void)
{
    struct rn_local *l = (struct rn_local *)fixture.store;
    bool news;

    pthread_mutex_lock(&l->state);
    news = rn_local_has_news(l);
    pthread_mutex_unlock(&l->state);
    return !news;
}

/* With everything in a checkpoint, and so no reason for another one. */
static void a_log_that_a_copy_has_let_fill_up_is_emptied_behind_it(void **state)
{
    struct rn_err err = { 0 };
    struct rn_file *wal;
    bool written = true;

    (void)state;
    rn_store_close(fixture.store);
    fixture.busy_ms = 50;
    open_store(false);
    wal = hold("format");
    while (written || !nothing_is_new())
        written = write_next(&err) == RN_OK;
    rn_file_close(wal);
    for (int i = 0; !written && i < 200; i++)
        written = write_next(&err) == RN_OK;
    assert_true(written);
}

static int begin(void **state)
{
    (void)state;
    test_clock_init(&store_clock);
    tracked_dir_new(home, sizeof(home), "backup");
    return 0;
}

static int end(void **state)
{
    char command[PATH];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", home);
    return system(command); // NOLINT: the test's own directory
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_copy_of_a_store_that_is_written_is_whole),
        CASE(a_copy_beside_checkpoints_is_whole),
        CASE(a_long_copy_does_not_hold_up_writers),
        CASE(a_copy_that_stands_still_does_not_hold_up_writers),
        CASE(nor_does_one_that_does_so_later),
        CASE(a_copy_begins_again_if_the_store_is_restarted),
        CASE(so_it_does_if_that_happens_later),
        CASE(a_copy_begins_again_if_the_store_is_compacted),
        CASE(so_it_does_if_that_happens_later_too),
        CASE(a_copy_that_cannot_be_whole_is_refused),
        CASE(a_store_in_use_is_held_where_one_may_only_read),
        CASE(a_copy_that_may_only_be_read_can_be_copied_and_restored),
        CASE(a_restore_adds_nothing_to_the_copy),
        CASE(the_keys_are_copied_for_their_owner_only),
        CASE(a_copy_may_end_beside_a_checkpoint),
        CASE(copies_under_load_are_whole),
        CASE(a_log_that_a_copy_has_let_fill_up_is_emptied_behind_it),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
