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
 * Method: stores are built, with a log behind the checkpoint and recycled
 * segments, and kept in memory with earlier versions of their files.  For each
 * number from the seed on, one damage is drawn and done to a copy; a child
 * process verifies it, opens it, reads every key by get and by scans in both
 * directions, writes and deletes, takes a checkpoint, closes, opens and reads
 * again, against a model.  A signal or a deadline missed is a failure.
 *
 * The one exception is known to the model: a damage to the very last record of
 * the log looks like a commit that a crash interrupted, and may undo it.
 *
 *     RUNNEL_DAMAGE_COUNT    how many damages
 *     RUNNEL_DAMAGE_SECONDS  stop after so long
 *     RUNNEL_DAMAGE_SEED     first number; one number and COUNT=1 replays one
 */
#include "lab.h"

#include "base/bytes.h"
#include "store/image.h"
#include "store/local.h"
#include "store/sums.h"
#include "store/verify.h"

#include <assert.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    PAGE = 4096,
    OLD_MAX = 6,
    SCENES = 4,
    DEADLINE_S = 60,
    JUNK_BYTES = 9000,
    EXTENTS = 4096,
    LOG_MARK = 24,
};

enum kind { BIT, ZERO, SWAP, STALE, OLD_FILE, CUT, MISSING, JUNK, KINDS };
static const char *const kind_names[KINDS] = {
    "bit flipped",       "4 KiB zeroed", "4 KiB swapped", "4 KiB of old",
    "whole file of old", "cut short",    "missing",       "junk file",
};

enum outcome { HARMLESS, REPORTED, REFUSED, OUTCOMES };

struct scene {
    const char *name;
    struct lab_tree now, old[OLD_MAX];
    unsigned olds;
    struct lab_state final, before_last;
    uint32_t last_version;
    /* The last record of the log, if the checkpoint does not have it. */
    char last_file[LAB_NAME];
    uint64_t last_from, last_to;
    /* What recovery reads and would miss. */
    struct extent {
        const struct lab_file *file;
        uint64_t from, to;
    } used[EXTENTS];
    unsigned uses;
};

struct damage {
    enum kind kind;
    char file[2][LAB_NAME]; /* the second only of a swap */
    uint64_t from[2], to[2];
    bool touches_last, in_use, nothing;
};

struct trial {
    const struct scene *scene;
    const struct damage *damage;
    const char *dir;
    uint64_t seed;
    struct lab_report *report;
};

static struct scene scenes[SCENES];
static char work[256];

/* ---- scenes -------------------------------------------------------------- */

static struct rn_store_opts store_opts(const char *dir, bool manual)
{
    return (struct rn_store_opts){
        .where = dir,
        .map_bytes = 1 << 30,
        .segment_bytes = 256 << 10,
        .log_bytes = 1 << 20,
        .ahead_bytes = 256 << 10,
        .reserve_bytes = 1 << 20,
        .readers_max = 16,
        .manual = manual,
    };
}

static struct rn_store *open_or_die(const char *dir, bool manual)
{
    struct rn_store_opts opts = store_opts(dir, manual);
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    if (rn_store_open("local", &opts, &s, &err))
        fail_msg("%s", err.text);
    return s;
}

static void checkpoint_or_die(struct rn_store *s)
{
    struct rn_err err = { 0 };

    if (rn_local_checkpoint((struct rn_local *)s, &err))
        fail_msg("%s", err.text);
}

static void write_groups(struct rn_store *s, struct lab_mind *m,
                         struct lab_dice *d, unsigned groups)
{
    struct lab_report r = { 0 };
    struct rn_err err = { 0 };

    for (unsigned i = 0; i < groups; i++) {
        struct lab_group g;
        enum rn_code rc;
        lab_group_draw(d, m, LAB_KEYS, &g);
        rc = lab_commit(s, RN_TXN_WRITE, &g, m, &r, &err);
        if (rc || r.lied)
            fail_msg("%s %s", err.text, r.lie);
    }
}

