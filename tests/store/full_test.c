/* full_test.c -- a full disk is an answer, not an accident.
 *
 * Goal: promise D6.  When space runs out, writes answer RN_FULL within a
 * second and change nothing; reads go on; deletes work on the reserve; and
 * writes work again as soon as there is space, without the store being
 * reopened, whether somebody else gives it back or deletes do.  Nothing
 * acknowledged is lost, and nothing else appears.
 *
 * Method: a small file system of our own (tmpfs, and ext4 on a loop device
 * where we may), with a ballast file beside the store that takes and gives
 * space.  Each cycle writes until the store is full, in one of several ways,
 * looks at everything, deletes with RN_TXN_SHRINK, relieves, and writes on;
 * every few cycles the store is opened anew.  Without the right to mount,
 * RLIMIT_FSIZE stands in for the end of the disk.
 *
 *     RUNNEL_FULL_CYCLES, RUNNEL_FULL_SECONDS, RUNNEL_FULL_SEED
 */
#include "loop.h"
#include "tracked_store.h"

#include "store/admin/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    KEYS = 16000,
    VALUE_MAX = 24 << 10,
    GROUP = 8,
    DISK_BYTES = 64 << 20,
    RESERVE = 4 << 20,
    AHEAD = 2 << 20,
    DEADLINE_S = 3600,
    ANSWER_S = 1, /* in which a write must be refused */
    RELIEF_S = 5, /* in which writes must work again */
};

enum disk { TMPFS, EXT4, LIMIT };

struct full {
    enum disk disk;
    uint64_t cycles, seed;
    double until;
    struct tracked_report *report;
    struct tracked_dice dice;
    char mount[256], image[256], dir[300], ballast[300];
    struct rn_store *store;
    uint32_t version[KEYS]; /* 0: absent */
    uint32_t last_version;
    uint64_t live_bytes;
    uint64_t done, refusals, shrinks; /* shown at the end */
    double slowest;
};

static char work[256];

/* ---- the disk ------------------------------------------------------------ */

static uint64_t space(const struct full *f)
{
    struct statvfs st;

    if (statvfs(f->mount, &st) != 0)
        return 0;
    return (uint64_t)st.f_bavail * st.f_frsize;
}

