/* fn_string.c -- built-in functions: searching in strings. */
#include "query/fn/function.h"

#include "query/fn/text.h"
#include "query/run/run.h"
#include "json/utf8.h"

#include <strings.h>

/* A copy in lower case, for case-insensitive comparison. */
static enum rn_code folded(const struct rn_fn_args *a, struct rn_view in,
                           struct rn_view *out)
{
    /* Lower case may take more bytes than upper case, at most double. */
    char *to = rn_arena_alloc(a->arena, in.len * 2 + RN_UTF8_MAX);
    size_t n = 0, len;

    if (!to)
        return RN_TOO_LARGE;
    for (size_t i = 0; i < in.len; i += len)
        n += rn_utf8_encode(rn_text_lower(rn_text_point(in, i, &len)), to + n);
    *out = rn_view_of(to, n);
    return rn_run_step(a->run, in.len / 64);
}

typedef bool test_fn(struct rn_view text, struct rn_view part);

static bool contains(struct rn_view text, struct rn_view part)
{
    return rn_text_find(text, part, 0) >= 0;
}

static bool starts(struct rn_view text, struct rn_view part)
{
    return rn_view_starts(text, part);
}

static bool ends(struct rn_view text, struct rn_view part)
{
    return text.len >= part.len &&
           rn_text_find(text, part, text.len - part.len) >= 0;
}

static bool equals(struct rn_view text, struct rn_view part)
{
    return rn_view_eq(text, part);
}

static enum rn_code test_strings(const struct rn_fn_args *a, test_fn *test,
                                 struct rn_value *out)
{
    struct rn_view text, part;
    enum rn_code rc;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) ||
        !rn_arg_is(a, 1, RN_VALUE_STRING) ||
        (a->count > 2 && !rn_arg_is(a, 2, RN_VALUE_BOOL)))
        return RN_OK;
    text = a->at[0].text;
    part = a->at[1].text;
    if (a->count > 2 && a->at[2].truth) {
        rc = folded(a, text, &text);
        if (!rc)
            rc = folded(a, part, &part);
        if (rc)
            return rc;
    }
    *out = rn_value_bool(test(text, part));
    return rn_run_step(a->run, text.len / 256);
}

static enum rn_code fn_contains(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    return test_strings(a, contains, out);
}

static enum rn_code fn_starts(const struct rn_fn_args *a, struct rn_value *out)
{
    return test_strings(a, starts, out);
}

static enum rn_code fn_ends(const struct rn_fn_args *a, struct rn_value *out)
{
    return test_strings(a, ends, out);
}

static enum rn_code fn_equals(const struct rn_fn_args *a, struct rn_value *out)
{
    return test_strings(a, equals, out);
}

/* Whether the first argument contains any, or all, of the others. */
static enum rn_code contains_many(const struct rn_fn_args *a, bool is_any,
                                  bool is_folded, struct rn_value *out)
{
    bool result = !is_any;

    for (uint32_t i = 0; i < a->count; i++) {
        if (!rn_arg_is(a, i, RN_VALUE_STRING))
            return RN_OK;
    }
    for (uint32_t i = 1; i < a->count; i++) {
        struct rn_value pair[3] = { a->at[0], a->at[i],
                                    rn_value_bool(is_folded) };
        struct rn_fn_args one = { a->run, a->arena, pair, 3, 0 };
        struct rn_value found = rn_value_undefined();
        enum rn_code rc = test_strings(&one, contains, &found);
        if (rc)
            return rc;
        result = is_any ? result || found.truth : result && found.truth;
    }
    *out = rn_value_bool(result);
    return RN_OK;
}

static enum rn_code any_ci(const struct rn_fn_args *a, struct rn_value *out)
{
    return contains_many(a, true, true, out);
}

static enum rn_code any_cs(const struct rn_fn_args *a, struct rn_value *out)
{
    return contains_many(a, true, false, out);
}

static enum rn_code all_ci(const struct rn_fn_args *a, struct rn_value *out)
{
    return contains_many(a, false, true, out);
}

static enum rn_code all_cs(const struct rn_fn_args *a, struct rn_value *out)
{
    return contains_many(a, false, false, out);
}

static enum rn_code fn_length(const struct rn_fn_args *a, struct rn_value *out)
{
    if (rn_arg_is(a, 0, RN_VALUE_STRING))
        *out = rn_value_int(rn_text_units(a->at[0].text));
    return RN_OK;
}

static enum rn_code give_place(const struct rn_fn_args *a, int64_t found,
                               struct rn_value *out)
{
    struct rn_view before = a->at[0].text;

    if (found >= 0)
        before.len = (size_t)found;
    *out = rn_value_int(found < 0 ? -1 : rn_text_units(before));
    return rn_run_step(a->run, a->at[0].text.len / 256);
}