/* One more group, of which it is noted where in the log it went. */
static void write_last(struct scene *scene, struct rn_store *s,
                       struct lab_mind *m, struct lab_dice *d)
{
    struct rn_wal *log = ((struct rn_local *)s)->log;
    struct rn_wal_place before = rn_wal_end(log), after = before;

    while (after.seq == before.seq) {
        scene->before_last = m->states[0];
        write_groups(s, m, d, 1);
        after = rn_wal_end(log);
    }
    snprintf(scene->last_file, LAB_NAME, "log-%010" PRIu64, after.segment);
    scene->last_from = after.segment == before.segment ? before.offset : 0;
    scene->last_to = after.offset;
}

static void mark_used(struct scene *s, const char *name, uint64_t from,
                      uint64_t to)
{
    struct lab_file *f = lab_tree_find(&s->now, name);

    assert_non_null(f);
    assert_true(s->uses < EXTENTS);
    s->used[s->uses++] = (struct extent){ .file = f,
                                          .from = from,
                                          .to = to < f->len ? to : f->len };
}

struct marker {
    struct scene *scene;
    const struct lab_file *map;
};

static const char *marker_read(void *context, unsigned buffer, uint64_t number,
                               uint64_t count)
{
    struct marker *m = context;

    (void)buffer;
    assert_true((number + count) * PAGE <= m->map->len);
    return m->map->at + number * PAGE;
}

static bool marker_reach(void *context, uint64_t number, uint64_t count)
{
    struct marker *m = context;

    mark_used(m->scene, m->map->name, number * PAGE, (number + count) * PAGE);
    return true;
}

static void marker_bad(void *context, uint64_t number, const char *what)
{
    (void)context;
    fail_msg("page %" PRIu64 " of a healthy map: %s", number, what);
}

static void mark_map(struct scene *s, const struct rn_image *image)
{
    struct marker m = { .scene = s, .map = lab_tree_find(&s->now, "map-1") };
    struct rn_page_walk walk = {
        .context = &m,
        .page_bytes = PAGE,
        .last = image->meta.last,
        .read = marker_read,
        .reach = marker_reach,
        .bad = marker_bad,
    };
    struct lab_file *sums = lab_tree_find(&s->now, "map-1-sums");
    uint64_t blocks = rn_get_u64(image->homes.at);

    rn_page_walk(&walk, &image->meta);
    assert_non_null(sums);
    for (uint64_t b = 0; b < blocks; b++) {
        uint64_t home = image->homes.at[8 + b / 8] >> b % 8 & 1;
        mark_used(s, sums->name, (2 * b + home) * PAGE,
                  (2 * b + home + 1) * PAGE);
    }
}

static bool is_last(const struct scene *s, const struct lab_file *f,
                    uint64_t offset)
{
    return strcmp(s->last_file, f->name) == 0 && s->last_from == offset;
}

/* True if segment `n`, which is `f`, says that the next one is there. */
static bool announces(const struct lab_file *f, uint64_t n)
{
    const char *mark = f->at + f->len - RN_WAL_MARKS;

    return memcmp(mark + 8, "RNLN", 4) == 0 && rn_get_u64(mark + 16) == n;
}

/* The records after the checkpoint, all but the last, and the marks. */
static void mark_log(struct scene *s, struct rn_wal_place from,
                     struct rn_wal_place end)
{
    const struct lab_file *f = NULL;
    uint64_t seq = from.seq;

    for (uint64_t n = from.segment;
         n <= end.segment || (f && announces(f, n - 1)); n++) {
        uint64_t at = n == from.segment ? from.offset : 0;
        char name[LAB_NAME];

        snprintf(name, sizeof(name), "log-%010" PRIu64, n);
        f = lab_tree_find(&s->now, name);
        assert_non_null(f);
        mark_used(s, name, f->len - PAGE, f->len - PAGE + LOG_MARK);
        while (at + RN_WAL_HEADER + RN_WAL_MARKS <= f->len &&
               rn_get_u64(f->at + at + 16) == seq + 1) {
            uint64_t len = RN_WAL_HEADER + rn_get_u32(f->at + at + 12);
            if (!is_last(s, f, at))
                mark_used(s, name, at, at + len);
            at += (len + PAGE - 1) / PAGE * PAGE;
            seq++;
        }
    }
    assert_int_equal(seq, end.seq);
}

