/* faults_test.c -- whatever call fails, the store says so and loses nothing.
 *
 * Goal: promises D1, D5 and D6 and the contract of store.h when the machine
 * fails us.  For each call that the store depends on, its own and LMDB's, and
 * each way in which it can fail: fail the n-th call, for n = 1, 2, ... until a
 * run has fewer calls than that.
 *
 * Method: a child creates a store, commits groups with checkpoints between,
 * reads, closes, opens again and goes on, all under the fault.  Nothing may
 * crash, hang or leak; every failure has words; reads go on; after a sync of
 * data has failed, nothing is acknowledged.  Then the fault is over: without
 * being reopened the store must take writes again, unless it says that it is
 * read-only; and opened anew it must know exactly what was acknowledged, be
 * verified as whole, and take writes.
 *
 *     RUNNEL_FAULT_CALLS    the largest n; 0: no limit, which is the default
 *     RUNNEL_FAULT_SECONDS  for all rows together
 *     RUNNEL_FAULT_ROW, RUNNEL_FAULT_NTH   replay one
 */
#include "faults.h"
#include "tracked_store.h"

#include "store/admin/verify.h"
#include "store/local/local.h"
#include "store/local/maintenance.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { DEADLINE_S = 60, GROUPS = 24, EVERY = 6 };

