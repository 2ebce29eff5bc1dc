/* damage.c -- see damage.h. */
#include "damage.h"

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

enum { JUNK_BYTES = 9000 };

const char *const damage_names[DAMAGE_KINDS] = {
    "bit flipped",       "4 KiB zeroed", "4 KiB swapped", "4 KiB of old",
    "whole file of old", "cut short",    "missing",       "junk file",
};

static const struct {
    const char *prefix;
    unsigned weight;
} classes[] = {
    { "map-1", 40 }, { "log-", 25 }, { "map-1-sums", 12 }, { "checkpoint", 8 },
    { "format", 5 }, { "lock", 1 },  { "backup", 1 },
};

static struct tracked_file *draw_file(struct store_fixture *s,
                                      struct tracked_dice *d)
{
    for (;;) {
        uint64_t roll = tracked_below(d, 92);
        size_t c = 0;
        struct tracked_file *f;

        while (roll >= classes[c].weight)
            roll -= classes[c++].weight;
        if (strcmp(classes[c].prefix, "log-") != 0)
            return tracked_tree_find(&s->now, classes[c].prefix);
        f = &s->now.files[tracked_below(d, s->now.count)];
        if (strncmp(f->name, "log-", 4) == 0)
            return f;
    }
}

/* Half of the time something in use, and half of that its first bytes. */
static uint64_t draw_offset(struct store_fixture *s,
                            const struct tracked_file *f,
                            struct tracked_dice *d)
{
    uint64_t at = tracked_below(d, f->len);

    if (tracked_below(d, 2))
        return at;
    for (int i = 0; i < 100; i++) {
        const struct extent *e = &s->used[tracked_below(d, s->uses)];
        uint64_t len = e->to - e->from;
        if (e->file != f)
            continue;
        if (len > 64 && tracked_below(d, 2))
            len = 64;
        return e->from + tracked_below(d, len);
    }
    return at;
}

static void put_bytes(const struct store_fixture *s, const char *name,
                      uint64_t at, const char *bytes, size_t len)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static void note(struct damage *out, int which, const struct tracked_file *f,
                 uint64_t from, uint64_t to)
{
    snprintf(out->file[which], TRACKED_NAME, "%s", f->name);
    out->from[which] = from;
    out->to[which] = to;
}

static size_t page_at(const struct tracked_file *f, uint64_t page)
{
    uint64_t rest = f->len - page * FIXTURE_PAGE;

    return rest < FIXTURE_PAGE ? (size_t)rest : FIXTURE_PAGE;
}

static bool flip_bit(struct store_fixture *s, struct tracked_dice *d,
                     struct damage *out)
{
    struct tracked_file *f = draw_file(s, d);
    uint64_t at;
    char byte;

    if (!f->len)
        return false;
    at = draw_offset(s, f, d);
    byte = (char)(f->at[at] ^ 1 << tracked_below(d, 8));
    note(out, 0, f, at, at + 1);
    put_bytes(s, f->name, at, &byte, 1);
    return true;
}

static bool zero_page(struct store_fixture *s, struct tracked_dice *d,
                      struct damage *out)
{
    static const char zeros[FIXTURE_PAGE];
    struct tracked_file *f = draw_file(s, d);
    uint64_t page;
    size_t len;

    if (!f->len)
        return false;
    page = draw_offset(s, f, d) / FIXTURE_PAGE;
    len = page_at(f, page);
    if (memcmp(f->at + page * FIXTURE_PAGE, zeros, len) == 0)
        return false;
    note(out, 0, f, page * FIXTURE_PAGE, page * FIXTURE_PAGE + len);
    put_bytes(s, f->name, page * FIXTURE_PAGE, zeros, len);
    return true;
}

static bool swap_pages(struct store_fixture *s, struct tracked_dice *d,
                       struct damage *out)
{
    struct tracked_file *f = draw_file(s, d), *g = f;
    uint64_t a, b;

    if (tracked_below(d, 3) == 0)
        g = draw_file(s, d);
    if (f->len < FIXTURE_PAGE || g->len < FIXTURE_PAGE)
        return false;
    a = draw_offset(s, f, d) / FIXTURE_PAGE;
    b = draw_offset(s, g, d) / FIXTURE_PAGE;
    if (page_at(f, a) < FIXTURE_PAGE || page_at(g, b) < FIXTURE_PAGE ||
        memcmp(f->at + a * FIXTURE_PAGE, g->at + b * FIXTURE_PAGE,
               FIXTURE_PAGE) == 0)
        return false;
    note(out, 0, f, a * FIXTURE_PAGE, a * FIXTURE_PAGE + FIXTURE_PAGE);
    note(out, 1, g, b * FIXTURE_PAGE, b * FIXTURE_PAGE + FIXTURE_PAGE);
    put_bytes(s, f->name, a * FIXTURE_PAGE, g->at + b * FIXTURE_PAGE,
              FIXTURE_PAGE);
    put_bytes(s, g->name, b * FIXTURE_PAGE, f->at + a * FIXTURE_PAGE,
              FIXTURE_PAGE);
    return true;
}

static bool old_page(struct store_fixture *s, struct tracked_dice *d,
                     struct damage *out)
{
    struct tracked_file *f = draw_file(s, d), *old;
    uint64_t page;
    size_t len;

