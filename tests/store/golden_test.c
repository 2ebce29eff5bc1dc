/* golden_test.c -- a data directory of format 1, as it once was, still opens.
 *
 * Goal: a change of the on-disk format is found here, and not by a user whose
 * directory no longer opens.  And a program that meets a later format
 * than it knows says so and leaves it alone.
 *
 * Method: tests/golden/format-1.tar.gz was written by the first Runnel of this
 * format and is never made anew: a directory in which a process was killed,
 * with records behind its second checkpoint.  It is unpacked, verified, opened,
 * compared record by record with the generator below, written to and opened
 * again.  The generator must not change either.
 *
 *     store_golden_test make DIR     makes such a directory and prints what
 *                                    `runnel dump` must say of it, of which
 *                                    format-N.dump.sha256 is the hash; then
 *     tar --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 \
 *         --numeric-owner -C DIR -cf - . | gzip -9n >format-N.tar.gz
 */
#include "tracked_store.h"

#include "store/admin/backup.h"
#include "store/admin/compact.h"
#include "store/admin/verify.h"
#include "store/local/local.h"
#include "store/local/maintenance.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern char **environ;

enum {
    KEYS = 150,
    GROUPS = 64, /* in the golden directory; the test adds one */
    CHECKPOINT_1 = 28,
    CHECKPOINT_2 = 50,
    CHANGES_MAX = 7,
    VALUE_MAX = 40000,
};

/* ---- the generator ------------------------------------------------------- */

/* The group that wrote a key last; 0: absent. */
struct content {
    unsigned group[KEYS];
};

static char key_bytes[KEYS][RN_KEY_MAX];
static struct rn_view keys[KEYS];

static int by_bytes(const void *a, const void *b)
{
    return rn_view_compare(*(const struct rn_view *)a,
                           *(const struct rn_view *)b);
}

/* Of every third length up to the longest, of all bytes, in order. */
static void make_keys(void)
{
    for (unsigned k = 0; k < KEYS; k++) {
        size_t len = 1 + k * (RN_KEY_MAX - 1) / (KEYS - 1);
        for (size_t i = 0; i < len; i++)
            key_bytes[k][i] = (char)(k * 67 + i * (k % 3));
        keys[k] = rn_view_of(key_bytes[k], len);
    }
    qsort(keys, KEYS, sizeof(keys[0]), by_bytes);
}

/* Around what fits into a page, half of one, and pages of its own. */
static struct rn_view value_of(unsigned k, unsigned group)
{
    static const unsigned lengths[] = {
        0,    1,     3,     17,    100,       700,  1300, 2000,
        2030, 2040,  2048,  3000,  4050,      4072, 4080, 4096,
        8150, 12288, 16000, 20000, VALUE_MAX, 5,    64,
    };
    static char lent[VALUE_MAX];
    unsigned kinds = sizeof(lengths) / sizeof(lengths[0]);
    size_t len = lengths[(k * 5 + group) % kinds];

    for (size_t i = 0; i < len; i++)
        lent[i] = (char)(k + group * (i % 8) + i / 512);
    return rn_view_of(lent, len);
}

static unsigned changes_of(unsigned group)
{
    return 1 + group % CHANGES_MAX;
}

/* The j-th change of a group; deletes if the key is there and the generator
 * says so. */
static unsigned change_of(unsigned group, unsigned j, bool *wants_delete)
{
    *wants_delete = (group + j) % 4 == 0;
    return (group * 11 + j * 29) % KEYS;
}

static void content_apply(struct content *c, unsigned group)
{
    for (unsigned j = 0; j < changes_of(group); j++) {
        bool wants_delete;
        unsigned k = change_of(group, j, &wants_delete);
        c->group[k] = wants_delete && c->group[k] ? 0 : group;
    }
}

/* What the groups 1 to `last` come to. */
static struct content content_after(unsigned last)
{
    struct content c = { 0 };

    for (unsigned group = 1; group <= last; group++)
        content_apply(&c, group);
    return c;
}

/* ---- the store ----------------------------------------------------------- */

