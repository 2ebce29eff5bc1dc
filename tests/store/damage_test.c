/* damage_test.c -- damaged bytes are harmless or reported, never believed.
 *
 * Goal: promise D7.  Whatever single damage happens to the files of a store, a
 * flipped bit, a page of zeros, two pages in each other's places, an old
 * version of a page, a file cut short, gone, or one too many: the store answers
 * right, or says RN_CORRUPT, or refuses to open and names a file.  It never
 * serves wrong bytes, never denies a record that is there, never crashes or
 * hangs.  rn_verify names every damage to a place that is in use, says nothing
 * of others, and changes nothing.
 *
 * Method: stores are built, with a WAL behind the checkpoint and recycled
 * segments, and kept in memory with earlier versions of their files.  For each
 * number from the seed on, one damage is drawn and done to a copy; a child
 * process verifies it, opens it, reads every key by get and by scans in both
 * directions, writes and deletes, takes a checkpoint, closes, opens and reads
 * again, against a model.  A signal or a deadline missed is a failure.
 *
 * The one exception is known to the model: a damage to the very last record of
 * the WAL looks like a commit that a crash interrupted, and may undo it.
 *
 *     RUNNEL_DAMAGE_COUNT    how many damages
 *     RUNNEL_DAMAGE_SECONDS  stop after so long
 *     RUNNEL_DAMAGE_SEED     first number; one number and COUNT=1 replays one
 */
#include "damage.h"

#include "store/admin/verify.h"
#include "store/local/local.h"
#include "store/local/maintenance.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

enum { SCENES = 4, DEADLINE_S = 60 };

enum outcome { HARMLESS, REPORTED, REFUSED, OUTCOMES };

struct trial {
    const struct store_fixture *fixture;
    const struct damage *damage;
    const char *dir;
    uint64_t seed;
    struct tracked_report *report;
};

static struct store_fixture scenes[SCENES];
static char work[256];

/* ---- one trial ----------------------------------------------------------- */

struct verdict {
    const struct damage *damage;
    bool blamed; /* a file that was damaged */
};

static void note_verdict(void *context, const struct rn_damage *d)
{
    struct verdict *v = context;

    if (strcmp(d->file, v->damage->file[0]) == 0 ||
        strcmp(d->file, v->damage->file[1]) == 0)
        v->blamed = true;
}

static bool is_plain(const struct damage *g)
{
    return g->kind != DAMAGE_OLD_FILE && g->kind != DAMAGE_JUNK &&
           g->kind != DAMAGE_CUT && g->kind != DAMAGE_MISSING &&
           strcmp(g->file[0], "format") != 0;
}

/* True if it finds nothing. */
static bool verify(const struct trial *t)
{
    struct verdict verdict = { .damage = t->damage };
    struct rn_verify_counts counts;
    struct rn_err err = { 0 };
    uint64_t before = t->seed % 8 ? 0 : tracked_tree_hash(t->dir);
    enum rn_code rc =
        rn_verify(rn_env_real(), t->dir, note_verdict, &verdict, &counts, &err);

    if (before && before != tracked_tree_hash(t->dir))
        tracked_lie(t->report, "verify has changed something");
    if (rc && !strstr(err.text, t->dir))
        tracked_lie(t->report, "verify names no file: %s", err.text);
    if (!rc && t->damage->in_use)
        tracked_lie(t->report, "verify finds nothing");
    /* A page and its checksum that do not agree: either may be the old one. */
    if (rc == RN_CORRUPT && !verdict.blamed &&
        t->damage->kind != DAMAGE_OLD_FILE && t->damage->kind != DAMAGE_STALE)
        tracked_lie(t->report, "verify blames another file: %s", err.text);
    if (rc && is_plain(t->damage) && !t->damage->in_use &&
        !t->damage->touches_last)
        tracked_lie(t->report, "verify sees damage where there is none: %s",
                    err.text);
    return !rc;
}

