/* cuts_test.c -- files that are cut or removed under an open store.
 *
 * Goal: promise D7 while the store is open.  Whatever an administrator does to
 * its files, a read is right or RN_CORRUPT and no signal ends the process; and
 * from the next checkpoint on no write is acknowledged that the next start
 * would not find.
 *
 * Method: a store that is stepped by hand, in a forked child for each row of a
 * table.  Its memtables were flushed before, so that reads go to the map.
 */
#include "tracked_store.h"

#include "store/local/local.h"
#include "store/local/maintenance.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { GROUPS = 40, DEADLINE_S = 60 };

#define REMOVED UINT64_MAX
#define REPLACED (UINT64_MAX - 1)

struct cut {
    const char *file; /* NULL: the current segment of the WAL */
    uint64_t to;      /* its length, or one of the two above */
    bool is_harmless;
    struct tracked_report *report;
};

static char work[256];

static struct rn_store_opts store_opts(void)
{
    return (struct rn_store_opts){
        .where = work,
        .map_bytes = 1 << 28,
        .segment_bytes = 1 << 20,
        .wal_bytes = 4 << 20,
        .ahead_bytes = 64 << 10,
        .reserve_bytes = 1 << 20,
        .readers_max = 16,
        .manual = true,
    };
}

static void path_of(const struct cut *c, struct rn_local *l, char out[512])
{
    if (c->file)
        snprintf(out, 512, "%s/%s", work, c->file);
    else
        snprintf(out, 512, "%s/log-%010" PRIu64, work,
                 rn_wal_end(l->wal).segment);
}

static bool harm(const struct cut *c, const char *path)
{
    char aside[600];

    if (c->to == REMOVED)
        return unlink(path) == 0;
    if (c->to != REPLACED)
        return truncate(path, (off_t)c->to) == 0;
    snprintf(aside, sizeof(aside), "cp '%.500s' '%s/copy' && mv '%s/copy' '%s'",
             path, work, work, path);
    return system(aside) == 0;
}

static enum rn_code commit(struct rn_store *s, struct tracked_mind *m,
                           struct tracked_dice *d, struct tracked_report *r,
                           struct rn_err *err)
{
    struct tracked_group group;

    tracked_group_draw(d, m, TRACKED_KEYS, &group);
    return tracked_commit(s, RN_TXN_WRITE, &group, m, r, err);
}

/* A store with GROUPS groups in its map and one in its log. */
static struct rn_store *make(struct tracked_mind *m, struct tracked_dice *d,
                             struct tracked_report *r)
{
    struct rn_store_opts opts = store_opts();
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };
    enum rn_code rc = rn_store_open("local", &opts, &s, &err);

    for (int i = 0; !rc && i < GROUPS; i++)
        rc = commit(s, m, d, r, &err);
    if (!rc)
        rc = rn_local_checkpoint((struct rn_local *)s, &err);
    if (!rc)
        rc = commit(s, m, d, r, &err);
    if (rc)
        tracked_lie(r, "the test itself: %s", err.text);
    return s;
}

/* By the next checkpoint nothing is acknowledged any more. */
static void expect_end(struct rn_store *s, struct tracked_mind *m,
                       struct tracked_dice *d, struct tracked_report *r)
{
    struct rn_err err = { 0 };
    enum rn_code rc;

    (void)!rn_local_checkpoint((struct rn_local *)s, &err);
    rc = commit(s, m, d, r, &err);
    if (rc != RN_READ_ONLY)
        tracked_lie(r, "a write after the checkpoint: %s", rn_code_name(rc));
}

static void live(void *context)
{
    const struct cut *c = context;
    struct tracked_report *r = c->report;
    struct tracked_mind mind = { .count = 1 };
    struct tracked_dice dice = { .state = 1 };
    struct rn_store *s = make(&mind, &dice, r);
    struct rn_store_status status;
    char path[512];

    if (r->lied)
        return;
    path_of(c, (struct rn_local *)s, path);
    if (!harm(c, path))
        tracked_lie(r, "the test itself: %s: %s", path, strerror(errno));
    for (int i = 0; i < 3 && !r->lied; i++)
        tracked_read_all(s, &mind, &dice, r);
    rn_store_status(s, &status);
    if (c->is_harmless && r->corrupt)
        tracked_lie(r, "a read fails");
    if (!c->is_harmless)
        expect_end(s, &mind, &dice, r);
    tracked_read_all(s, &mind, &dice, r);
    rn_store_close(s);
}

static void check(struct cut c)
{
    tracked_dir_new(work, sizeof(work), "cuts");
    c.report = tracked_report_new();
    tracked_fork(live, &c, DEADLINE_S, c.report);
    tracked_dir_remove(work);
    if (c.report->lied)
        fail_msg("%s to %" PRIu64 ": %s", c.file ? c.file : "the log", c.to,
                 c.report->lie);
}

static void a_map_that_is_cut_or_gone_is_noticed(void **state)
{
    static const uint64_t lengths[] = { 0,        4096,    8192,
                                        64 << 10, REMOVED, REPLACED };

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        check((struct cut){ .file = "map-1", .to = lengths[i] });
}

static void a_log_that_is_cut_or_gone_is_noticed(void **state)
{
    static const uint64_t lengths[] = { 0, 4096, 512 << 10, REMOVED, REPLACED };

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        check((struct cut){ .to = lengths[i] });
}

static void sums_that_are_cut_end_nothing_but_reads(void **state)
{
    (void)state;
    check((struct cut){ .file = "map-1-sums", .to = 0 });
    check((struct cut){ .file = "map-1-sums", .to = REMOVED });
}

static void the_table_of_readers_has_no_file(void **state)
{
    (void)state;
    check((struct cut){
        .file = "map-1-lock", .to = REMOVED, .is_harmless = true });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_that_is_cut_or_gone_is_noticed),
        cmocka_unit_test(a_log_that_is_cut_or_gone_is_noticed),
        cmocka_unit_test(sums_that_are_cut_end_nothing_but_reads),
        cmocka_unit_test(the_table_of_readers_has_no_file),
    };

    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
