/* disks_test.c -- a full disk, on each file system that is supported.
 *
 * Goal: promises D6 and D7 hold on ext4, xfs, btrfs and tmpfs.  With no free
 * block left a store is read, is opened again after a kill, and has every
 * acknowledged group; it takes writes again when there is space.
 *
 * Method: one process opens a store on a loop device, commits, fills the disk,
 * reads and ends without closing the store; the next opens the same store on
 * the full disk and reads again.  Copy-on-write file systems need a free block
 * to write over one that was written back, so every step begins with sync(2).
 */
#include "loop.h"
#include "tracked_store.h"

#include "store/admin/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    DISK_MIB = 64,
    GROUPS = 60,
    ROUNDS = 2,
    DEADLINE_S = 300,
    RELIEF_S = 30,
};

/* In shared memory: what one process acknowledged, the next must find. */
struct disks {
    enum loop_fs fs;
    struct tracked_report *report;
    struct tracked_mind mind;
    struct tracked_dice dice;
    char mount[256], image[256], dir[300], ballast[300];
};

static char work[256];

/* ---- the disk ------------------------------------------------------------ */

/* Takes every block, by writing: what is only allocated may be given back. */
static void fill(struct disks *d)
{
    static char bytes[64 << 10];
    int fd = open(d->ballast, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    size_t len = sizeof(bytes);

    memset(bytes, 'x', sizeof(bytes));
    while (fd >= 0 && len >= 512) {
        if (write(fd, bytes, len) <= 0 || fdatasync(fd) != 0)
            len /= 2;
    }
    if (fd < 0)
        tracked_lie(d->report, "the test itself: no ballast: %s",
                    strerror(errno));
    if (fd >= 0)
        close(fd);
    sync();
}

static void relieve(struct disks *d)
{
    if (unlink(d->ballast) != 0)
        tracked_lie(d->report, "the test itself: %s", strerror(errno));
    sync();
}

/* ---- the store ----------------------------------------------------------- */

static struct rn_store *open_store(struct disks *d, const char *when)
{
    struct rn_store_opts opts = {
        .where = d->dir,
        .map_bytes = 1 << 30,
        .segment_bytes = 512 << 10,
        .wal_bytes = 2 << 20,
        .ahead_bytes = 2 << 20,
        .reserve_bytes = 4 << 20,
        .readers_max = 16,
        .memtable_bytes = 256 << 10,
        .checkpoint_bytes = 1 << 20,
        .checkpoint_ms = 20,
        .busy_ms = 100,
    };
    struct rn_store *store = NULL;
    struct rn_err err = { 0 };

    if (rn_store_open("local", &opts, &store, &err))
        tracked_lie(d->report, "open %s: %s", when, err.text);
    return store;
}

static enum rn_code commit(struct disks *d, struct rn_store *s,
                           struct rn_err *err)
{
    struct tracked_group group;

    tracked_group_draw(&d->dice, &d->mind, TRACKED_KEYS, &group);
    return tracked_commit(s, RN_TXN_WRITE, &group, &d->mind, d->report, err);
}

static void commit_some(struct disks *d, struct rn_store *s)
{
    double until = tracked_seconds() + RELIEF_S;
    struct rn_err err = { 0 };

    for (unsigned n = 0; n < GROUPS && !d->report->lied;) {
        enum rn_code rc = commit(d, s, &err);
        n += !rc;
        if (rc && tracked_seconds() > until)
            tracked_lie(d->report, "no writes with space: %s", err.text);
    }
}

/* A fault is no answer here: the files are whole. */
static void read_all(struct disks *d, struct rn_store *s, const char *when)
{
    unsigned before = d->report->corrupt;

    tracked_read_all(s, &d->mind, &d->dice, d->report);
    if (d->report->corrupt != before)
        tracked_lie(d->report, "a read fails %s", when);
}

/* ---- lives --------------------------------------------------------------- */

/* A file in the place of the link, as older programs left it. */
static void make_old(struct disks *d)
{
    char path[512];
    int fd;

    snprintf(path, sizeof(path), "%s/map-1-lock", d->dir);
    unlink(path);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, 66048) != 0)
        tracked_lie(d->report, "the test itself: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
}

/* Commits more than a table holds while no checkpoint can be written, so that
 * the map is ahead of its checkpoint. */