static enum rn_code fn_index_of(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    int64_t start = 0;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) ||
        !rn_arg_is(a, 1, RN_VALUE_STRING) ||
        (a->count > 2 && !rn_arg_int(a, 2, &start)))
        return RN_OK;
    if (start > rn_text_units(a->at[0].text))
        return give_place(a, -1, out);
    return give_place(a,
                      rn_text_find(a->at[0].text, a->at[1].text,
                                   rn_text_offset(a->at[0].text, start)),
                      out);
}

/* The last occurrence of `part`, or -1. */
static int64_t find_last(struct rn_view text, struct rn_view part)
{
    for (size_t i = text.len + 1; part.len <= text.len && i-- > 0;) {
        if (text.len - i >= part.len &&
            (part.len == 0 || memcmp(text.at + i, part.at, part.len) == 0))
            return (int64_t)i;
    }
    return -1;
}

/* The match lies entirely at or before the start. */
static enum rn_code fn_last_index(const struct rn_fn_args *a,
                                  struct rn_value *out)
{
    struct rn_view text;
    int64_t start;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) || !rn_arg_is(a, 1, RN_VALUE_STRING))
        return RN_OK;
    text = a->at[0].text;
    if (a->count > 2) {
        if (!rn_arg_int(a, 2, &start) || start < 0)
            return RN_OK;
        text.len = rn_text_offset(text, start < INT64_MAX ? start + 1 : start);
    }
    return give_place(a, find_last(text, a->at[1].text), out);
}

/* The part of a text before or after its first or last delimiter; undefined
 * without a delimiter. */
static enum rn_code give_side(const struct rn_fn_args *a, bool is_last,
                              bool is_after, struct rn_value *out)
{
    struct rn_view text, by;
    int64_t at;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) || !rn_arg_is(a, 1, RN_VALUE_STRING))
        return RN_OK;
    text = a->at[0].text;
    by = a->at[1].text;
    at = is_last ? find_last(text, by) : rn_text_find(text, by, 0);
    if (at >= 0) {
        size_t end = (size_t)at + by.len;
        *out =
            rn_value_string(is_after ? rn_view_of(text.at + end, text.len - end)
                                     : rn_view_of(text.at, (size_t)at));
    }
    return rn_run_step(a->run, text.len / 256);
}

static enum rn_code fn_before(const struct rn_fn_args *a, struct rn_value *out)
{
    return give_side(a, false, false, out);
}

static enum rn_code fn_after(const struct rn_fn_args *a, struct rn_value *out)
{
    return give_side(a, false, true, out);
}

static enum rn_code last_before(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    return give_side(a, true, false, out);
}

static enum rn_code last_after(const struct rn_fn_args *a, struct rn_value *out)
{
    return give_side(a, true, true, out);
}

const struct rn_function rn_functions_string[] = {
    { .name = "CONTAINS", .min = 2, .max = 3, .run = fn_contains },
    { .name = "STARTSWITH", .min = 2, .max = 3, .run = fn_starts },
    { .name = "ENDSWITH", .min = 2, .max = 3, .run = fn_ends },
    { .name = "STRINGEQUALS", .min = 2, .max = 3, .run = fn_equals },
    { .name = "CONTAINS_ANY_CI", .min = 2, .max = RN_ARITY_ANY, .run = any_ci },
    { .name = "CONTAINS_ANY_CS", .min = 2, .max = RN_ARITY_ANY, .run = any_cs },
    { .name = "CONTAINS_ALL_CI", .min = 2, .max = RN_ARITY_ANY, .run = all_ci },
    { .name = "CONTAINS_ALL_CS", .min = 2, .max = RN_ARITY_ANY, .run = all_cs },
    { .name = "ContainsAnyCi", .min = 2, .max = RN_ARITY_ANY, .run = any_ci },
    { .name = "ContainsAnyCs", .min = 2, .max = RN_ARITY_ANY, .run = any_cs },
    { .name = "ContainsAllCi", .min = 2, .max = RN_ARITY_ANY, .run = all_ci },
    { .name = "ContainsAllCs", .min = 2, .max = RN_ARITY_ANY, .run = all_cs },
    { .name = "LENGTH", .min = 1, .max = 1, .run = fn_length },
    { .name = "INDEX_OF", .min = 2, .max = 3, .run = fn_index_of },
    { .name = "LASTINDEXOF", .min = 2, .max = 3, .run = fn_last_index },
    { .name = "LAST_INDEX_OF", .min = 2, .max = 3, .run = fn_last_index },
    { .name = "SubstringBefore", .min = 2, .max = 2, .run = fn_before },
    { .name = "SubstringAfter", .min = 2, .max = 2, .run = fn_after },
    { .name = "LastSubstringBefore", .min = 2, .max = 2, .run = last_before },
    { .name = "LastSubstringAfter", .min = 2, .max = 2, .run = last_after },
    { 0 },
};