static struct rn_store *open_damaged(const struct trial *t, bool clean)
{
    struct rn_store_opts opts = fixture_opts(t->dir, t->seed % 8 != 1);
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    if (!rn_store_open("local", &opts, &s, &err))
        return s;
    t->report->refused++;
    snprintf(t->report->refusal, sizeof(t->report->refusal), "%s", err.text);
    if (clean)
        tracked_lie(t->report, "verify is content, but open refuses: %s",
                    err.text);
    if (!strstr(err.text, t->dir))
        tracked_lie(t->report, "a refusal that names no file: %s", err.text);
    return NULL;
}

/* True if the outcome of the last one is unknown. */
static bool write_some(const struct trial *t, struct rn_store *s,
                       struct tracked_mind *m, struct tracked_dice *d,
                       bool clean)
{
    for (int i = 0; i < 6 && !t->report->lied; i++) {
        struct tracked_group g;
        struct rn_err err = { 0 };
        enum rn_code rc;

        tracked_group_draw(d, m, TRACKED_KEYS, &g);
        rc = tracked_commit(s, RN_TXN_WRITE, &g, m, t->report, &err);
        if (rc == RN_CORRUPT)
            t->report->corrupt++;
        if (clean && rc)
            tracked_lie(t->report, "verify is content, but a commit fails: %s",
                        err.text);
        if (rc == RN_UNKNOWN)
            return true;
        if (i == 3 && ((struct rn_local *)s)->opts.manual)
            (void)!rn_local_checkpoint((struct rn_local *)s, &err);
    }
    return false;
}

/* One life of the store.  What it shows after a commit of unknown outcome says
 * nothing about the next life. */
static bool live(const struct trial *t, struct tracked_mind *m,
                 struct tracked_dice *d, bool clean)
{
    static struct tracked_mind now;
    struct tracked_report *r = t->report;
    struct rn_store *s;
    bool unknown = false;

    r->phase++;
    s = open_damaged(t, clean);
    if (!s)
        return false;
    r->phase++;
    tracked_read_all(s, m, d, r);
    r->phase++;
    if (!r->lied)
        unknown = write_some(t, s, m, d, clean);
    r->phase++;
    now = *m;
    if (!r->lied)
        tracked_read_all(s, unknown ? &now : m, d, r);
    r->phase++;
    if (clean && r->corrupt)
        tracked_lie(r, "verify is content, but a read is not");
    rn_store_close(s);
    return !r->lied;
}

static void run_trial(void *context)
{
    static struct tracked_mind m;
    const struct trial *t = context;
    struct tracked_dice d = { .state = t->seed ^ 0xd1ce };
    bool clean;

    m = (struct tracked_mind){ .count = 1,
                               .last_version = t->fixture->last_version };
    m.states[0] = t->fixture->final;
    if (t->damage->touches_last)
        m.states[m.count++] = t->fixture->before_last;
    t->report->phase = 1;
    clean = verify(t);
    if (!t->report->lied && live(t, &m, &d, clean))
        live(t, &m, &d, clean);
}

/* ---- all of them --------------------------------------------------------- */

static void print_trial(const struct trial *t, const char *how)
{
    const struct damage *g = t->damage;

    printf("# %s: seed %" PRIu64 ", fixture %s, %s in %s at %" PRIu64
           "..%" PRIu64 " %s %" PRIu64 "%s%s: %s\n",
           how, t->seed, t->fixture->name, damage_names[g->kind], g->file[0],
           g->from[0], g->to[0], g->file[1], g->from[1],
           g->in_use ? ", in use" : "", g->touches_last ? ", last record" : "",
           t->report->lied ? t->report->lie : t->report->refusal);
}

static enum outcome outcome_of(const struct tracked_report *r)
{
    if (r->refused)
        return REFUSED;
    return r->corrupt ? REPORTED : HARMLESS;
}

