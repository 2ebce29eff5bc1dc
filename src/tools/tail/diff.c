/* diff.c -- compares two versions of a document. */
#include "tools/tail/diff.h"

#include "tools/common/out.h"

#include <stdio.h>

enum { PATH_MAX_BYTES = 1 << 20, NAMES_MAX = 64 << 20 };

struct diff {
    const struct rn_json *before, *after;
    struct rn_buf path;
    struct rn_arena names;
    int lines; /* -1: no memory */
};

static void compare(struct diff *d, uint32_t before, uint32_t after);

static void print_path(struct diff *d, enum rn_color color, const char *mark)
{
    rn_outf("  %s%s %.*s%s: ", rn_color(color), mark,
            RN_FMT(rn_buf_view(&d->path)), rn_color(RN_COLOR_NONE));
    d->lines++;
}

static void print_one(struct diff *d, const struct rn_json *json,
                      uint32_t value)
{
    bool is_new = json == d->after;

    print_path(d, is_new ? RN_COLOR_GREEN : RN_COLOR_RED, is_new ? "+" : "-");
    rn_out_inline(json, value);
    rn_out(RN_LIT("\n"));
}

static bool is_equal(struct diff *d, uint32_t before, uint32_t after)
{
    enum rn_json_kind kind = rn_json_kind(d->before, before);

    if (kind != rn_json_kind(d->after, after))
        return false;
    if (kind == RN_JSON_NUMBER)
        return rn_json_double(d->before, before) ==
               rn_json_double(d->after, after);
    return rn_view_eq(rn_json_text(d->before, before),
                      rn_json_text(d->after, after));
}

/* Compares what is at `name` below the path; one of the two may be missing. */
static void compare_at(struct diff *d, struct rn_view name, uint32_t before,
                       uint32_t after)
{
    size_t len = d->path.len;

    if (rn_buf_add(&d->path, RN_LIT("/")) || rn_buf_add(&d->path, name)) {
        d->lines = -1;
        return;
    }
    if (before == RN_JSON_NONE)
        print_one(d, d->after, after);
    else if (after == RN_JSON_NONE)
        print_one(d, d->before, before);
    else
        compare(d, before, after);
    d->path.len = len;
}

/* The member of `other` that has the same name, or RN_JSON_NONE. */
static uint32_t find_same(struct diff *d, const struct rn_json_walk *walk,
                          const struct rn_json *other, uint32_t object)
{
    struct rn_view name;

    if (rn_json_string_get(walk->json, walk->name, &d->names, &name)) {
        d->lines = -1;
        return RN_JSON_NONE;
    }
    return rn_json_find(other, object, name);
}

static void compare_objects(struct diff *d, uint32_t before, uint32_t after)
{
    struct rn_json_walk walk = rn_json_walk_begin(d->before, before);
    struct rn_view name;

    while (d->lines >= 0 && rn_json_walk_next(&walk)) {
        uint32_t other = find_same(d, &walk, d->after, after);
        name = rn_json_text(d->before, walk.name);
        if (d->lines >= 0 && !(before == 0 && rn_out_is_system(name)))
            compare_at(d, name, walk.value, other);
    }
    walk = rn_json_walk_begin(d->after, after);
    while (d->lines >= 0 && rn_json_walk_next(&walk)) {
        uint32_t other = find_same(d, &walk, d->before, before);
        name = rn_json_text(d->after, walk.name);
        if (d->lines >= 0 && other == RN_JSON_NONE &&
            !(after == 0 && rn_out_is_system(name)))
            compare_at(d, name, other, walk.value);
    }
}

static void compare_arrays(struct diff *d, uint32_t before, uint32_t after)
{
    struct rn_json_walk old = rn_json_walk_begin(d->before, before);
    struct rn_json_walk new = rn_json_walk_begin(d->after, after);
    char place[16];

    for (uint32_t i = 0; d->lines >= 0; i++) {
        bool has_old = rn_json_walk_next(&old);
        bool has_new = rn_json_walk_next(&new);
        if (!has_old && !has_new)
            return;
        snprintf(place, sizeof(place), "%u", i);
        compare_at(d, rn_view_text(place), has_old ? old.value : RN_JSON_NONE,
                   has_new ? new.value : RN_JSON_NONE);
    }
}

/* The nesting is that of the documents, which the parser limits. */
static void compare(struct diff *d, uint32_t before, uint32_t after)
{
    enum rn_json_kind kind = rn_json_kind(d->before, before);
    bool same_kind = kind == rn_json_kind(d->after, after);

    if (same_kind && kind == RN_JSON_OBJECT) {
        compare_objects(d, before, after);
    } else if (same_kind && kind == RN_JSON_ARRAY) {
        compare_arrays(d, before, after);
    } else if (!is_equal(d, before, after)) {
        print_path(d, RN_COLOR_YELLOW, "~");
        rn_out_inline(d->before, before);
        rn_out(RN_LIT(" -> "));
        rn_out_inline(d->after, after);
        rn_out(RN_LIT("\n"));
    }
}

int rn_diff_print(const struct rn_json *before, const struct rn_json *after)
{
    struct diff d = { .before = before,
                      .after = after,
                      .path = RN_BUF_INIT(PATH_MAX_BYTES),
                      .names = RN_ARENA_INIT(NAMES_MAX) };

    compare(&d, 0, 0);
    rn_buf_release(&d.path);
    rn_arena_release(&d.names);
    return d.lines;
}
