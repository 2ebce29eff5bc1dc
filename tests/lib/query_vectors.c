/* query_vectors.c -- the recorded queries in tests/vectors. */
#include "lib/query_vectors.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MAX = 4 << 20 };

static void read_file(const char *name, struct rn_buf *out)
{
    FILE *in = fopen(name, "rb");
    char part[65536];
    size_t n;

    if (!in) {
        fprintf(stderr, "%s: cannot be opened\n", name);
        abort();
    }
    *out = RN_BUF_INIT(TEXT_MAX);
    while ((n = fread(part, 1, sizeof(part), in)) > 0) {
        if (rn_buf_add(out, rn_view_of(part, n)))
            abort();
    }
    fclose(in);
}

static void parse_file(const char *name, struct rn_buf *text,
                       struct rn_json *json)
{
    struct rn_err err;

    read_file(name, text);
    rn_json_init(json, NULL);
    if (rn_json_parse(json, rn_buf_view(text), &err)) {
        fprintf(stderr, "%s: %s\n", name, err.text);
        abort();
    }
}

void vectors_open(struct vectors *v)
{
    parse_file(VECTORS_DIR "/query-cases.json", &v->cases_text, &v->cases);
    parse_file(VECTORS_DIR "/query-datasets.json", &v->sets_text, &v->sets);
}

void vectors_take(struct vectors *v, const char *path)
{
    rn_json_release(&v->cases);
    rn_buf_release(&v->cases_text);
    parse_file(path, &v->cases_text, &v->cases);
}

void vectors_close(struct vectors *v)
{
    rn_json_release(&v->cases);
    rn_json_release(&v->sets);
    rn_buf_release(&v->cases_text);
    rn_buf_release(&v->sets_text);
}

struct rn_view vector_text(const struct rn_json *j, uint32_t at,
                           const char *name, struct rn_arena *a)
{
    uint32_t node = rn_json_find(j, at, rn_view_text(name));
    struct rn_view out = { 0 };

    if (rn_json_kind(j, node) == RN_JSON_STRING &&
        rn_json_string_get(j, node, a, &out))
        abort();
    return out;
}

bool vector_has(const struct rn_json *j, uint32_t at, const char *name)
{
    return rn_json_find(j, at, rn_view_text(name)) != RN_JSON_NONE;
}

enum rn_code vector_source_next(void *context, struct rn_view *document,
                                struct rn_err *err)
{
    struct vector_source *s = context;
    struct rn_json_out o = RN_JSON_OUT_INIT(&s->text);

    (void)err;
    if (!rn_json_walk_next(&s->walk))
        return RN_NOT_FOUND;
    rn_buf_clear(&s->text);
    rn_json_out_value(&o, s->walk.json, s->walk.value);
    *document = rn_buf_view(&s->text);
    return rn_json_out_finish(&o);
}

enum rn_code vector_sink_row(void *context, struct rn_view json,
                             const struct rn_query_place *place, bool *is_full,
                             struct rn_err *err)
{
    struct vector_sink *s = context;
    enum rn_code rc =
        rn_buf_add(&s->rows, s->rows.len > 1 ? RN_LIT(",") : RN_LIT(""));

    (void)err;
    memcpy(s->bytes, place->after.at ? place->after.at : "", place->after.len);
    s->after = rn_view_of(s->bytes, place->after.len);
    s->count++;
    *is_full = s->page && s->count % s->page == 0;
    return rc ? rc : rn_buf_add(&s->rows, json);
}

double vector_tolerance = 1e-12;

static bool alike_numbers(const struct rn_value *a, const struct rn_value *b)
{
    double x = rn_value_real(a), y = rn_value_real(b);

    return x == y || fabs(x - y) <= vector_tolerance * fmax(fabs(x), fabs(y));
}

static bool alike_members(const struct rn_value *a, const struct rn_value *b,
                          int unordered, struct rn_arena *arena)
{
    struct rn_value_walk w = rn_value_walk_begin(a, arena);
    struct rn_value other;

    while (rn_value_walk_next(&w)) {
        if (rn_value_member(b, w.name, arena, &other) ||
            !vector_alike(&w.value, &other, unordered, arena))
            return false;
    }
    return true;
}

static bool alike_unordered(const struct rn_value *a, const struct rn_value *b,
                            int unordered, struct rn_arena *arena)
{
    bool *used = rn_arena_alloc(arena, b->count + 1);
    struct rn_value_walk w = rn_value_walk_begin(a, arena);
    struct rn_value other;

    assert(used);
    memset(used, 0, b->count + 1);
    while (rn_value_walk_next(&w)) {
        uint32_t i = 0;
        for (; i < b->count; i++) {
            if (!used[i] && !rn_value_element(b, i, arena, &other) &&
                vector_alike(&w.value, &other, unordered - 1, arena))
                break;
        }
        if (i == b->count)
            return false;
        used[i] = true;
    }
    return true;
}

bool vector_alike(const struct rn_value *a, const struct rn_value *b,
                  int unordered, struct rn_arena *arena)
{
    struct rn_value x, y;
    bool same = false;

    if (a->kind != b->kind)
        return false;
    if (a->kind == RN_VALUE_NUMBER)
        return alike_numbers(a, b);
    if (a->kind < RN_VALUE_ARRAY)
        return !rn_value_equals(a, b, arena, &same) && same;
    if (a->count != b->count)
        return false;
    if (a->kind == RN_VALUE_OBJECT)
        return alike_members(a, b, unordered, arena);
    if (unordered > 0)
        return alike_unordered(a, b, unordered, arena);
    for (uint32_t i = 0; i < a->count; i++) {
        if (rn_value_element(a, i, arena, &x) ||
            rn_value_element(b, i, arena, &y) ||
            !vector_alike(&x, &y, unordered, arena))
            return false;
    }
    return true;
}

static size_t skip_blanks(struct rn_view v, size_t i)
{
    while (i < v.len && strchr(" \t\r\n", v.at[i]))
        i++;
    return i;
}

bool vector_same_text(struct rn_view a, struct rn_view b)
{
    size_t i = skip_blanks(a, 0), j = skip_blanks(b, 0);

    while (i < a.len && j < b.len && a.at[i] == b.at[j]) {
        i = skip_blanks(a, i + 1);
        j = skip_blanks(b, j + 1);
    }
    return i >= a.len && j >= b.len;
}