static void print_table(uint64_t counts[DAMAGE_KINDS][OUTCOMES])
{
    printf("# %-18s %9s %9s %9s\n", "damage", "harmless", "reported",
           "refused");
    for (int k = 0; k < DAMAGE_KINDS; k++) {
        printf("# %-18s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n",
               damage_names[k], counts[k][HARMLESS], counts[k][REPORTED],
               counts[k][REFUSED]);
    }
}

static void no_single_damage_is_believed(void **state)
{
    uint64_t count = tracked_amount("RUNNEL_DAMAGE_COUNT", 1000, 100, 100000);
    uint64_t limit = tracked_amount("RUNNEL_DAMAGE_SECONDS", 60, 60, 7200);
    uint64_t seed = tracked_number("RUNNEL_DAMAGE_SEED", 1, 1), i;
    uint64_t counts[DAMAGE_KINDS][OUTCOMES] = { 0 }, lies = 0, aimed = 0;
    struct tracked_report *report = tracked_report_new();
    double begun = tracked_seconds();

    (void)state;
    for (i = 0; i < count && tracked_seconds() - begun < (double)limit; i++) {
        struct tracked_dice d = { .state = seed + i };
        struct store_fixture *fixture = &scenes[tracked_below(&d, SCENES)];
        struct damage damage;
        struct trial t = { .fixture = fixture,
                           .damage = &damage,
                           .dir = work,
                           .seed = seed + i,
                           .report = report };

        *report = (struct tracked_report){ 0 };
        tracked_tree_store(&fixture->now, work);
        damage_do(fixture, &d, &damage);
        tracked_fork(run_trial, &t, DEADLINE_S, report);
        aimed += damage.in_use;
        counts[damage.kind][outcome_of(report)]++;
        if (report->lied && ++lies <= 20)
            print_trial(&t, "LIE");
        else if (count == 1)
            print_trial(&t, "replayed");
    }
    print_table(counts);
    printf("# %" PRIu64 " damages (%" PRIu64 " of them in use) in %.0f s from "
           "seed %" PRIu64 ": %" PRIu64 " lies\n",
           i, aimed, tracked_seconds() - begun, seed, lies);
    assert_int_equal(lies, 0);
}

static void a_healthy_store_is_verified_as_such(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SCENES; i++) {
        struct rn_verify_counts counts;
        struct rn_err err = { 0 };
        unsigned there = 0;

        tracked_tree_store(&scenes[i].now, work);
        for (unsigned k = 0; k < TRACKED_KEYS; k++)
            there += scenes[i].final.version[k] != 0;
        if (rn_verify(rn_env_real(), work, NULL, NULL, &counts, &err))
            fail_msg("%s: %s", scenes[i].name, err.text);
        printf("# %s: %" PRIu64 " pages, %" PRIu64 " free, %" PRIu64
               " records of %u, %" PRIu64 " in the WAL\n",
               scenes[i].name, counts.pages, counts.free_pages, counts.records,
               there, counts.wal_records);
        if (!scenes[i].last_file[0])
            assert_int_equal(counts.records, there);
    }
}

static int build_all(void **state)
{
    static const struct fixture_plan plans[SCENES] = {
        { "busy", 9, 25, 7, false },
        { "closed", 3, 40, 0, true },
        { "young", 0, 0, 5, false },
        { "grown", 2, 150, 40, false },
    };

    (void)state;
    tracked_dir_new(work, sizeof(work), "damage");
    for (unsigned i = 0; i < SCENES; i++)
        fixture_build(&scenes[i], &plans[i], work, 77 + i);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SCENES; i++)
        fixture_release(&scenes[i]);
    tracked_dir_remove(work);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_healthy_store_is_verified_as_such),
        cmocka_unit_test(no_single_damage_is_believed),
    };

    setvbuf(stdout, NULL, _IOLBF, 0);
    return cmocka_run_group_tests(tests, build_all, remove_all);
}