static enum rn_code open_store(const char *dir, struct rn_store **out,
                               struct rn_err *err)
{
    struct rn_store_opts opts = {
        .where = dir,
        .map_bytes = 1 << 30,
        .segment_bytes = 256 << 10,
        .wal_bytes = 2 << 20,
        .reserve_bytes = 1 << 20,
        .ahead_bytes = 64 << 10,
        .manual = true,
    };

    return rn_store_open("local", &opts, out, err);
}

static enum rn_code write_group(struct rn_store *s, struct content *c,
                                unsigned group, struct rn_err *err)
{
    struct rn_txn *t = NULL;
    enum rn_code rc =
        rn_txn_begin(s, RN_TXN_WRITE, (struct rn_lock){ 0 }, &t, err);

    for (unsigned j = 0; !rc && j < changes_of(group); j++) {
        bool wants_delete;
        unsigned k = change_of(group, j, &wants_delete);
        bool deletes = wants_delete && c->group[k];

        rc = deletes ? rn_txn_del(t, keys[k])
                     : rn_txn_put(t, keys[k], value_of(k, group));
        c->group[k] = deletes ? 0 : group;
    }
    if (rc) {
        rn_txn_abort(t);
        return rc;
    }
    return rn_txn_commit(t, err);
}

/* ---- the maker ----------------------------------------------------------- */

/* Ends without closing anything, as if killed. */
static _Noreturn void make_store(const char *dir)
{
    struct rn_store *s = NULL;
    struct content c = { 0 };
    struct rn_err err = { 0 };
    bool ready = false;
    enum rn_code rc = open_store(dir, &s, &err);

    for (unsigned group = 1; !rc && group <= GROUPS; group++) {
        struct rn_local *l = (struct rn_local *)s;
        rc = write_group(s, &c, group, &err);
        if (!rc && (group == CHECKPOINT_1 || group == CHECKPOINT_2))
            rc = rn_local_checkpoint(l, &err);
        if (!rc)
            rc = rn_local_prepare(l, &ready, &err);
    }
    if (rc)
        fprintf(stderr, "%s: %s\n", rn_code_name(rc), err.text);
    _exit(rc != RN_OK);
}

static void print_string(struct rn_view v)
{
    for (size_t i = 0; i < v.len; i++) {
        unsigned char b = (unsigned char)v.at[i];
        if (b < ' ' || b > '~')
            printf("\\u00%02x", b);
        else
            printf(b == '"' || b == '\\' ? "\\%c" : "%c", b);
    }
}

static int make(const char *dir)
{
    struct content c = content_after(GROUPS);

    for (unsigned k = 0; k < KEYS; k++) {
        if (!c.group[k])
            continue;
        printf("{\"key\":\"");
        print_string(keys[k]);
        printf("\",\"value\":\"");
        print_string(value_of(k, c.group[k]));
        printf("\"}\n");
    }
    if (fflush(stdout))
        return 1;
    make_store(dir);
}

/* ---- the tests ----------------------------------------------------------- */

static int unpack(void **state)
{
    static char dir[512];
    char tar[] = "tar", from[] = GOLDEN_DIR "/format-1.tar.gz";
    char option[] = "-xzf", into[] = "-C";
    char *arguments[] = { tar, option, from, into, dir, NULL };
    int status = -1;
    pid_t pid;

    tracked_dir_new(dir, sizeof(dir), "golden");
    *state = dir;
    if (posix_spawnp(&pid, "tar", NULL, NULL, arguments, environ))
        return -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status == 0 ? 0 : -1;
}

static int sweep(void **state)
{
    tracked_dir_remove(*state);
    return 0;
}

static void the_golden_directory_is_sound(void **state)
{
    struct rn_verify_counts counts = { 0 };
    struct rn_err err = { 0 };
    uint64_t before = tracked_tree_hash(*state);

    if (rn_verify(rn_env_real(), *state, NULL, NULL, &counts, &err))
        fail_msg("%s", err.text);
    assert_int_equal(counts.wal_records, GROUPS - CHECKPOINT_2);
    assert_true(counts.records > KEYS / 2 && counts.free_pages > 0);
    assert_true(tracked_tree_hash(*state) == before);
}

