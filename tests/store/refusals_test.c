/* refusals_test.c -- what is not ours, or not whole, is refused and left alone.
 *
 * Goal: promises D7 and D8 at the door.  A directory that is damaged, somebody
 * else's, newer than this program, in use, or out of reach is refused with one
 * line that names the file and says what is the matter, and not a byte in it
 * is changed; in somebody else's directory nothing is created.
 *
 * Method: one healthy store, kept in memory.  For each row of a table it is
 * laid out, spoiled in one way, opened and verified; code and words must be
 * the row's, and a hash over all names and bytes must be the same before and
 * after.
 */
#include "tracked_store.h"

#include "base/bytes.h"
#include "store/admin/verify.h"
#include "store/local/local.h"
#include "store/local/maintenance.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PAGE = 4096, SEGMENT = 128 << 10, GROUPS = 60, NOBODY = 65534 };

static struct tracked_tree healthy;
static struct tracked_mind known = { .count = 1 }; /* of what is in it */
static struct rn_wal_place durable, end;
static char work[256];

/* ---- the healthy store --------------------------------------------------- */

static struct rn_store_opts store_opts(void)
{
    return (struct rn_store_opts){
        .where = work,
        .map_bytes = 1 << 28,
        .segment_bytes = SEGMENT,
        .wal_bytes = 512 << 10,
        .ahead_bytes = 64 << 10,
        .reserve_bytes = 1 << 20,
        .readers_max = 16,
        .manual = true,
    };
}

static enum rn_code try_open(struct rn_store **out, struct rn_err *err)
{
    struct rn_store_opts opts = store_opts();

    return rn_store_open("local", &opts, out, err);
}

/* Three segments behind the checkpoint, and one that stands ready. */
static int build(void **state)
{
    struct tracked_dice d = { .state = 5 };
    struct tracked_report r = { 0 };
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };
    struct rn_local *l;
    bool ready = false;

    (void)state;
    tracked_dir_new(work, sizeof(work), "refusals");
    assert_int_equal(try_open(&s, &err), RN_OK);
    l = (struct rn_local *)s;
    for (unsigned i = 0; i < GROUPS || end.segment < durable.segment + 2; i++) {
        struct tracked_group g;
        tracked_group_draw(&d, &known, TRACKED_KEYS, &g);
        assert_int_equal(tracked_commit(s, RN_TXN_WRITE, &g, &known, &r, &err),
                         RN_OK);
        if (i == GROUPS / 2)
            assert_int_equal(rn_local_checkpoint(l, &err), RN_OK);
        durable = l->durable;
        end = rn_wal_end(l->wal);
    }
    assert_int_equal(rn_local_prepare(l, &ready, &err), RN_OK);
    assert_true(ready);
    tracked_tree_load(&healthy, work);
    rn_store_close(s);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tracked_tree_release(&healthy);
    tracked_dir_remove(work);
    return 0;
}

/* ---- ways to spoil it ---------------------------------------------------- */

static const char *segment(uint64_t number)
{
    static char name[32];

    snprintf(name, sizeof(name), "log-%010" PRIu64, number);
    return name;
}

static void path_to(const char *name, char out[512])
{
    snprintf(out, 512, "%s/%s", work, name);
}