static void mark_all(struct scene *s, struct rn_local *l)
{
    struct rn_image image;

    assert_true(rn_image_decode(rn_buf_view(&l->checkpoint.image), &image));
    mark_map(s, &image);
    mark_log(s, l->durable, rn_wal_end(l->log));
    mark_used(s, "checkpoint", 0, UINT64_MAX);
    mark_used(s, "format", 0, UINT64_MAX);
}

/* What a scene is made of. */
struct plan {
    const char *name;
    unsigned rounds, groups; /* groups, then a checkpoint; so many times */
    unsigned tail;           /* groups after the last checkpoint */
    bool closed;             /* and opened again to look */
};

static void build(struct scene *scene, const struct plan *plan, uint64_t seed)
{
    struct lab_dice d = { .state = seed };
    static struct lab_mind m;
    struct rn_store *s;

    m = (struct lab_mind){ .count = 1 };
    scene->name = plan->name;
    lab_dir_remove(work);
    s = open_or_die(work, true);
    for (unsigned i = 0; i < plan->rounds; i++) {
        write_groups(s, &m, &d, plan->groups);
        checkpoint_or_die(s);
        if (i + OLD_MAX >= plan->rounds)
            lab_tree_load(&scene->old[scene->olds++], work);
    }
    write_groups(s, &m, &d, plan->tail);
    if (plan->tail)
        write_last(scene, s, &m, &d);
    if (plan->closed) {
        rn_store_close(s);
        s = open_or_die(work, true);
    }
    lab_tree_load(&scene->now, work);
    scene->final = m.states[0];
    scene->last_version = m.last_version;
    mark_all(scene, (struct rn_local *)s);
    rn_store_close(s);
}

/* ---- damages ------------------------------------------------------------- */

static const struct {
    const char *prefix;
    unsigned weight;
} classes[] = {
    { "map-1", 40 }, { "log-", 25 }, { "map-1-sums", 12 }, { "checkpoint", 8 },
    { "format", 5 }, { "lock", 1 },  { "backup", 1 },      { "map-1-lock", 3 },
};

static struct lab_file *draw_file(struct scene *s, struct lab_dice *d)
{
    for (;;) {
        uint64_t roll = lab_below(d, 95);
        size_t c = 0;
        struct lab_file *f;

        while (roll >= classes[c].weight)
            roll -= classes[c++].weight;
        if (strcmp(classes[c].prefix, "log-") != 0)
            return lab_tree_find(&s->now, classes[c].prefix);
        f = &s->now.files[lab_below(d, s->now.count)];
        if (strncmp(f->name, "log-", 4) == 0)
            return f;
    }
}

/* Half of the time something in use, and half of that its first bytes. */
static uint64_t draw_offset(struct scene *s, const struct lab_file *f,
                            struct lab_dice *d)
{
    uint64_t at = lab_below(d, f->len);

    if (lab_below(d, 2))
        return at;
    for (int i = 0; i < 100; i++) {
        const struct extent *e = &s->used[lab_below(d, s->uses)];
        uint64_t len = e->to - e->from;
        if (e->file != f)
            continue;
        if (len > 64 && lab_below(d, 2))
            len = 64;
        return e->from + lab_below(d, len);
    }
    return at;
}

static void put_bytes(const char *name, uint64_t at, const char *bytes,
                      size_t len)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", work, name);
    f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static void note(struct damage *out, int which, const struct lab_file *f,
                 uint64_t from, uint64_t to)
{
    snprintf(out->file[which], LAB_NAME, "%s", f->name);
    out->from[which] = from;
    out->to[which] = to;
}