/* Makes the ballast so large that `leave` bytes are left. */
static void take_space(struct full *f, uint64_t leave)
{
    int fd = open(f->ballast, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    uint64_t now = space(f);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 ||
        (now > leave &&
         posix_fallocate(fd, st.st_size, (off_t)(now - leave)) != 0 &&
         leave > 0))
        tracked_lie(f->report, "the test itself: no ballast: %s",
                    strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void give_space(struct full *f)
{
    if (f->disk == LIMIT) {
        struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
        setrlimit(RLIMIT_FSIZE, &none);
    }
    if (truncate(f->ballast, 0) != 0 && errno != ENOENT)
        tracked_lie(f->report, "the test itself: %s", strerror(errno));
}

/* No file may become longer than the map is now and a little. */
static void limit_files(struct full *f)
{
    char path[512];
    struct stat st;
    struct rlimit limit = { .rlim_max = RLIM_INFINITY };

    snprintf(path, sizeof(path), "%s/map-1", f->dir);
    if (stat(path, &st) != 0)
        return;
    limit.rlim_cur = (rlim_t)st.st_size + (2 << 20);
    setrlimit(RLIMIT_FSIZE, &limit);
}

static bool mount_disk(struct full *f)
{
    if (f->disk == LIMIT)
        return true;
    return loop_mount(f->disk == TMPFS ? LOOP_TMPFS : LOOP_EXT4, f->image,
                      f->mount, DISK_BYTES >> 20);
}

/* ---- the model ----------------------------------------------------------- */

static struct rn_view key_of(unsigned i, char out[16])
{
    return rn_view_of(
        out, (size_t)snprintf(out, 16, "doc/%06u", i * 7919 % 1000000));
}

static struct rn_view value_of(unsigned i, uint32_t version)
{
    static uint64_t lent[VALUE_MAX / 8 + 1];
    struct tracked_dice d = { .state = (uint64_t)version << 32 | i };
    size_t len = tracked_below(&d, tracked_below(&d, 4) ? 6000 : VALUE_MAX);
    uint64_t x = tracked_roll(&d) | 1;

    for (size_t k = 0; k < len / 8 + 1; k++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        lent[k] = x;
    }
    return rn_view_of(lent, len);
}

static void check_key(struct full *f, struct rn_txn *t, unsigned i)
{
    struct rn_view value;
    char key[16];
    enum rn_code rc = rn_txn_get(t, key_of(i, key), &value);

    if (rc == RN_NOT_FOUND ? f->version[i] != 0
                           : rc || !f->version[i] ||
                                 !rn_view_eq(value, value_of(i, f->version[i])))
        tracked_lie(f->report, "cycle %" PRIu64 ": key %u, version %u: %s",
                    f->done, i, f->version[i],
                    rc ? rn_txn_why(t, rc) : "another value");
}

static void check_all(struct full *f)
{
    struct rn_txn *t = NULL;
    struct rn_err err = { 0 };

    if (rn_txn_begin(f->store, RN_TXN_READ, (struct rn_lock){ 0 }, &t, &err)) {
        tracked_lie(f->report, "begin(READ): %s", err.text);
        return;
    }
    for (unsigned i = 0; i < KEYS && !f->report->lied; i++)
        check_key(f, t, i);
    rn_txn_abort(t);
}

/* ---- writing ------------------------------------------------------------- */

static void open_store(struct full *f)
{
    struct rn_store_opts opts = {
        .where = f->dir,
        .map_bytes = 1 << 30,
        .segment_bytes = 512 << 10,
        .wal_bytes = 2 << 20,
        .ahead_bytes = AHEAD,
        .reserve_bytes = RESERVE,
        .readers_max = 16,
        .memtable_bytes = 1 << 20,
        .checkpoint_bytes = 2 << 20,
        .checkpoint_ms = 20,
        .throttle_bytes = 1 << 30,
        .busy_ms = 900,
    };
    struct rn_err err = { 0 };

    if (rn_store_open("local", &opts, &f->store, &err)) {
        f->store = NULL;
        tracked_lie(f->report, "open: %s", err.text);
    }
}

/* Writes new versions of `count` keys from `first` on, or deletes them. */
static enum rn_code commit(struct full *f, enum rn_txn_mode mode,
                           unsigned first, unsigned count, bool put,
                           struct rn_err *err)
{
    uint32_t versions[GROUP];
    struct rn_txn *t = NULL;
    double begun = tracked_seconds(), took;
    char key[16];
    enum rn_code rc =
        rn_txn_begin(f->store, mode, (struct rn_lock){ 0 }, &t, err);

    for (unsigned i = 0; !rc && i < count; i++) {
        unsigned k = (first + i) % KEYS;
        versions[i] = put ? ++f->last_version : 0;
        if (put)
            rc = rn_txn_put(t, key_of(k, key), value_of(k, versions[i]));
        else if (f->version[k])
            rc = rn_txn_del(t, key_of(k, key));
        if (rc)
            rn_fail(err, rc, "%s", rn_txn_why(t, rc));
    }
    if (t && rc)
        rn_txn_abort(t);
    else if (!rc)
        rc = rn_txn_commit(t, err);
    for (unsigned i = 0; !rc && i < count; i++)
        f->version[(first + i) % KEYS] = versions[i];
    took = tracked_seconds() - begun;
    if (rc == RN_FULL && took > f->slowest)
        f->slowest = took;
    return rc;
}

/* Only these: the store must not be hurt by a full disk. */
static bool is_full(struct full *f, enum rn_code rc, const struct rn_err *err)
{
    if (rc && rc != RN_FULL && rc != RN_BUSY)
        tracked_lie(f->report, "cycle %" PRIu64 ": %s: %s", f->done,
                    rn_code_name(rc), err->text);
    return rc == RN_FULL;
}

/* Mostly a group that is not there yet, so that there is always more. */
static unsigned draw_group(struct full *f)
{
    unsigned first = (unsigned)tracked_below(&f->dice, KEYS / GROUP) * GROUP;

    for (unsigned i = 0; i < KEYS / GROUP && f->version[first]; i++)
        first = (first + GROUP) % KEYS;
    return first;
}

static void fill(struct full *f)
{
    struct rn_err err = { 0 };
    unsigned busy = 0;
    unsigned most = f->disk == LIMIT ? 200 : 20000;

    for (unsigned n = 0; n < most && !f->report->lied; n++) {
        enum rn_code rc =
            commit(f, RN_TXN_WRITE, draw_group(f), GROUP, true, &err);
        if (is_full(f, rc, &err)) {
            f->refusals++;
            return;
        }
        busy += rc == RN_BUSY;
        if (busy > 20)
            break;
    }
    if (!f->report->lied && f->disk != LIMIT)
        tracked_lie(f->report, "cycle %" PRIu64 ": never full: %s", f->done,
                    err.text);
}

static void stay_full(struct full *f)
{
    struct rn_err err = { 0 };

    for (int i = 0; i < 3 && !f->report->lied; i++) {
        enum rn_code rc =
            commit(f, RN_TXN_WRITE, (unsigned)tracked_below(&f->dice, KEYS),
                   GROUP, true, &err);
        if (!rc)
            return; /* a checkpoint has found room meanwhile */
        if (is_full(f, rc, &err) && !err.text[0])
            tracked_lie(f->report, "full without words");
    }
}

/* Deletes from `first` on until only one key in `keep` is left. */
static void shrink(struct full *f, unsigned keep)
{
    struct rn_err err = { 0 };

    for (unsigned k = 0; k < KEYS && !f->report->lied; k += GROUP) {
        enum rn_code rc;
        double until = tracked_seconds() + RELIEF_S;

        if (k / GROUP % keep == 0)
            continue;
        do
            rc = commit(f, RN_TXN_SHRINK, k, GROUP, false, &err);
        while (rc == RN_BUSY && tracked_seconds() < until);
        if (rc)
            tracked_lie(f->report,
                        "cycle %" PRIu64 ": a delete fails with %s: %s",
                        f->done, rn_code_name(rc), err.text);
        f->shrinks++;
    }
}

static void expect_writes(struct full *f, const char *after)
{
    double until = tracked_seconds() + RELIEF_S;
    struct rn_err err = { 0 };
    enum rn_code rc;

    for (unsigned i = 0; i < 20 && !f->report->lied; i++) {
        do {
            rc =
                commit(f, RN_TXN_WRITE, (unsigned)tracked_below(&f->dice, KEYS),
                       GROUP, true, &err);
        } while (rc && tracked_seconds() < until);
        if (rc)
            tracked_lie(f->report, "cycle %" PRIu64 ": no writes after %s: %s",
                        f->done, after, err.text);
    }
}

/* Of a few megabytes deletes give up too little to write much. */
static bool has_much(struct full *f)
{
    struct rn_store_status status;

    rn_store_status(f->store, &status);
    return status.data_bytes >= 4 * (uint64_t)AHEAD;
}

/* ---- cycles -------------------------------------------------------------- */

static void make_full(struct full *f)
{
    if (f->disk == LIMIT)
        limit_files(f);
    else
        take_space(f, RESERVE + tracked_below(&f->dice, 6 << 20));
    fill(f);
}

static void one_cycle(struct full *f)
{
    bool by_deletes = false;

    make_full(f);
    if (f->disk != LIMIT)
        by_deletes = tracked_below(&f->dice, 2);
    if (!f->report->lied)
        check_all(f);
    if (!f->report->lied)
        stay_full(f);
    if (!by_deletes)
        give_space(f);
    if (!f->report->lied && by_deletes)
        shrink(f, 8);
    if (!f->report->lied && (!by_deletes || has_much(f)))
        expect_writes(f, by_deletes ? "deletes" : "relief");
    give_space(f);
    if (!f->report->lied)
        check_all(f);
    if (!f->report->lied && !by_deletes && tracked_below(&f->dice, 2))
        shrink(f, 3);
}

static void reopen(struct full *f)
{
    struct rn_verify_counts counts;
    struct rn_err err = { 0 };

    rn_store_close(f->store);
    if (rn_verify(rn_env_real(), f->dir, NULL, NULL, &counts, &err))
        tracked_lie(f->report, "cycle %" PRIu64 ": not whole: %s", f->done,
                    err.text);
    open_store(f);
    if (f->store)
        check_all(f);
}

/* The map never gives space back to the disk.  When it has most of that, begin
 * with a new one. */
static void start_over(struct full *f)
{
    rn_store_close(f->store);
    tracked_dir_remove(f->dir);
    memset(f->version, 0, sizeof(f->version));
    open_store(f);
    if (f->store)
        expect_writes(f, "open"); /* something to delete */
}

/* Somebody else takes every last byte; what is reserved in files is all there
 * is. */
static void nothing_left(struct full *f)
{
    struct rn_err err = { 0 };

    take_space(f, 0);
    for (int i = 0; i < 20 && !f->report->lied; i++) {
        is_full(f,
                commit(f, i % 2 ? RN_TXN_WRITE : RN_TXN_SHRINK,
                       (unsigned)tracked_below(&f->dice, KEYS), GROUP, i % 2,
                       &err),
                &err);
    }
    if (!f->report->lied)
        check_all(f);
    give_space(f);
    if (!f->report->lied)
        expect_writes(f, "nothing was left");
}

static void run(void *context)
{
    struct full *f = context;

    signal(SIGXFSZ, SIG_IGN);
    if (!mount_disk(f)) {
        f->report->refused = 1;
        return;
    }
    open_store(f);
    if (f->store)
        expect_writes(f, "open"); /* something to delete */
    while (!f->report->lied && f->done < f->cycles &&
           tracked_seconds() < f->until) {
        one_cycle(f);
        f->done++;
        f->report->phase = (int)f->done;
        if (!f->report->lied && f->disk != LIMIT && f->done % 4 == 0)
            nothing_left(f);
        if (!f->report->lied && f->done % 5 == 0)
            reopen(f);
        if (!f->report->lied && f->disk != LIMIT && space(f) < DISK_BYTES / 4)
            start_over(f);
    }
    if (!f->report->lied) {
        reopen(f);
        rn_store_close(f->store);
    }
    f->report->commits = f->done;
    if (f->slowest > ANSWER_S)
        tracked_lie(f->report, "a refusal took %.1f s", f->slowest);
    printf("# %" PRIu64 " cycles, %" PRIu64 " times full, %" PRIu64
           " groups deleted, slowest refusal %.0f ms, seed %" PRIu64 "\n",
           f->done, f->refusals, f->shrinks, f->slowest * 1e3, f->seed);
    fflush(stdout);
}

static void cycles_on(enum disk disk)
{
    struct full f = {
        .disk = disk,
        .cycles = tracked_amount("RUNNEL_FULL_CYCLES", 20, 6, 500),
        .seed = tracked_number("RUNNEL_FULL_SEED", 1, 1),
        .report = tracked_report_new(),
    };

    f.until = tracked_seconds() +
              (double)tracked_amount("RUNNEL_FULL_SECONDS", 60, 60, 1800);
    f.dice.state = f.seed;
    snprintf(f.mount, sizeof(f.mount), "%s", work);
    snprintf(f.image, sizeof(f.image), "%.200s.img", work);
    snprintf(f.dir, sizeof(f.dir), "%s/data", f.mount);
    snprintf(f.ballast, sizeof(f.ballast), "%s/ballast", f.mount);
    tracked_fork(run, &f, DEADLINE_S, f.report);
    remove(f.image);
    if (f.report->refused && !f.report->lied) {
        printf("# no right to mount it here\n");
        skip();
    }
    if (f.report->lied)
        fail_msg("%s", f.report->lie);
}

static void a_full_tmpfs_is_clean(void **state)
{
    (void)state;
    cycles_on(TMPFS);
}

static void a_full_ext4_is_clean(void **state)
{
    (void)state;
    cycles_on(EXT4);
}

static void a_file_that_may_not_grow_is_clean(void **state)
{
    (void)state;
    cycles_on(LIMIT);
}

static int make_work(void **state)
{
    (void)state;
    tracked_dir_new(work, sizeof(work), "full");
    return 0;
}

static int remove_work(void **state)
{
    char data[300];

    (void)state;
    snprintf(data, sizeof(data), "%s/data", work);
    if (access(data, F_OK) == 0)
        tracked_dir_remove(data); /* where nothing was mounted over it */
    tracked_dir_remove(work);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_tmpfs_is_clean),
        cmocka_unit_test(a_full_ext4_is_clean),
        cmocka_unit_test(a_file_that_may_not_grow_is_clean),
    };

    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, make_work, remove_work);
}