static void put(const char *name, const char *bytes, size_t len)
{
    char path[512];
    FILE *f;

    path_to(name, path);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static void lose(const char *name)
{
    char path[512];

    path_to(name, path);
    assert_int_equal(remove(path), 0);
}

static void cut(const char *name, uint64_t len)
{
    char path[512];

    path_to(name, path);
    assert_int_equal(truncate(path, (off_t)len), 0);
}

static void flip(const char *name, uint64_t at)
{
    struct tracked_file *f = tracked_tree_find(&healthy, name);
    char path[512], byte;
    int fd;

    assert_non_null(f);
    assert_true(at < f->len);
    byte = (char)(f->at[at] ^ 4);
    path_to(name, path);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

static void leave_only(const char *name, const char *text)
{
    struct tracked_tree nothing = { 0 };

    tracked_tree_store(&nothing, work);
    put(name, text, strlen(text));
}

static void foreign(void)
{
    leave_only("holiday.jpg", "not a database");
}

static void foreign_map(void)
{
    leave_only("map-1", "of somebody's garden");
}

static void format_lost(void)
{
    lose("format");
}

static void format_flipped(void)
{
    flip("format", 40);
}

static void format_cut(void)
{
    cut("format", 30);
}

static void format_empty(void)
{
    cut("format", 0);
}

static void format_other(void)
{
    static const char text[] = "date,clear,pure\n";

    put("format", text, sizeof(text) - 1);
}

static void format_newer(void)
{
    static const char text[] =
        "runnel data directory\nformat 2\nmore to come\n";

    put("format", text, sizeof(text) - 1);
}

static void checkpoint_flipped(void)
{
    flip("checkpoint", 100);
}

static void checkpoint_cut(void)
{
    cut("checkpoint", 4096);
}

static void checkpoint_lost(void)
{
    lose("checkpoint");
}

static void checkpoint_is_a_directory(void)
{
    char path[512];

    lose("checkpoint");
    path_to("checkpoint", path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void map_lost(void)
{
    lose("map-1");
}

static void map_cut(void)
{
    cut("map-1", UINT64_C(2) * PAGE);
}

static void map_is_a_link(void)
{
    char path[512];

    lose("map-1");
    path_to("map-1", path);
    assert_int_equal(symlink("/dev/zero", path), 0);
}

/* Of its pages near the start, each that has a checksum. */
static void map_flipped(void)
{
    for (uint64_t page = 2; page < 16; page++)
        flip("map-1", page * PAGE + 20);
}

static void checksums_lost(void)
{
    lose("map-1-sums");
}

static void checksums_cut(void)
{
    cut("map-1-sums", 0);
}

static void log_first_lost(void)
{
    lose(segment(durable.segment));
}

static void log_last_lost(void)
{
    lose(segment(end.segment));
}

static void log_ready_lost(void)
{
    lose(segment(end.segment + 1));
}

static void log_cut(void)
{
    cut(segment(end.segment), end.offset);
}

static void log_cut_by_a_byte(void)
{
    cut(segment(durable.segment), SEGMENT - 1);
}

static void log_flipped(void)
{
    flip(segment(durable.segment), durable.offset + 50);
}

/* ---- the table ----------------------------------------------------------- */

static const struct row {
    const char *name;
    void (*spoil)(void);
    const char *file; /* that the words must name; NULL: the directory */
    const char *words;
    enum rn_code code;
    bool verify_names_it; /* RN_CORRUPT from rn_verify as well */
} rows[] = {
    /* clang-format off */
    { "somebody's pictures", foreign, NULL, "not a Runnel data directory", RN_BAD_REQUEST, false },
    { "a name that we use too", foreign_map, NULL, "not a Runnel data directory", RN_BAD_REQUEST, false },
    { "no format", format_lost, NULL, "not a Runnel data directory", RN_BAD_REQUEST, false },
    { "a bit of the format", format_flipped, "format", "damaged", RN_CORRUPT, true },
    { "half a format", format_cut, "format", "damaged", RN_CORRUPT, true },
    { "an empty format", format_empty, "format", "damaged", RN_CORRUPT, true },
    { "another format", format_other, "format", "damaged", RN_CORRUPT, true },
    { "a later format", format_newer, "format", "later Runnel (format 2, this program knows 1)", RN_FORBIDDEN, false },
    { "a bit of the checkpoint", checkpoint_flipped, "checkpoint", "damaged", RN_CORRUPT, true },
    { "half a checkpoint", checkpoint_cut, "checkpoint", "damaged", RN_CORRUPT, true },
    { "no checkpoint", checkpoint_lost, "checkpoint", "missing", RN_CORRUPT, true },
    { "a directory for a checkpoint", checkpoint_is_a_directory, "checkpoint", "Is a directory", RN_IO, false },
    { "no map", map_lost, "map-1", "missing", RN_CORRUPT, true },
    { "a short map", map_cut, "map-1", "cut short", RN_CORRUPT, true },
    { "a link for a map", map_is_a_link, "map-1", "symbolic links", RN_IO, false },
    { "bits of the map", map_flipped, "map-1", "damaged at offset", RN_CORRUPT, true },
    { "no checksums", checksums_lost, "map-1-sums", "missing", RN_CORRUPT, true },
    { "empty checksums", checksums_cut, "map-1-sums", "cut short", RN_CORRUPT, true },
    { "no first segment", log_first_lost, "log-", "missing", RN_CORRUPT, true },
    { "no last segment", log_last_lost, "log-", "missing", RN_CORRUPT, true },
    { "no ready segment", log_ready_lost, "log-", "missing", RN_CORRUPT, true },
    { "a segment cut behind its records", log_cut, "log-", "cut short", RN_CORRUPT, true },
    { "a segment short of a byte", log_cut_by_a_byte, "log-", "cut short", RN_CORRUPT, true },
    { "a bit of a record", log_flipped, "log-", "damaged at offset", RN_CORRUPT, true },
    /* clang-format on */
};

static void check_words(const char *name, const struct rn_err *err,
                        const char *file, const char *words)
{
    char wanted[512];

    snprintf(wanted, sizeof(wanted), "%s%s%s", work, file ? "/" : "",
             file ? file : "");
    printf("# %-34s %s\n", name, err->text + strlen(work));
    if (!strstr(err->text, wanted) || !strstr(err->text, words) ||
        strchr(err->text, '\n'))
        fail_msg("%s: '%s' should name '%s' and say '%s'", name, err->text,
                 wanted, words);
}

static void what_is_not_whole_or_not_ours_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct rn_verify_counts counts;
        struct rn_store *s = NULL;
        struct rn_err err = { 0 };
        enum rn_code rc;
        uint64_t hash;

        tracked_tree_store(&healthy, work);
        row->spoil();
        hash = tracked_tree_hash(work);
        rc = try_open(&s, &err);
        if (rc != row->code)
            fail_msg("%s: %s: %s", row->name, rn_code_name(rc), err.text);
        check_words(row->name, &err, row->file, row->words);
        rc = rn_verify(rn_env_real(), work, NULL, NULL, &counts, &err);
        if (row->verify_names_it ? rc != RN_CORRUPT || !counts.damages : !rc)
            fail_msg("%s: verify: %s: %s", row->name, rn_code_name(rc),
                     err.text);
        if (hash != tracked_tree_hash(work))
            fail_msg("%s: something was changed", row->name);
    }
}

static void what_was_refused_opens_when_it_is_whole_again(void **state)
{
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    (void)state;
    tracked_tree_store(&healthy, work);
    if (try_open(&s, &err))
        fail_msg("%s", err.text);
    rn_store_close(s);
}

/* ---- the door ------------------------------------------------------------ */

static void a_directory_in_use_is_refused(void **state)
{
    struct rn_verify_counts counts;
    struct rn_store *first = NULL, *second = NULL;
    struct rn_err err = { 0 };
    char holder[64];

    (void)state;
    snprintf(holder, sizeof(holder), "in use, held by process %d", getpid());
    tracked_tree_store(&healthy, work);
    assert_int_equal(try_open(&first, &err), RN_OK);
    assert_int_equal(try_open(&second, &err), RN_BUSY);
    check_words("in use", &err, "lock", holder);
    assert_int_equal(rn_verify(rn_env_real(), work, NULL, NULL, &counts, &err),
                     RN_BUSY);
    check_words("in use, to verify", &err, "lock", holder);
    rn_store_close(first);
    assert_int_equal(try_open(&first, &err), RN_OK);
    rn_store_close(first);
}

/* Some take `lock` for what a crash has left behind. */
static void a_directory_whose_lock_was_removed_is_in_use_still(void **state)
{
    struct rn_store *first = NULL, *second = NULL;
    struct rn_err err = { 0 };

    (void)state;
    tracked_tree_store(&healthy, work);
    assert_int_equal(try_open(&first, &err), RN_OK);
    lose("lock");
    assert_int_equal(try_open(&second, &err), RN_BUSY);
    check_words("in use, without a lock", &err, "map-1", "in use");
    rn_store_close(first);
    assert_int_equal(try_open(&first, &err), RN_OK);
    rn_store_close(first);
}

/* Holders of the shared lock leave no id; the id in the file is of an earlier
 * exclusive holder. */
static void a_process_that_only_looks_is_not_named(void **state)
{
    struct rn_file *file = NULL;
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    (void)state;
    tracked_tree_store(&healthy, work);
    assert_int_equal(try_open(&s, &err), RN_OK);
    rn_store_close(s);
    assert_int_equal(
        rn_directory_lock(rn_env_real(), work, RN_LOCK_SHARED, &file, &err),
        RN_OK);
    assert_int_equal(try_open(&s, &err), RN_BUSY);
    check_words("looked at", &err, "lock", "in use by another process");
    rn_file_close(file);
    assert_int_equal(try_open(&s, &err), RN_OK);
    rn_store_close(s);
}

static void what_is_not_there_is_not_made_if_it_must_exist(void **state)
{
    struct rn_store_opts opts = store_opts();
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };
    struct tracked_tree nothing = { 0 };
    char absent[300];

    (void)state;
    tracked_tree_store(&nothing, work);
    snprintf(absent, sizeof(absent), "%s/absent", work);
    opts.must_exist = true;
    opts.where = absent;
    assert_int_equal(rn_store_open("local", &opts, &s, &err), RN_NOT_FOUND);
    assert_int_equal(access(absent, F_OK), -1);
    opts.where = work;
    assert_int_equal(rn_store_open("local", &opts, &s, &err), RN_NOT_FOUND);
    check_words("empty", &err, NULL, "no data directory");
    assert_int_equal(tracked_tree_hash(work), 0);
}

static void check_seed(const char *text)
{
    char path[300], found[64] = "";
    FILE *f;

    snprintf(path, sizeof(path), "%s/seed", work);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(found, 1, sizeof(found) - 1, f), strlen(text));
    fclose(f);
    assert_string_equal(found, text);
}