/* Opens, compares everything with `c` and leaves the store open. */
static struct rn_store *open_and_compare(const char *dir, struct content c)
{
    struct rn_key_interval all = { 0 };
    struct rn_store *s = NULL;
    struct rn_txn *t = NULL;
    struct rn_cursor *cursor = NULL;
    struct rn_err err = { 0 };
    struct rn_view key, value;

    if (open_store(dir, &s, &err))
        fail_msg("%s", err.text);
    assert_int_equal(
        rn_txn_begin(s, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err), RN_OK);
    assert_int_equal(rn_txn_scan(t, &all, &cursor), RN_OK);
    for (unsigned k = 0; k < KEYS; k++) {
        enum rn_code rc = rn_txn_get(t, keys[k], &value);
        assert_int_equal(rc, c.group[k] ? RN_OK : RN_NOT_FOUND);
        if (rc)
            continue;
        assert_true(rn_view_eq(value, value_of(k, c.group[k])));
        assert_int_equal(rn_cursor_next(cursor, &key, &value), RN_OK);
        assert_true(rn_view_eq(key, keys[k]));
        assert_true(rn_view_eq(value, value_of(k, c.group[k])));
    }
    assert_int_equal(rn_cursor_next(cursor, &key, &value), RN_NOT_FOUND);
    rn_cursor_end(cursor);
    rn_txn_abort(t);
    return s;
}

static void its_records_are_as_they_were_written(void **state)
{
    struct rn_store_status status;
    struct rn_store *s = open_and_compare(*state, content_after(GROUPS));

    rn_store_status(s, &status);
    assert_int_equal(status.recovered_records, GROUPS - CHECKPOINT_2);
    rn_store_close(s);
}

static void it_takes_another_group_and_keeps_it(void **state)
{
    struct content c = content_after(GROUPS);
    struct rn_store *s = open_and_compare(*state, c);
    struct rn_err err = { 0 };

    assert_int_equal(write_group(s, &c, GROUPS + 1, &err), RN_OK);
    rn_store_close(s);
    s = open_and_compare(*state, content_after(GROUPS + 1));
    assert_int_equal(rn_local_checkpoint((struct rn_local *)s, &err), RN_OK);
    rn_store_close(s);
    rn_store_close(open_and_compare(*state, content_after(GROUPS + 1)));
}

static void set_format(const char *dir, char digit)
{
    char path[600];
    int fd;

    snprintf(path, sizeof(path), "%s/format", dir);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(
        pwrite(fd, &digit, 1, strlen("runnel data directory\nformat ")), 1);
    close(fd);
}

static void expect_refusal(enum rn_code rc, const struct rn_err *err)
{
    assert_int_equal(rc, RN_FORBIDDEN);
    assert_non_null(strstr(err->text, "/format: "));
    assert_non_null(strstr(err->text, "format 2,"));
}

static void a_later_format_is_refused_and_left_alone(void **state)
{
    struct rn_env *env = rn_env_real();
    struct rn_verify_counts counts = { 0 };
    struct rn_compacted compacted;
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };
    char copy[600];
    uint64_t before;

    snprintf(copy, sizeof(copy), "%s-copy", (char *)*state);
    set_format(*state, '2');
    before = tracked_tree_hash(*state);
    expect_refusal(open_store(*state, &s, &err), &err);
    expect_refusal(rn_verify(env, *state, NULL, NULL, &counts, &err), &err);
    expect_refusal(rn_compact(env, *state, &compacted, &err), &err);
    expect_refusal(rn_backup(env, *state, copy, NULL, &err), &err);
    expect_refusal(rn_restore(env, *state, copy, NULL, &err), &err);
    assert_int_equal(access(copy, F_OK), -1);
    assert_true(tracked_tree_hash(*state) == before);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_golden_directory_is_sound, unpack,
                                        sweep),
        cmocka_unit_test_setup_teardown(its_records_are_as_they_were_written,
                                        unpack, sweep),
        cmocka_unit_test_setup_teardown(it_takes_another_group_and_keeps_it,
                                        unpack, sweep),
        cmocka_unit_test_setup_teardown(
            a_later_format_is_refused_and_left_alone, unpack, sweep),
    };

    make_keys();
    if (argc == 3 && strcmp(argv[1], "make") == 0)
        return make(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