static const struct row {
    struct fault fault;
    bool manual;
    const char *what;
} rows[] = {
    { { FAULT_PWRITE, EIO, false }, true, "EIO" },
    { { FAULT_PWRITE, ENOSPC, false }, true, "ENOSPC" },
    { { FAULT_PWRITE, ENOSPC, true }, true, "ENOSPC from then on" },
    { { FAULT_PWRITE, FAULT_SHORT, false }, true, "short" },
    { { FAULT_PWRITE, EINTR, false }, true, "EINTR" },
    { { FAULT_WRITEV, EIO, false }, true, "EIO" },
    { { FAULT_WRITEV, ENOSPC, true }, true, "ENOSPC from then on" },
    { { FAULT_WRITEV, FAULT_SHORT, false }, true, "short" },
    { { FAULT_WRITEV, EINTR, false }, true, "EINTR" },
    { { FAULT_PREAD, EIO, false }, true, "EIO" },
    { { FAULT_PREAD, FAULT_SHORT, false }, true, "short" },
    { { FAULT_PREAD, EINTR, false }, true, "EINTR" },
    { { FAULT_FDATASYNC, EIO, false }, true, "EIO" },
    { { FAULT_FDATASYNC, EIO, true }, true, "EIO from then on" },
    { { FAULT_FDATASYNC, ENOSPC, false }, true, "ENOSPC" },
    { { FAULT_FDATASYNC, EINTR, false }, true, "EINTR" },
    { { FAULT_FSYNC, EIO, false }, true, "EIO" },
    { { FAULT_FALLOCATE, ENOSPC, false }, true, "ENOSPC" },
    { { FAULT_FALLOCATE, ENOSPC, true }, true, "ENOSPC from then on" },
    { { FAULT_FALLOCATE, EOPNOTSUPP, true }, true, "EOPNOTSUPP" },
    { { FAULT_FALLOCATE, EINTR, false }, true, "EINTR" },
    { { FAULT_OPEN, EMFILE, false }, true, "EMFILE" },
    { { FAULT_OPEN, EACCES, true }, true, "EACCES from then on" },
    { { FAULT_OPEN, EINTR, false }, true, "EINTR" },
    { { FAULT_RENAME, EIO, false }, true, "EIO" },
    { { FAULT_RENAME, ENOSPC, true }, true, "ENOSPC from then on" },
    { { FAULT_MMAP, ENOMEM, false }, true, "ENOMEM" },
    { { FAULT_MMAP, ENOMEM, true }, true, "ENOMEM from then on" },
    { { FAULT_MPROTECT, ENOMEM, false }, true, "ENOMEM" },
    { { FAULT_MALLOC, ENOMEM, false }, true, "NULL" },
    { { FAULT_MALLOC, ENOMEM, true }, true, "NULL from then on" },
    { { FAULT_THREAD, EAGAIN, false }, false, "EAGAIN" },
    { { FAULT_PWRITE, EIO, false }, false, "EIO beside the threads" },
    { { FAULT_FDATASYNC, EIO, false }, false, "EIO beside the threads" },
    { { FAULT_MALLOC, ENOMEM, false }, false, "NULL beside the threads" },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

struct run {
    const struct row *row;
    uint64_t nth;
    struct tracked_report *report;
    const char *dir;
};

static char work[256];

/* ---- one run ------------------------------------------------------------- */

static struct rn_store *open_store(const struct run *run, struct rn_err *err)
{
    struct rn_store_opts opts = {
        .where = run->dir,
        .map_bytes = 1 << 28,
        .segment_bytes = 128 << 10,
        .wal_bytes = 512 << 10,
        .ahead_bytes = 64 << 10,
        .reserve_bytes = 1 << 20,
        .readers_max = 16,
        .memtable_bytes = 16 << 10,
        .checkpoint_bytes = 256 << 10,
        .busy_ms = 3000,
        .manual = run->row->manual,
    };
    struct rn_store *s = NULL;

    if (rn_store_open("local", &opts, &s, err))
        return NULL;
    fault_forget_lost_data(); /* whatever was lost, it was read from disk */
    return s;
}

/* What a commit may fail with when calls fail. */
static bool is_allowed(enum rn_code rc)
{
    return rc == RN_OK || rc == RN_IO || rc == RN_FULL || rc == RN_NOMEM ||
           rc == RN_UNKNOWN || rc == RN_READ_ONLY || rc == RN_BUSY;
}

/* A sync that fails in the maintenance thread's thread is known there first;
 * until the store knows, commits go on, each by a sync of its own. */
static void await_read_only(struct rn_store *s)
{
    double until = tracked_seconds() + 5;
    struct rn_store_status status;

    do {
        rn_store_status(s, &status);
    } while (!status.read_only && tracked_seconds() < until);
}

static enum rn_code one_group(const struct run *run, struct rn_store *s,
                              struct tracked_mind *m, struct tracked_dice *d)
{
    bool lost = fault_has_lost_data();
    struct rn_err err = { 0 };
    struct tracked_group g;
    enum rn_code rc;

    if (lost && !run->row->manual)
        await_read_only(s);
    tracked_group_draw(d, m, TRACKED_KEYS_SHORT, &g);
    rc = tracked_commit(s, RN_TXN_WRITE, &g, m, run->report, &err);
    if (rc && !err.text[0])
        tracked_lie(run->report, "a commit fails without words: %s",
                    rn_code_name(rc));
    if (!is_allowed(rc))
        tracked_lie(run->report, "a commit fails with %s: %s", rn_code_name(rc),
                    err.text);
    if (!rc && lost)
        tracked_lie(run->report, "acknowledged after a failed sync");
    return rc;
}

/* Commits groups; true if the outcome of one is unknown. */
static bool work_on(const struct run *run, struct rn_store *s,
                    struct tracked_mind *m, struct tracked_dice *d,
                    unsigned groups)
{
    struct rn_err err = { 0 };

    for (unsigned i = 1; i <= groups && !run->report->lied; i++) {
        enum rn_code rc = one_group(run, s, m, d);
        if (rc == RN_UNKNOWN) {
            rc = one_group(run, s, m, d);
            if (!rc || rc == RN_UNKNOWN)
                tracked_lie(run->report, "writes go on after RN_UNKNOWN");
            return true;
        }
        if (i % EVERY == 0 && run->row->manual)
            (void)!rn_local_checkpoint((struct rn_local *)s, &err);
    }
    return false;
}

/* The fault has passed; a store that is not read-only must work. */
static void expect_relief(const struct run *run, struct rn_store *s,
                          struct tracked_mind *m, struct tracked_dice *d)
{
    struct rn_store_status status;
    double until = tracked_seconds() + 5;
    enum rn_code rc;

    rn_store_status(s, &status);
    if (status.read_only && !status.reason[0])
        tracked_lie(run->report, "read-only without a reason");
    if (status.read_only)
        return;
    do {
        rc = one_group(run, s, m, d);
        rn_store_status(s, &status);
    } while (rc && !status.read_only && !run->report->lied &&
             tracked_seconds() < until);
    if (rc && !status.read_only)
        tracked_lie(run->report, "no writes after the fault: %s",
                    rn_code_name(rc));
}

/* One life under the fault.  `last`: it ends before the store is closed. */
static void live(const struct run *run, struct tracked_mind *m,
                 struct tracked_dice *d, unsigned groups, bool last)
{
    static struct tracked_mind now;
    struct rn_err err = { 0 };
    struct rn_store *s = open_store(run, &err);
    bool unknown;

    run->report->phase++;
    if (!s) {
        run->report->refused++;
        if (!err.text[0])
            tracked_lie(run->report, "open fails without words");
        return;
    }
    tracked_read_all(s, m, d, run->report);
    unknown = work_on(run, s, m, d, groups);
    run->report->phase++;
    now = *m;
    if (!run->report->lied)
        tracked_read_all(s, unknown ? &now : m, d, run->report);
    run->report->phase++;
    if (last) {
        fault_disarm();
        if (!run->report->lied && !unknown)
            expect_relief(run, s, m, d);
        now = *m;
        if (!run->report->lied)
            tracked_read_all(s, &now, d, run->report);
    }
    run->report->phase++;
    rn_store_close(s);
}

/* Everything that was acknowledged is there, and all is whole. */
static void look_back(const struct run *run, struct tracked_mind *m,
                      struct tracked_dice *d)
{
    struct rn_verify_counts counts;
    struct rn_err err = { 0 };
    struct rn_store *s;

    run->report->phase++;
    if (rn_verify(rn_env_real(), run->dir, NULL, NULL, &counts, &err) &&
        err.code != RN_NOT_FOUND)
        tracked_lie(run->report, "not whole: %s", err.text);
    run->report->phase++;
    s = open_store(run, &err);
    if (!s) {
        tracked_lie(run->report, "cannot be opened: %s", err.text);
        return;
    }
    run->report->phase++;
    tracked_read_all(s, m, d, run->report);
    if (!run->report->lied && work_on(run, s, m, d, 3))
        tracked_lie(run->report, "no writes after being opened");
    if (!run->report->lied)
        tracked_read_all(s, m, d, run->report);
    rn_store_close(s);
}

static unsigned open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

#if defined(__SANITIZE_ADDRESS__)
int __lsan_do_recoverable_leak_check(void);
#endif

static void run_one(void *context)
{
    static struct tracked_mind m;
    const struct run *run = context;
    struct tracked_dice d = { .state = run->nth };
    unsigned files = open_files();

    m = (struct tracked_mind){ .count = 1 };
    tracked_in_order(0); /* makes the keys before anything can fail */
    fault_arm(&run->row->fault, run->nth);
    live(run, &m, &d, GROUPS, false);
    if (!run->report->lied)
        live(run, &m, &d, GROUPS / 3, true);
    fault_disarm();
    run->report->fired = fault_has_fired();
    if (run->report->corrupt && run->row->fault.call != FAULT_PREAD &&
        run->row->fault.call != FAULT_MPROTECT)
        tracked_lie(run->report, "damage was reported, but there is none");
    if (!run->report->lied)
        look_back(run, &m, &d);
    if (!run->report->lied && open_files() != files)
        tracked_lie(run->report, "%u files are open, %u were", open_files(),
                    files);
#if defined(__SANITIZE_ADDRESS__)
    if (!run->report->lied && __lsan_do_recoverable_leak_check())
        tracked_lie(run->report, "memory leaks");
#endif
}

/* ---- all of them --------------------------------------------------------- */

static uint64_t run_row(const struct row *row, uint64_t from, uint64_t to,
                        double until, uint64_t *lies)
{
    struct tracked_report *report = tracked_report_new();
    struct run run = { .row = row, .report = report, .dir = work };
    uint64_t n = from, refused = 0, runs = 0;

    do {
        struct tracked_tree nothing = { 0 };
        tracked_tree_store(&nothing, work);
        *report = (struct tracked_report){ 0 };
        run.nth = n;
        tracked_fork(run_one, &run, DEADLINE_S, report);
        runs++;
        refused += report->refused > 0;
        if (report->lied && ++*lies <= 40) {
            printf("# LIE: row %zu, %s %s, nth %" PRIu64 ": phase %d: %s\n",
                   (size_t)(row - rows), fault_names[row->fault.call],
                   row->what, n, report->phase, report->lie);
        }
    } while (report->fired && n++ < to && tracked_seconds() < until);
    printf("# %-14s %-20s %5" PRIu64 " runs%s, %" PRIu64 " refused\n",
           fault_names[row->fault.call], row->what, runs,
           report->fired ? "" : " (all)", refused);
    return runs;
}

static void a_failed_call_is_reported_and_loses_nothing(void **state)
{
    uint64_t calls = tracked_number("RUNNEL_FAULT_CALLS", 0, 12);
    uint64_t limit = tracked_amount("RUNNEL_FAULT_SECONDS", 120, 120, 3600);
    uint64_t row = tracked_number("RUNNEL_FAULT_ROW", ROWS, ROWS);
    uint64_t nth = tracked_number("RUNNEL_FAULT_NTH", 0, 0);
    double begun = tracked_seconds(), until = begun + (double)limit;
    uint64_t lies = 0, runs = 0;

    (void)state;
    if (!calls)
        calls = UINT64_MAX - 1;
    for (size_t i = 0; i < ROWS; i++) {
        if (row < ROWS && row != i)
            continue;
        /* A sanitizer cannot start a thread without memory. */
        if (tracked_is_sanitized() && !rows[i].manual &&
            rows[i].fault.call == FAULT_MALLOC)
            continue;
        runs +=
            run_row(&rows[i], nth ? nth : 1, nth ? nth : calls, until, &lies);
    }
    printf("# %" PRIu64 " runs in %.0f s: %" PRIu64 " lies\n", runs,
           tracked_seconds() - begun, lies);
    assert_int_equal(lies, 0);
}

static int make_work(void **state)
{
    (void)state;
    tracked_dir_new(work, sizeof(work), "faults");
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
        cmocka_unit_test(a_failed_call_is_reported_and_loses_nothing),
    };

    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, make_work, remove_work);
}
