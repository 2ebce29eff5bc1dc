/* fn_set.c -- built-in functions: arrays as sets, and strings as arrays. */
#include "query/fn/function.h"

#include "query/fn/text.h"
#include "query/run/encode.h"
#include "query/run/hash_set.h"
#include "query/run/run.h"

/* The distinct values of arrays. */
struct distinct {
    const struct rn_fn_args *args;
    struct rn_hash_set set;
    struct rn_value *items; /* NULL: only membership matters */
    uint32_t count;
};

static enum rn_code key_of(const struct rn_fn_args *a, const struct rn_value *v)
{
    struct rn_buf *bytes = &a->run->encoded;
    enum rn_code rc = rn_run_step(a->run, 1);

    rn_buf_clear(bytes);
    return rc ? rc : rn_value_encode(v, a->arena, bytes);
}

static enum rn_code add_distinct(struct distinct *s,
                                 const struct rn_value *from)
{
    struct rn_value_walk w = rn_value_walk_begin(from, s->args->arena);
    enum rn_code rc = RN_OK;

    s->set.arena = s->args->arena;
    while (!rc && rn_value_walk_next(&w)) {
        uint32_t place;
        bool is_new;
        rc = key_of(s->args, &w.value);
        if (!rc)
            rc = rn_hash_set_add(&s->set, rn_buf_view(&s->args->run->encoded),
                                 &place, &is_new);
        if (!rc && is_new && s->items)
            s->items[s->count++] = w.value;
    }
    return rc ? rc : w.rc;
}

static bool are_arrays(const struct rn_fn_args *a)
{
    return rn_arg_is(a, 0, RN_VALUE_ARRAY) && rn_arg_is(a, 1, RN_VALUE_ARRAY);
}

static struct rn_value *room_for(const struct rn_fn_args *a, uint64_t n)
{
    return rn_arena_alloc(a->arena, (n + 1) * sizeof(struct rn_value));
}

static enum rn_code fn_union(const struct rn_fn_args *a, struct rn_value *out)
{
    struct distinct s = { .args = a };
    enum rn_code rc;

    if (!are_arrays(a))
        return RN_OK;
    s.items = room_for(a, (uint64_t)a->at[0].count + a->at[1].count);
    if (!s.items)
        return RN_TOO_LARGE;
    rc = add_distinct(&s, &a->at[0]);
    if (!rc)
        rc = add_distinct(&s, &a->at[1]);
    *out = rn_value_array(s.items, s.count);
    return rc;
}

/* The distinct elements of `of` that are, or are not, in `in`. */
static enum rn_code pick(const struct rn_fn_args *a, const struct rn_value *of,
                         const struct rn_value *in, bool is_in,
                         struct rn_value *out)
{
    struct distinct other = { .args = a }, once = { .args = a };
    struct rn_value *items = room_for(a, of->count);
    uint32_t n = 0;
    enum rn_code rc = add_distinct(&other, in);

    once.items = room_for(a, of->count);
    if (!items || !once.items)
        return RN_TOO_LARGE;
    if (!rc)
        rc = add_distinct(&once, of);
    for (uint32_t i = 0; i < once.count && !rc; i++) {
        uint32_t place;
        bool is_new;
        rc = key_of(a, &once.items[i]);
        other.set.arena = a->arena;
        if (!rc)
            rc = rn_hash_set_add(&other.set, rn_buf_view(&a->run->encoded),
                                 &place, &is_new);
        if (!rc && is_new != is_in)
            items[n++] = once.items[i];
    }
    *out = rn_value_array(items, n);
    return rc;
}

/* In the order of the second array, as in the service. */
static enum rn_code fn_intersect(const struct rn_fn_args *a,
                                 struct rn_value *out)
{
    return are_arrays(a) ? pick(a, &a->at[1], &a->at[0], true, out) : RN_OK;
}

static enum rn_code fn_difference(const struct rn_fn_args *a,
                                  struct rn_value *out)
{
    return are_arrays(a) ? pick(a, &a->at[0], &a->at[1], false, out) : RN_OK;
}

static enum rn_code fn_equal(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_value left, right;
    enum rn_code rc;

    if (!are_arrays(a))
        return RN_OK;
    rc = pick(a, &a->at[0], &a->at[1], false, &left);
    if (!rc)
        rc = pick(a, &a->at[1], &a->at[0], false, &right);
    if (!rc)
        *out = rn_value_bool(left.count == 0 && right.count == 0);
    return rc;
}

/* ---- strings ------------------------------------------------------------- */

static enum rn_code fn_join(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_buf to = RN_BUF_INIT(a->arena->ceiling + 1);
    struct rn_value_walk w;
    struct rn_view kept = { 0 };
    bool is_text = true;
    enum rn_code rc = RN_OK;

    if (!rn_arg_is(a, 0, RN_VALUE_ARRAY) || !rn_arg_is(a, 1, RN_VALUE_STRING))
        return RN_OK;
    w = rn_value_walk_begin(&a->at[0], a->arena);
    while (!rc && is_text && rn_value_walk_next(&w)) {
        is_text = w.value.kind == RN_VALUE_STRING;
        if (is_text && w.place > 1)
            rc = rn_buf_add(&to, a->at[1].text);
        if (is_text && !rc)
            rc = rn_buf_add(&to, w.value.text);
    }
    rc = rc ? rc : w.rc;
    if (!rc && is_text) {
        kept = rn_arena_copy(a->arena, rn_buf_view(&to));
        rc = kept.at || !to.len ? RN_OK : RN_TOO_LARGE;
        *out = rn_value_string(kept);
    }
    rn_buf_release(&to);
    return rc ? rc : rn_run_step(a->run, kept.len / 64);
}

static enum rn_code fn_split(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_view text, by;
    struct rn_value *items = NULL;
    uint32_t n = 0, room = 0;
    size_t from = 0;
    int64_t at;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) || !rn_arg_is(a, 1, RN_VALUE_STRING))
        return RN_OK;
    text = a->at[0].text;
    by = a->at[1].text;
    do {
        size_t end;
        at = by.len ? rn_text_find(text, by, from) : -1;
        end = at < 0 ? text.len : (size_t)at;
        items = rn_ast_grow(a->arena, items, n, &room, sizeof(*items));
        if (!items)
            return RN_TOO_LARGE;
        items[n++] = rn_value_string(rn_view_of(text.at + from, end - from));
        from = end + by.len;
    } while (at >= 0);
    *out = rn_value_array(items, n);
    return rn_run_step(a->run, n);
}

const struct rn_function rn_functions_set[] = {
    { .name = "SetUnion", .min = 2, .max = 2, .run = fn_union },
    { .name = "SetIntersect", .min = 2, .max = 2, .run = fn_intersect },
    { .name = "SetDifference", .min = 2, .max = 2, .run = fn_difference },
    { .name = "SetEqual", .min = 2, .max = 2, .run = fn_equal },
    { .name = "StringJoin", .min = 2, .max = 2, .run = fn_join },
    { .name = "StringSplit", .min = 2, .max = 2, .run = fn_split },
    { 0 },
};