static size_t page_at(const struct lab_file *f, uint64_t page)
{
    uint64_t rest = f->len - page * PAGE;

    return rest < PAGE ? (size_t)rest : PAGE;
}

static bool flip_bit(struct scene *s, struct lab_dice *d, struct damage *out)
{
    struct lab_file *f = draw_file(s, d);
    uint64_t at;
    char byte;

    if (!f->len)
        return false;
    at = draw_offset(s, f, d);
    byte = (char)(f->at[at] ^ 1 << lab_below(d, 8));
    note(out, 0, f, at, at + 1);
    put_bytes(f->name, at, &byte, 1);
    return true;
}

static bool zero_page(struct scene *s, struct lab_dice *d, struct damage *out)
{
    static const char zeros[PAGE];
    struct lab_file *f = draw_file(s, d);
    uint64_t page;
    size_t len;

    if (!f->len)
        return false;
    page = draw_offset(s, f, d) / PAGE;
    len = page_at(f, page);
    if (memcmp(f->at + page * PAGE, zeros, len) == 0)
        return false;
    note(out, 0, f, page * PAGE, page * PAGE + len);
    put_bytes(f->name, page * PAGE, zeros, len);
    return true;
}

static bool swap_pages(struct scene *s, struct lab_dice *d, struct damage *out)
{
    struct lab_file *f = draw_file(s, d), *g = f;
    uint64_t a, b;

    if (lab_below(d, 3) == 0)
        g = draw_file(s, d);
    if (f->len < PAGE || g->len < PAGE)
        return false;
    a = draw_offset(s, f, d) / PAGE;
    b = draw_offset(s, g, d) / PAGE;
    if (page_at(f, a) < PAGE || page_at(g, b) < PAGE ||
        memcmp(f->at + a * PAGE, g->at + b * PAGE, PAGE) == 0)
        return false;
    note(out, 0, f, a * PAGE, a * PAGE + PAGE);
    note(out, 1, g, b * PAGE, b * PAGE + PAGE);
    put_bytes(f->name, a * PAGE, g->at + b * PAGE, PAGE);
    put_bytes(g->name, b * PAGE, f->at + a * PAGE, PAGE);
    return true;
}

static bool old_page(struct scene *s, struct lab_dice *d, struct damage *out)
{
    struct lab_file *f = draw_file(s, d), *old;
    uint64_t page;
    size_t len;

    if (!s->olds || !f->len)
        return false;
    old = lab_tree_find(&s->old[lab_below(d, s->olds)], f->name);
    page = draw_offset(s, f, d) / PAGE;
    len = page_at(f, page);
    if (!old || old->len < page * PAGE + len ||
        memcmp(f->at + page * PAGE, old->at + page * PAGE, len) == 0)
        return false;
    note(out, 0, f, page * PAGE, page * PAGE + len);
    put_bytes(f->name, page * PAGE, old->at + page * PAGE, len);
    return true;
}

static void replace(const char *name, const char *bytes, size_t len)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", work, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static bool old_file(struct scene *s, struct lab_dice *d, struct damage *out)
{
    static const char *const names[] = { "checkpoint", "map-1", "map-1-sums" };
    struct lab_file *f = lab_tree_find(&s->now, names[lab_below(d, 3)]), *old;

    if (!s->olds)
        return false;
    old = lab_tree_find(&s->old[lab_below(d, s->olds)], f->name);
    if (!old || (old->len == f->len && !memcmp(old->at, f->at, f->len)))
        return false;
    note(out, 0, f, 0, 0); /* which of it counts is hard to say */
    replace(f->name, old->at, old->len);
    return true;
}

static bool cut_file(struct scene *s, struct lab_dice *d, struct damage *out)
{
    struct lab_file *f = draw_file(s, d);
    uint64_t to;

    if (!f->len)
        return false;
    to = lab_below(d, f->len);
    if (lab_below(d, 2))
        to = to / PAGE * PAGE;
    if (lab_below(d, 8) == 0)
        to = f->len - 1;
    note(out, 0, f, to, f->len);
    replace(f->name, f->at, (size_t)to);
    return true;
}

