/* fn_array.c -- built-in functions: arrays, objects and conditionals. */
#include "query/fn/function.h"

#include "query/run/run.h"

#include <stdlib.h>

/* `out` is true if `whole` contains each member of `part`, recursively. */
static enum rn_code covers(const struct rn_fn_args *a,
                           const struct rn_value *whole,
                           const struct rn_value *part, bool *out)
{
    struct rn_value_walk w = rn_value_walk_begin(part, a->arena);
    struct rn_value other;
    enum rn_code rc = RN_OK;

    if (part->kind != RN_VALUE_OBJECT || whole->kind != RN_VALUE_OBJECT)
        return rn_value_equals(whole, part, a->arena, out);
    *out = true;
    while (!rc && *out && rn_value_walk_next(&w)) {
        rc = rn_value_member(whole, w.name, a->arena, &other);
        if (!rc)
            rc = covers(a, &other, &w.value, out);
    }
    return rc ? rc : w.rc;
}

static enum rn_code find(const struct rn_fn_args *a,
                         const struct rn_value *needle, bool is_partial,
                         bool *found)
{
    struct rn_value_walk w = rn_value_walk_begin(&a->at[0], a->arena);
    enum rn_code rc = rn_run_step(a->run, a->at[0].count / 4);

    *found = false;
    while (!rc && !*found && rn_value_walk_next(&w))
        rc = is_partial ? covers(a, &w.value, needle, found)
                        : rn_value_equals(&w.value, needle, a->arena, found);
    return rc ? rc : w.rc;
}

static enum rn_code fn_contains(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    bool is_partial = a->count > 2 && rn_value_is_true(&a->at[2]);
    bool found;
    enum rn_code rc;

    if (!rn_arg_is(a, 0, RN_VALUE_ARRAY) ||
        a->at[1].kind == RN_VALUE_UNDEFINED ||
        (a->count > 2 && a->at[2].kind > RN_VALUE_BOOL))
        return RN_OK;
    rc = find(a, &a->at[1], is_partial, &found);
    *out = rn_value_bool(found);
    return rc;
}

/* An undefined argument makes the result undefined, unless another one decides
 * it. */
static enum rn_code contains_many(const struct rn_fn_args *a, bool is_any,
                                  struct rn_value *out)
{
    bool is_open = false, found;

    if (!rn_arg_is(a, 0, RN_VALUE_ARRAY))
        return RN_OK;
    for (uint32_t i = 1; i < a->count; i++) {
        enum rn_code rc;
        if (a->at[i].kind == RN_VALUE_UNDEFINED) {
            is_open = true;
            continue;
        }
        rc = find(a, &a->at[i], false, &found);
        if (rc)
            return rc;
        if (found == is_any) {
            *out = rn_value_bool(is_any);
            return RN_OK;
        }
    }
    if (!is_open)
        *out = rn_value_bool(!is_any);
    return RN_OK;
}

static enum rn_code fn_any(const struct rn_fn_args *a, struct rn_value *out)
{
    return contains_many(a, true, out);
}

static enum rn_code fn_all(const struct rn_fn_args *a, struct rn_value *out)
{
    return contains_many(a, false, out);
}

static enum rn_code fn_length(const struct rn_fn_args *a, struct rn_value *out)
{
    if (rn_arg_is(a, 0, RN_VALUE_ARRAY))
        *out = rn_value_int(a->at[0].count);
    return RN_OK;
}

static enum rn_code fn_concat(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_value *items;
    size_t total = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->count; i++) {
        if (!rn_arg_is(a, i, RN_VALUE_ARRAY))
            return RN_OK;
        total += a->at[i].count;
    }
    items = rn_arena_alloc(a->arena, (total + 1) * sizeof(*items));
    if (!items || total > UINT32_MAX)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < a->count; i++) {
        struct rn_value_walk w = rn_value_walk_begin(&a->at[i], a->arena);
        while (rn_value_walk_next(&w))
            items[n++] = w.value;
        if (w.rc)
            return w.rc;
    }
    *out = rn_value_array(items, n);
    return rn_run_step(a->run, n);
}