/* What an attempt before it has left of the seed does not count. */
static void a_new_directory_has_its_seed_and_keeps_it(void **state)
{
    struct rn_store_opts opts = store_opts();
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    (void)state;
    leave_only("lock", "");
    opts.seed_name = "seed";
    opts.seed = RN_LIT("the first");
    assert_int_equal(rn_store_open("local", &opts, &s, &err), RN_OK);
    rn_store_close(s);
    lose("checkpoint");
    put("seed", "half of an ea", 13);
    assert_int_equal(rn_store_open("local", &opts, &s, &err), RN_OK);
    rn_store_close(s);
    check_seed("the first");
    opts.seed = RN_LIT("the second");
    assert_int_equal(rn_store_open("local", &opts, &s, &err), RN_OK);
    rn_store_close(s);
    check_seed("the first");
}

static void a_file_is_no_directory(void **state)
{
    struct rn_store_opts opts = store_opts();
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };
    char file[300];

    (void)state;
    leave_only("thing", "text");
    snprintf(file, sizeof(file), "%s/thing", work);
    opts.where = file;
    assert_int_equal(rn_store_open("local", &opts, &s, &err), RN_IO);
    check_words("a file", &err, "thing", "Not a directory");
}

/* In a child: what it does to itself it must not do to the other tests. */
struct visit {
    void (*prepare)(struct tracked_report *r);
    enum rn_code code;
    const char *words;
    bool may_verify;
    struct tracked_report *report;
};