static bool lose_file(struct scene *s, struct lab_dice *d, struct damage *out)
{
    struct lab_file *f = draw_file(s, d);
    char path[512];

    note(out, 0, f, 0, f->len);
    snprintf(path, sizeof(path), "%s/%s", work, f->name);
    assert_int_equal(remove(path), 0);
    return true;
}

static bool add_junk(struct scene *s, struct lab_dice *d, struct damage *out)
{
    static const char *const names[] = {
        "checkpoint.tmp", "format.tmp",     "core",           "map-2",
        "map-2-sums",     "log-0000000000", "log-0000099999", "log-99",
        "log-+000000001", "map-1.old",      "lost+found",     "log-0000000001",
    };
    const char *name = names[lab_below(d, sizeof(names) / sizeof(names[0]))];
    char junk[JUNK_BYTES];

    if (lab_tree_find(&s->now, name))
        return false;
    for (size_t i = 0; i < sizeof(junk); i++)
        junk[i] = (char)lab_roll(d);
    snprintf(out->file[0], LAB_NAME, "%s", name);
    replace(name, junk, lab_below(d, JUNK_BYTES));
    return true;
}

static bool overlaps(const struct damage *g, int i, const char *file,
                     uint64_t from, uint64_t to)
{
    return strcmp(g->file[i], file) == 0 && g->from[i] < to && from < g->to[i];
}

/* A file's place in the format line by line: its sum may change its spelling
 * and still be the same number. */
static uint64_t format_sum_at(struct scene *s)
{
    struct lab_file *f = lab_tree_find(&s->now, "format");
    const char *sum = memmem(f->at, f->len, "sum ", 4);

    assert_non_null(sum);
    return (uint64_t)(sum - f->at);
}

static void judge(struct scene *s, struct damage *g)
{
    for (int i = 0; i < 2; i++) {
        for (unsigned k = 0; k < s->uses; k++) {
            const struct extent *e = &s->used[k];
            if (overlaps(g, i, e->file->name, e->from, e->to))
                g->in_use = true;
        }
        if (overlaps(g, i, s->last_file, s->last_from, s->last_to))
            g->touches_last = true;
    }
    if (strcmp(g->file[0], "format") == 0 && g->kind == BIT &&
        g->from[0] >= format_sum_at(s))
        g->in_use = false;
}

static void do_damage(struct scene *s, struct lab_dice *d, struct damage *out)
{
    static bool (*const ways[KINDS])(struct scene *, struct lab_dice *,
                                     struct damage *) = {
        flip_bit, zero_page, swap_pages, old_page,
        old_file, cut_file,  lose_file,  add_junk,
    };
    static const enum kind draw[] = { BIT,  BIT,      BIT,     BIT,
                                      BIT,  ZERO,     ZERO,    SWAP,
                                      SWAP, STALE,    STALE,   CUT,
                                      CUT,  OLD_FILE, MISSING, JUNK };
    bool done = false;

    while (!done) {
        *out = (struct damage){
            .kind = draw[lab_below(d, sizeof(draw) / sizeof(draw[0]))]
        };
        done = ways[out->kind](s, d, out);
    }
    judge(s, out);
}

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
    return g->kind != OLD_FILE && g->kind != JUNK && g->kind != CUT &&
           g->kind != MISSING && strcmp(g->file[0], "format") != 0;
}