static enum rn_code fn_slice(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_value *items;
    struct rn_value_walk w;
    int64_t start, length = INT64_MAX, place = 0, count;
    uint32_t n = 0;

    if (!rn_arg_is(a, 0, RN_VALUE_ARRAY) || !rn_arg_int(a, 1, &start) ||
        (a->count > 2 && !rn_arg_int(a, 2, &length)))
        return RN_OK;
    count = a->at[0].count;
    if (start < 0)
        start = start < -count ? 0 : count + start;
    if (length > count)
        length = count;
    items = rn_arena_alloc(a->arena, ((size_t)count + 1) * sizeof(*items));
    if (!items)
        return RN_TOO_LARGE;
    w = rn_value_walk_begin(&a->at[0], a->arena);
    for (; rn_value_walk_next(&w); place++) {
        if (place >= start && n < length)
            items[n++] = w.value;
    }
    *out = rn_value_array(items, n);
    return w.rc ? w.rc : rn_run_step(a->run, (uint64_t)count);
}

/* ---- numbers in arrays --------------------------------------------------- */

/* The numbers of the array; nothing if another kind of value is among them. */
static enum rn_code numbers(const struct rn_fn_args *a, double **out,
                            uint32_t *n)
{
    struct rn_value_walk w;

    *out = NULL;
    *n = 0;
    if (!rn_arg_is(a, 0, RN_VALUE_ARRAY))
        return RN_OK;
    *out = rn_arena_alloc(a->arena, (a->at[0].count + 1) * sizeof(**out));
    if (!*out)
        return RN_TOO_LARGE;
    w = rn_value_walk_begin(&a->at[0], a->arena);
    while (rn_value_walk_next(&w)) {
        if (w.value.kind != RN_VALUE_NUMBER) {
            *out = NULL;
            return RN_OK;
        }
        (*out)[(*n)++] = rn_value_real(&w.value);
    }
    return w.rc ? w.rc : rn_run_step(a->run, *n);
}

static enum rn_code fn_sum(const struct rn_fn_args *a, struct rn_value *out)
{
    double *list, sum = 0;
    uint32_t n;
    enum rn_code rc = numbers(a, &list, &n);

    for (uint32_t i = 0; i < n && !rc && list; i++)
        sum += list[i];
    if (!rc && list)
        *out = rn_value_double(sum);
    return rc;
}

static enum rn_code fn_avg(const struct rn_fn_args *a, struct rn_value *out)
{
    enum rn_code rc = fn_sum(a, out);

    if (!rc && out->kind == RN_VALUE_NUMBER) {
        *out = a->at[0].count
                   ? rn_value_double(rn_value_real(out) / a->at[0].count)
                   : rn_value_undefined();
    }
    return rc;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static enum rn_code fn_median(const struct rn_fn_args *a, struct rn_value *out)
{
    double *list;
    uint32_t n;
    enum rn_code rc = numbers(a, &list, &n);

    if (rc || !list || n == 0)
        return rc;
    qsort(list, n, sizeof(*list), by_size);
    *out = rn_value_double(n % 2 ? list[n / 2]
                                 : (list[n / 2 - 1] + list[n / 2]) / 2);
    return RN_OK;
}

static enum rn_code best(const struct rn_fn_args *a, int sign,
                         struct rn_value *out)
{
    struct rn_value_walk w;
    struct rn_value found = rn_value_undefined();
    int order;
    enum rn_code rc = RN_OK;