    if (!s->olds || !f->len)
        return false;
    old = tracked_tree_find(&s->old[tracked_below(d, s->olds)], f->name);
    page = draw_offset(s, f, d) / FIXTURE_PAGE;
    len = page_at(f, page);
    if (!old || old->len < page * FIXTURE_PAGE + len ||
        memcmp(f->at + page * FIXTURE_PAGE, old->at + page * FIXTURE_PAGE,
               len) == 0)
        return false;
    note(out, 0, f, page * FIXTURE_PAGE, page * FIXTURE_PAGE + len);
    put_bytes(s, f->name, page * FIXTURE_PAGE, old->at + page * FIXTURE_PAGE,
              len);
    return true;
}

static void replace(const struct store_fixture *s, const char *name,
                    const char *bytes, size_t len)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
}

static bool old_file(struct store_fixture *s, struct tracked_dice *d,
                     struct damage *out)
{
    static const char *const names[] = { "checkpoint", "map-1", "map-1-sums" };
    struct tracked_file *f = tracked_tree_find(&s->now,
                                               names[tracked_below(d, 3)]),
                        *old;

    if (!s->olds)
        return false;
    old = tracked_tree_find(&s->old[tracked_below(d, s->olds)], f->name);
    if (!old || (old->len == f->len && !memcmp(old->at, f->at, f->len)))
        return false;
    note(out, 0, f, 0, 0); /* which of it counts is hard to say */
    replace(s, f->name, old->at, old->len);
    return true;
}

static bool cut_file(struct store_fixture *s, struct tracked_dice *d,
                     struct damage *out)
{
    struct tracked_file *f = draw_file(s, d);
    uint64_t to;

    if (!f->len)
        return false;
    to = tracked_below(d, f->len);
    if (tracked_below(d, 2))
        to = to / FIXTURE_PAGE * FIXTURE_PAGE;
    if (tracked_below(d, 8) == 0)
        to = f->len - 1;
    note(out, 0, f, to, f->len);
    replace(s, f->name, f->at, (size_t)to);
    return true;
}

static bool lose_file(struct store_fixture *s, struct tracked_dice *d,
                      struct damage *out)
{
    struct tracked_file *f = draw_file(s, d);
    char path[512];

    note(out, 0, f, 0, f->len);
    snprintf(path, sizeof(path), "%s/%s", s->dir, f->name);
    assert_int_equal(remove(path), 0);
    return true;
}

static bool add_junk(struct store_fixture *s, struct tracked_dice *d,
                     struct damage *out)
{
    static const char *const names[] = {
        "checkpoint.tmp", "format.tmp",     "core",           "map-2",
        "map-2-sums",     "log-0000000000", "log-0000099999", "log-99",
        "log-+000000001", "map-1.old",      "lost+found",     "log-0000000001",
    };
    const char *name =
        names[tracked_below(d, sizeof(names) / sizeof(names[0]))];
    char junk[JUNK_BYTES];

    if (tracked_tree_find(&s->now, name))
        return false;
    for (size_t i = 0; i < sizeof(junk); i++)
        junk[i] = (char)tracked_roll(d);
    snprintf(out->file[0], TRACKED_NAME, "%s", name);
    replace(s, name, junk, tracked_below(d, JUNK_BYTES));
    return true;
}

static bool overlaps(const struct damage *g, int i, const char *file,
                     uint64_t from, uint64_t to)
{
    return strcmp(g->file[i], file) == 0 && g->from[i] < to && from < g->to[i];
}

/* A file's place in the format line by line: its checksum may change its
 * spelling and still be the same number. */
static uint64_t format_sum_at(struct store_fixture *s)
{
    struct tracked_file *f = tracked_tree_find(&s->now, "format");
    const char *sum = memmem(f->at, f->len, "sum ", 4);

    assert_non_null(sum);
    return (uint64_t)(sum - f->at);
}

static void judge(struct store_fixture *s, struct damage *g)
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
    if (strcmp(g->file[0], "format") == 0 && g->kind == DAMAGE_BIT &&
        g->from[0] >= format_sum_at(s))
        g->in_use = false;
}

void damage_do(struct store_fixture *s, struct tracked_dice *d,
               struct damage *out)
{
    static bool (*const ways[DAMAGE_KINDS])(
        struct store_fixture *, struct tracked_dice *, struct damage *) = {
        flip_bit, zero_page, swap_pages, old_page,
        old_file, cut_file,  lose_file,  add_junk,
    };
    static const enum damage_kind draw[] = {
        DAMAGE_BIT,  DAMAGE_BIT,      DAMAGE_BIT,     DAMAGE_BIT,
        DAMAGE_BIT,  DAMAGE_ZERO,     DAMAGE_ZERO,    DAMAGE_SWAP,
        DAMAGE_SWAP, DAMAGE_STALE,    DAMAGE_STALE,   DAMAGE_CUT,
        DAMAGE_CUT,  DAMAGE_OLD_FILE, DAMAGE_MISSING, DAMAGE_JUNK
    };
    bool done = false;

    while (!done) {
        *out = (struct damage){
            .kind = draw[tracked_below(d, sizeof(draw) / sizeof(draw[0]))]
        };
        done = ways[out->kind](s, d, out);
    }
    judge(s, out);
}