/* True if it finds nothing. */
static bool verify(const struct trial *t)
{
    struct verdict verdict = { .damage = t->damage };
    struct rn_verify_counts counts;
    struct rn_err err = { 0 };
    uint64_t before = t->seed % 8 ? 0 : lab_tree_hash(t->dir);
    enum rn_code rc =
        rn_verify(rn_env_real(), t->dir, note_verdict, &verdict, &counts, &err);

    if (before && before != lab_tree_hash(t->dir))
        lab_lie(t->report, "verify has changed something");
    if (rc && !strstr(err.text, t->dir))
        lab_lie(t->report, "verify names no file: %s", err.text);
    if (!rc && t->damage->in_use)
        lab_lie(t->report, "verify finds nothing");
    /* A page and its sum that do not agree: either may be the old one. */
    if (rc == RN_CORRUPT && !verdict.blamed && t->damage->kind != OLD_FILE &&
        t->damage->kind != STALE)
        lab_lie(t->report, "verify blames another file: %s", err.text);
    if (rc && is_plain(t->damage) && !t->damage->in_use &&
        !t->damage->touches_last)
        lab_lie(t->report, "verify sees damage where there is none: %s",
                err.text);
    return !rc;
}

static struct rn_store *open_damaged(const struct trial *t, bool clean)
{
    struct rn_store_opts opts = store_opts(t->dir, t->seed % 8 != 1);
    struct rn_store *s = NULL;
    struct rn_err err = { 0 };

    if (!rn_store_open("local", &opts, &s, &err))
        return s;
    t->report->refused++;
    snprintf(t->report->refusal, sizeof(t->report->refusal), "%s", err.text);
    if (clean)
        lab_lie(t->report, "verify is content, but open refuses: %s", err.text);
    if (!strstr(err.text, t->dir))
        lab_lie(t->report, "a refusal that names no file: %s", err.text);
    return NULL;
}