    if (!rn_arg_is(a, 0, RN_VALUE_ARRAY))
        return RN_OK;
    w = rn_value_walk_begin(&a->at[0], a->arena);
    while (!rc && rn_value_walk_next(&w)) {
        if (w.value.kind >= RN_VALUE_ARRAY)
            return RN_OK;
        rc = rn_value_compare(&w.value, &found, a->arena, &order);
        if (found.kind == RN_VALUE_UNDEFINED || order * sign > 0)
            found = w.value;
    }
    *out = found;
    return rc ? rc : w.rc;
}

static enum rn_code fn_max(const struct rn_fn_args *a, struct rn_value *out)
{
    return best(a, 1, out);
}

static enum rn_code fn_min(const struct rn_fn_args *a, struct rn_value *out)
{
    return best(a, -1, out);
}

/* ---- choices and objects ------------------------------------------------- */

static enum rn_code fn_iif(const struct rn_fn_args *a, struct rn_value *out)
{
    *out = a->at[rn_value_is_true(&a->at[0]) ? 1 : 2];
    return RN_OK;
}

static enum rn_code fn_choose(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t place;

    if (rn_arg_int(a, 0, &place) && place >= 1 && place < a->count)
        *out = a->at[place];
    return RN_OK;
}

static enum rn_code fn_object_to_array(const struct rn_fn_args *a,
                                       struct rn_value *out)
{
    struct rn_view names[2] = { RN_LIT("k"), RN_LIT("v") };
    struct rn_value_walk w;
    struct rn_value *items;
    uint32_t n = 0;

    if (!rn_arg_is(a, 0, RN_VALUE_OBJECT))
        return RN_OK;
    for (uint32_t i = 1; i < a->count; i++) {
        if (!rn_arg_is(a, i, RN_VALUE_STRING))
            return RN_OK;
        names[i - 1] = a->at[i].text;
    }
    items = rn_arena_alloc(a->arena, (a->at[0].count + 1) * sizeof(*items));
    if (!items)
        return RN_TOO_LARGE;
    w = rn_value_walk_begin(&a->at[0], a->arena);
    while (rn_value_walk_next(&w)) {
        struct rn_member *pair = rn_arena_alloc(a->arena, 2 * sizeof(*pair));
        if (!pair)
            return RN_TOO_LARGE;
        pair[0] = (struct rn_member){ names[0], rn_value_string(w.name) };
        pair[1] = (struct rn_member){ names[1], w.value };
        items[n++] = rn_value_object(pair, 2);
    }
    *out = rn_value_array(items, n);
    return w.rc;
}

const struct rn_function rn_functions_array[] = {
    { .name = "ARRAY_CONTAINS", .min = 2, .max = 3, .run = fn_contains },
    { .name = "ARRAY_CONTAINS_ANY",
      .min = 2,
      .max = RN_ARITY_ANY,
      .run = fn_any },
    { .name = "ARRAY_CONTAINS_ALL",
      .min = 2,
      .max = RN_ARITY_ANY,
      .run = fn_all },
    { .name = "ARRAY_LENGTH", .min = 1, .max = 1, .run = fn_length },
    { .name = "ARRAY_CONCAT", .min = 2, .max = RN_ARITY_ANY, .run = fn_concat },
    { .name = "ARRAY_SLICE", .min = 2, .max = 3, .run = fn_slice },
    { .name = "ARRAY_SUM", .min = 1, .max = 1, .run = fn_sum },
    { .name = "ARRAY_AVG", .min = 1, .max = 1, .run = fn_avg },
    { .name = "ARRAY_MEDIAN", .min = 1, .max = 1, .run = fn_median },
    { .name = "ARRAY_MAX", .min = 1, .max = 1, .run = fn_max },
    { .name = "ARRAY_MIN", .min = 1, .max = 1, .run = fn_min },
    { .name = "IIF", .min = 3, .max = 3, .run = fn_iif },
    { .name = "CHOOSE", .min = 2, .max = RN_ARITY_ANY, .run = fn_choose },
    { .name = "ObjectToArray", .min = 1, .max = 3, .run = fn_object_to_array },
    { 0 },
};