static void visit(void *context)
{
    const struct visit *v = context;
    struct rn_verify_counts counts;
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };
    enum rn_code rc;

    v->prepare(v->report);
    if (v->report->refused)
        return; /* nothing of the sort can be had here */
    rc = try_open(&s, &err);
    snprintf(v->report->refusal, sizeof(v->report->refusal), "%s", err.text);
    if (rc != v->code || !strstr(err.text, v->words) || !strstr(err.text, work))
        tracked_lie(v->report, "%s: %s", rn_code_name(rc), err.text);
    rc = rn_verify(rn_env_real(), work, NULL, NULL, &counts, &err);
    if (v->may_verify && rc)
        tracked_lie(v->report, "verify: %s", err.text);
}

static void become_nobody(struct tracked_report *r)
{
    if (geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        r->refused = 1;
}

static void mount_read_only(struct tracked_report *r)
{
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(work, work, NULL, MS_BIND, NULL) != 0 ||
        mount("none", work, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
        r->refused = 1;
}

/* `mode` is the directory's during the visit. */
static void check_visit(const char *name, struct visit *v, mode_t mode)
{
    uint64_t hash = tracked_tree_hash(work);

    assert_int_equal(chmod(work, mode), 0);
    v->report = tracked_report_new();
    tracked_fork(visit, v, 30, v->report);
    assert_int_equal(chmod(work, 0700), 0);
    if (v->report->lied)
        fail_msg("%s: %s", name, v->report->lie);
    if (hash != tracked_tree_hash(work))
        fail_msg("%s: something was changed", name);
    if (v->report->refused)
        skip();
    printf("# %-34s %s\n", name, v->report->refusal + strlen(work));
}

static void a_directory_out_of_reach_is_refused(void **state)
{
    struct visit v = { become_nobody, RN_FORBIDDEN, "Permission denied", false,
                       NULL };

    (void)state;
    tracked_tree_store(&healthy, work);
    check_visit("out of reach", &v, 0);
}

static void a_directory_to_look_at_only_is_refused(void **state)
{
    struct visit v = { become_nobody, RN_FORBIDDEN, "Permission denied", true,
                       NULL };

    (void)state;
    tracked_tree_store(&healthy, work);
    for (unsigned i = 0; i < healthy.count; i++) {
        char path[512];
        path_to(healthy.files[i].name, path);
        assert_int_equal(chmod(path, 0444), 0);
    }
    check_visit("to look at only", &v, 0555);
}

static void a_read_only_file_system_is_refused_but_can_be_verified(void **state)
{
    struct visit v = { mount_read_only, RN_FORBIDDEN, "Read-only file system",
                       true, NULL };

    (void)state;
    tracked_tree_store(&healthy, work);
    check_visit("read-only file system", &v, 0700);
}

/* ---- while it is open ---------------------------------------------------- */

static enum rn_code commit_one(struct rn_store *s, struct tracked_mind *m,
                               struct rn_err *err)
{
    struct tracked_dice d = { .state = 7 };
    struct tracked_report r = { 0 };
    struct tracked_group g;

    tracked_group_draw(&d, m, TRACKED_KEYS, &g);
    return tracked_commit(s, RN_TXN_WRITE, &g, m, &r, err);
}

static void check_moved(char *moved, struct tracked_mind *m)
{
    struct rn_store_opts opts = store_opts();
    struct tracked_dice d = { .state = 9 };
    struct tracked_report r = { 0 };
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    opts.where = moved;
    if (rn_store_open("local", &opts, &s, &err))
        fail_msg("%s", err.text);
    tracked_read_all(s, m, &d, &r);
    rn_store_close(s);
    if (r.lied)
        fail_msg("%s", r.lie);
}

/* As when an operator puts a copy in the place of a store that is still served.
 * Returns what that has in it. */
static uint64_t put_another(char moved[300])
{
    snprintf(moved, 300, "%s-moved", work);
    assert_int_equal(rename(work, moved), 0);
    tracked_tree_store(&healthy, work);
    return tracked_tree_hash(work);
}

/* The store that was moved was refused; the other is untouched. */
static void end_moved(struct rn_store *s, char *moved, struct tracked_mind *m,
                      const struct rn_err *err, uint64_t hash)
{
    check_words("moved", err, NULL, "moved, removed or replaced");
    rn_store_close(s);
    assert_int_equal(tracked_tree_hash(work), hash);
    check_moved(moved, m);
    tracked_dir_remove(moved);
}

static void a_directory_that_was_moved_gives_way_to_another(void **state)
{
    struct tracked_mind m = known;
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };
    char moved[300];
    uint64_t hash;

    (void)state;
    tracked_tree_store(&healthy, work);
    assert_int_equal(try_open(&s, &err), RN_OK);
    assert_int_equal(commit_one(s, &m, &err), RN_OK);
    hash = put_another(moved);
    assert_int_equal(rn_local_maintain(s), RN_TASK_IDLE);
    assert_int_equal(commit_one(s, &m, &err), RN_READ_ONLY);
    end_moved(s, moved, &m, &err, hash);
}

/* One that had begun before stops short of its name. */
static void a_checkpoint_does_not_go_to_another_directory(void **state)
{
    struct rn_store *s = NULL;
    struct rn_local *l;
    struct rn_err err = { 0 };
    char moved[300];
    uint64_t hash;

    (void)state;
    tracked_tree_store(&healthy, work);
    assert_int_equal(try_open(&s, &err), RN_OK);
    l = (struct rn_local *)s;
    assert_int_equal(rn_local_checkpoint_begin(l, &err), RN_OK);
    hash = put_another(moved);
    assert_int_equal(rn_local_checkpoint(l, &err), RN_READ_ONLY);
    end_moved(s, moved, &known, &err, hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_whole_or_not_ours_is_refused),
        cmocka_unit_test(what_was_refused_opens_when_it_is_whole_again),
        cmocka_unit_test(a_directory_in_use_is_refused),
        cmocka_unit_test(a_directory_whose_lock_was_removed_is_in_use_still),
        cmocka_unit_test(a_process_that_only_looks_is_not_named),
        cmocka_unit_test(what_is_not_there_is_not_made_if_it_must_exist),
        cmocka_unit_test(a_new_directory_has_its_seed_and_keeps_it),
        cmocka_unit_test(a_file_is_no_directory),
        cmocka_unit_test(a_directory_out_of_reach_is_refused),
        cmocka_unit_test(a_directory_to_look_at_only_is_refused),
        cmocka_unit_test(
            a_read_only_file_system_is_refused_but_can_be_verified),
        cmocka_unit_test(a_directory_that_was_moved_gives_way_to_another),
        cmocka_unit_test(a_checkpoint_does_not_go_to_another_directory),
    };

    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, build, tear_down);
}