/* True if the outcome of the last one is unknown. */
static bool write_some(const struct trial *t, struct rn_store *s,
                       struct lab_mind *m, struct lab_dice *d, bool clean)
{
    for (int i = 0; i < 6 && !t->report->lied; i++) {
        struct lab_group g;
        struct rn_err err = { 0 };
        enum rn_code rc;

        lab_group_draw(d, m, LAB_KEYS, &g);
        rc = lab_commit(s, RN_TXN_WRITE, &g, m, t->report, &err);
        if (rc == RN_CORRUPT)
            t->report->corrupt++;
        if (clean && rc)
            lab_lie(t->report, "verify is content, but a commit fails: %s",
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
static bool live(const struct trial *t, struct lab_mind *m, struct lab_dice *d,
                 bool clean)
{
    static struct lab_mind now;
    struct lab_report *r = t->report;
    struct rn_store *s;
    bool unknown = false;

    r->phase++;
    s = open_damaged(t, clean);
    if (!s)
        return false;
    r->phase++;
    lab_read_all(s, m, d, r);
    r->phase++;
    if (!r->lied)
        unknown = write_some(t, s, m, d, clean);
    r->phase++;
    now = *m;
    if (!r->lied)
        lab_read_all(s, unknown ? &now : m, d, r);
    r->phase++;
    if (clean && r->corrupt)
        lab_lie(r, "verify is content, but a read is not");
    rn_store_close(s);
    return !r->lied;
}

static void run_trial(void *context)
{
    static struct lab_mind m;
    const struct trial *t = context;
    struct lab_dice d = { .state = t->seed ^ 0xd1ce };
    bool clean;

    m = (struct lab_mind){ .count = 1, .last_version = t->scene->last_version };
    m.states[0] = t->scene->final;
    if (t->damage->touches_last)
        m.states[m.count++] = t->scene->before_last;
    t->report->phase = 1;
    clean = verify(t);
    if (!t->report->lied && live(t, &m, &d, clean))
        live(t, &m, &d, clean);
}

/* ---- all of them --------------------------------------------------------- */

static void tell(const struct trial *t, const char *how)
{
    const struct damage *g = t->damage;

    printf("# %s: seed %" PRIu64 ", scene %s, %s in %s at %" PRIu64 "..%" PRIu64
           " %s %" PRIu64 "%s%s: %s\n",
           how, t->seed, t->scene->name, kind_names[g->kind], g->file[0],
           g->from[0], g->to[0], g->file[1], g->from[1],
           g->in_use ? ", in use" : "", g->touches_last ? ", last record" : "",
           t->report->lied ? t->report->lie : t->report->refusal);
}

static enum outcome outcome_of(const struct lab_report *r)
{
    if (r->refused)
        return REFUSED;
    return r->corrupt ? REPORTED : HARMLESS;
}

static void print_table(uint64_t counts[KINDS][OUTCOMES])
{
    printf("# %-18s %9s %9s %9s\n", "damage", "harmless", "reported",
           "refused");
    for (int k = 0; k < KINDS; k++) {
        printf("# %-18s %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n",
               kind_names[k], counts[k][HARMLESS], counts[k][REPORTED],
               counts[k][REFUSED]);
    }
}

static void no_single_damage_is_believed(void **state)
{
    uint64_t count = lab_amount("RUNNEL_DAMAGE_COUNT", 1000, 100, 100000);
    uint64_t limit = lab_amount("RUNNEL_DAMAGE_SECONDS", 60, 60, 7200);
    uint64_t seed = lab_number("RUNNEL_DAMAGE_SEED", 1, 1), i;
    uint64_t counts[KINDS][OUTCOMES] = { 0 }, lies = 0, aimed = 0;
    struct lab_report *report = lab_report_new();
    double begun = lab_seconds();

    (void)state;
    for (i = 0; i < count && lab_seconds() - begun < (double)limit; i++) {
        struct lab_dice d = { .state = seed + i };
        struct scene *scene = &scenes[lab_below(&d, SCENES)];
        struct damage damage;
        struct trial t = { .scene = scene,
                           .damage = &damage,
                           .dir = work,
                           .seed = seed + i,
                           .report = report };

        *report = (struct lab_report){ 0 };
        lab_tree_store(&scene->now, work);
        do_damage(scene, &d, &damage);
        lab_fork(run_trial, &t, DEADLINE_S, report);
        aimed += damage.in_use;
        counts[damage.kind][outcome_of(report)]++;
        if (report->lied && ++lies <= 20)
            tell(&t, "LIE");
        else if (count == 1)
            tell(&t, "replayed");
    }
    print_table(counts);
    printf("# %" PRIu64 " damages (%" PRIu64 " of them in use) in %.0f s from "
           "seed %" PRIu64 ": %" PRIu64 " lies\n",
           i, aimed, lab_seconds() - begun, seed, lies);
    assert_int_equal(lies, 0);
}

static void a_healthy_store_is_verified_as_such(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SCENES; i++) {
        struct rn_verify_counts counts;
        struct rn_err err = { 0 };
        unsigned there = 0;

        lab_tree_store(&scenes[i].now, work);
        for (unsigned k = 0; k < LAB_KEYS; k++)
            there += scenes[i].final.version[k] != 0;
        if (rn_verify(rn_env_real(), work, NULL, NULL, &counts, &err))
            fail_msg("%s: %s", scenes[i].name, err.text);
        printf("# %s: %" PRIu64 " pages, %" PRIu64 " free, %" PRIu64
               " records of %u, %" PRIu64 " in the log\n",
               scenes[i].name, counts.pages, counts.free_pages, counts.records,
               there, counts.log_records);
        if (!scenes[i].last_file[0])
            assert_int_equal(counts.records, there);
    }
}

static int build_all(void **state)
{
    static const struct plan plans[SCENES] = {
        { "busy", 9, 25, 7, false },
        { "closed", 3, 40, 0, true },
        { "young", 0, 0, 5, false },
        { "grown", 2, 150, 40, false },
    };

    (void)state;
    lab_dir_new(work, sizeof(work), "damage");
    for (unsigned i = 0; i < SCENES; i++)
        build(&scenes[i], &plans[i], 77 + i);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SCENES; i++) {
        lab_tree_release(&scenes[i].now);
        for (unsigned k = 0; k < scenes[i].olds; k++)
            lab_tree_release(&scenes[i].old[k]);
    }
    lab_dir_remove(work);
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