static void run_ahead(struct disks *d, struct rn_store *s)
{
    double until = tracked_seconds() + RELIEF_S;
    struct rn_err err = { 0 };
    char path[512];
    enum rn_code rc = RN_OK;

    snprintf(path, sizeof(path), "%s/checkpoint.tmp", d->dir);
    while (mkdir(path, 0700) != 0 && tracked_seconds() < until)
        sched_yield(); /* a checkpoint is being written */
    for (int i = 0; i < GROUPS && !rc; i++)
        rc = commit(d, s, &err); /* until the WAL is full */
    fill(d);
    rmdir(path);
}

static void fill_under_it(void *context)
{
    struct disks *d = context;
    struct rn_store *s = open_store(d, "with space");
    struct rn_err err = { 0 };

    if (!s)
        return;
    commit_some(d, s);
    run_ahead(d, s);
    read_all(d, s, "on the full disk");
    for (int i = 0; i < 20; i++)
        (void)commit(d, s, &err); /* refused, or taken and kept */
    read_all(d, s, "after writes on the full disk");
}

static void read_on(void *context)
{
    struct disks *d = context;
    struct rn_store *s = open_store(d, "on the full disk");

    if (s)
        read_all(d, s, "on the full disk, after a kill");
}

static void write_on(void *context)
{
    struct disks *d = context;
    struct rn_store *s = open_store(d, "with space again");
    struct rn_verify_counts counts;
    struct rn_err err = { 0 };

    if (!s)
        return;
    read_all(d, s, "with space again");
    commit_some(d, s);
    rn_store_close(s);
    if (rn_verify(rn_env_real(), d->dir, NULL, NULL, &counts, &err))
        tracked_lie(d->report, "not whole: %s", err.text);
}

/* In a process of its own, which ends without closing the store. */
static void live(struct disks *d, void (*life)(void *context))
{
    if (d->report->lied)
        return;
    sync();
    tracked_fork(life, d, DEADLINE_S, d->report);
    d->report->phase++;
}

static void run(void *context)
{
    struct disks *d = context;

    if (!loop_mount(d->fs, d->image, d->mount, DISK_MIB)) {
        d->report->refused = 1;
        return;
    }
    for (int i = 0; i < ROUNDS && !d->report->lied; i++) {
        live(d, fill_under_it);
        live(d, read_on);
        live(d, read_on);
        relieve(d);
        live(d, write_on);
        make_old(d);
    }
}

static void lives_on(enum loop_fs fs, const char *name)
{
    struct disks *d = mmap(NULL, sizeof(*d), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(d != MAP_FAILED);
    d->fs = fs;
    d->report = tracked_report_new();
    d->mind.count = 1;
    d->dice.state = 1;
    snprintf(d->mount, sizeof(d->mount), "%s", work);
    snprintf(d->image, sizeof(d->image), "%.200s.img", work);
    snprintf(d->dir, sizeof(d->dir), "%s/data", d->mount);
    snprintf(d->ballast, sizeof(d->ballast), "%s/ballast", d->mount);
    tracked_fork(run, d, DEADLINE_S, d->report);
    remove(d->image);
    if (d->report->refused && !d->report->lied) {
        printf("# SKIPPED: %s cannot be made and mounted here\n", name);
        skip();
    }
    if (d->report->lied)
        fail_msg("%s", d->report->lie);
}

static void a_full_tmpfs_is_read_and_opened(void **state)
{
    (void)state;
    lives_on(LOOP_TMPFS, "tmpfs");
}

static void a_full_ext4_is_read_and_opened(void **state)
{
    (void)state;
    lives_on(LOOP_EXT4, "ext4");
}

static void a_full_xfs_is_read_and_opened(void **state)
{
    (void)state;
    lives_on(LOOP_XFS, "xfs");
}

static void a_full_btrfs_is_read_and_opened(void **state)
{
    (void)state;
    lives_on(LOOP_BTRFS, "btrfs");
}

static int make_work(void **state)
{
    (void)state;
    tracked_dir_new(work, sizeof(work), "disks");
    return 0;
}

static int remove_work(void **state)
{
    (void)state;
    tracked_dir_remove(work);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_tmpfs_is_read_and_opened),
        cmocka_unit_test(a_full_ext4_is_read_and_opened),
        cmocka_unit_test(a_full_xfs_is_read_and_opened),
        cmocka_unit_test(a_full_btrfs_is_read_and_opened),
    };

    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, make_work, remove_work);
}
