/* fn_text.c -- built-in functions: building and converting strings. */
#include "query/fn/function.h"

#include "query/fn/text.h"
#include "query/run/run.h"
#include "json/number.h"
#include "json/utf8.h"

#include <math.h>

enum { REPLICATED_MAX = 10000 }; /* the service's limit, in characters */

static enum rn_code give(struct rn_value *out, const char *at, size_t len)
{
    *out = rn_value_string(rn_view_of(at, len));
    return RN_OK;
}

static enum rn_code fn_concat(const struct rn_fn_args *a, struct rn_value *out)
{
    size_t total = 0;
    char *to;

    for (uint32_t i = 0; i < a->count; i++) {
        if (!rn_arg_is(a, i, RN_VALUE_STRING))
            return RN_OK;
        total += a->at[i].text.len;
    }
    to = rn_arena_alloc(a->arena, total + 1);
    if (!to)
        return RN_TOO_LARGE;
    total = 0;
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->at[i].text.len)
            memcpy(to + total, a->at[i].text.at, a->at[i].text.len);
        total += a->at[i].text.len;
    }
    return give(out, to, total);
}

static enum rn_code map_case(const struct rn_fn_args *a,
                             uint32_t (*map)(uint32_t point),
                             struct rn_value *out)
{
    struct rn_view in;
    size_t n = 0, len;
    char *to;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING))
        return RN_OK;
    in = a->at[0].text;
    to = rn_arena_alloc(a->arena, in.len * 2 + RN_UTF8_MAX);
    if (!to)
        return RN_TOO_LARGE;
    for (size_t i = 0; i < in.len; i += len)
        n += rn_utf8_encode(map(rn_text_point(in, i, &len)), to + n);
    return give(out, to, n);
}

static enum rn_code fn_lower(const struct rn_fn_args *a, struct rn_value *out)
{
    return map_case(a, rn_text_lower, out);
}

static enum rn_code fn_upper(const struct rn_fn_args *a, struct rn_value *out)
{
    return map_case(a, rn_text_upper, out);
}

/* ---- parts --------------------------------------------------------------- */

static bool strips(struct rn_view set, struct rn_view text, size_t at,
                   size_t len)
{
    if (!set.at)
        return len == 1 && strchr(" \t\n\v\f\r", text.at[at]) && text.at[at];
    return rn_text_find(set, rn_view_of(text.at + at, len), 0) >= 0;
}

static enum rn_code trim(const struct rn_fn_args *a, bool left, bool right,
                         struct rn_value *out)
{
    struct rn_view text, set = { 0 };
    size_t start = 0, len;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) ||
        (a->count > 1 && !rn_arg_is(a, 1, RN_VALUE_STRING)))
        return RN_OK;
    text = a->at[0].text;
    if (a->count > 1)
        set = a->at[1].text.at ? a->at[1].text : RN_LIT("");
    while (left && start < text.len) {
        rn_text_point(text, start, &len);
        if (!strips(set, text, start, len))
            break;
        start += len;
    }
    while (right && text.len > start) {
        len = 1;
        while (len < text.len - start &&
               ((unsigned char)text.at[text.len - len] & 0xC0) == 0x80)
            len++;
        if (!strips(set, text, text.len - len, len))
            break;
        text.len -= len;
    }
    return give(out, text.at + start, text.len - start);
}

static enum rn_code fn_trim(const struct rn_fn_args *a, struct rn_value *out)
{
    return trim(a, true, true, out);
}

static enum rn_code fn_ltrim(const struct rn_fn_args *a, struct rn_value *out)
{
    return trim(a, true, false, out);
}

static enum rn_code fn_rtrim(const struct rn_fn_args *a, struct rn_value *out)
{
    return trim(a, false, true, out);
}

static enum rn_code slice(struct rn_view text, int64_t start, int64_t count,
                          struct rn_value *out)
{
    size_t from = rn_text_offset(text, start);
    struct rn_view rest = rn_view_of(text.at + from, text.len - from);

    return give(out, rest.at, count > 0 ? rn_text_offset(rest, count) : 0);
}

static enum rn_code fn_substring(const struct rn_fn_args *a,
                                 struct rn_value *out)
{
    int64_t start, count;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) || !rn_arg_int(a, 1, &start) ||
        !rn_arg_int(a, 2, &count))
        return RN_OK;
    return slice(a->at[0].text, start > 0 ? start : 0, count, out);
}

static enum rn_code fn_left(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t count;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) || !rn_arg_int(a, 1, &count))
        return RN_OK;
    return slice(a->at[0].text, 0, count, out);
}

static enum rn_code fn_right(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t count, units;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) || !rn_arg_int(a, 1, &count))
        return RN_OK;
    units = rn_text_units(a->at[0].text);
    if (count < 0)
        count = 0;
    return slice(a->at[0].text, count < units ? units - count : 0, count, out);
}

/* ---- changes ------------------------------------------------------------- */

static enum rn_code replace(const struct rn_fn_args *a, struct rn_view text,
                            struct rn_buf *to)
{
    struct rn_view old = a->at[1].text;
    size_t from = 0;
    int64_t at;
    enum rn_code rc = RN_OK;

    while (!rc && (at = rn_text_find(text, old, from)) >= 0) {
        rc = rn_buf_add(to, rn_view_of(text.at + from, (size_t)at - from));
        if (!rc)
            rc = rn_buf_add(to, a->at[2].text);
        from = (size_t)at + old.len;
    }
    return rc ? rc
              : rn_buf_add(to, rn_view_of(text.at + from, text.len - from));
}

static enum rn_code fn_replace(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_buf to = RN_BUF_INIT(a->arena->ceiling + 1);
    struct rn_view kept;
    enum rn_code rc;

    for (uint32_t i = 0; i < 3; i++) {
        if (!rn_arg_is(a, i, RN_VALUE_STRING))
            return RN_OK;
    }
    *out = a->at[0];
    if (a->at[1].text.len == 0)
        return RN_OK;
    rc = replace(a, a->at[0].text, &to);
    if (!rc)
        rc = rn_run_step(a->run, to.len / 64);
    if (!rc) {
        kept = rn_arena_copy(a->arena, rn_buf_view(&to));
        rc = kept.at || !to.len ? RN_OK : RN_TOO_LARGE;
        *out = rn_value_string(kept);
    }
    rn_buf_release(&to);
    return rc;
}

static enum rn_code fn_replicate(const struct rn_fn_args *a,
                                 struct rn_value *out)
{
    struct rn_view text;
    int64_t times;
    char *to;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING) || !rn_arg_int(a, 1, &times) ||
        times < 0)
        return RN_OK;
    text = a->at[0].text;
    if (text.len == 0 || times == 0)
        return give(out, "", 0);
    if (times > REPLICATED_MAX / rn_text_units(text))
        return RN_OK;
    to = rn_arena_alloc(a->arena, text.len * (size_t)times);
    if (!to)
        return RN_TOO_LARGE;
    for (int64_t i = 0; i < times; i++)
        memcpy(to + (size_t)i * text.len, text.at, text.len);
    return give(out, to, text.len * (size_t)times);
}

static enum rn_code fn_reverse(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_view in;
    size_t len;
    char *to;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING))
        return RN_OK;
    in = a->at[0].text;
    to = rn_arena_alloc(a->arena, in.len + 1);
    if (!to)
        return RN_TOO_LARGE;
    for (size_t i = 0; i < in.len; i += len) {
        rn_text_point(in, i, &len);
        memcpy(to + in.len - i - len, in.at + i, len);
    }
    return give(out, to, in.len);
}

/* ---- to and from JSON ---------------------------------------------------- */

static enum rn_code print_value(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    struct rn_buf buf = RN_BUF_INIT(a->arena->ceiling + 1);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
    struct rn_view kept;
    enum rn_code rc;

    rn_value_print(&a->at[0], &o);
    rc = rn_json_out_finish(&o);
    if (!rc) {
        kept = rn_arena_copy(a->arena, rn_buf_view(&buf));
        rc = kept.at ? RN_OK : RN_TOO_LARGE;
        *out = rn_value_string(kept);
    }
    rn_buf_release(&buf);
    return rc;
}

static enum rn_code fn_to_string(const struct rn_fn_args *a,
                                 struct rn_value *out)
{
    const struct rn_value *v = &a->at[0];

    if (v->kind == RN_VALUE_UNDEFINED || v->kind == RN_VALUE_STRING) {
        *out = *v;
        return RN_OK;
    }
    if (rn_value_is_printable(v))
        return print_value(a, out);
    if (isnan(v->real))
        return give(out, "NaN", 3);
    return v->real > 0 ? give(out, "Infinity", 8) : give(out, "-Infinity", 9);
}

/* Parses strict JSON of the wanted kind; any other text is undefined.  The
 * result is a copy that does not depend on the tape, which is freed. */
static enum rn_code from_json(const struct rn_fn_args *a,
                              enum rn_value_kind kind, struct rn_value *out)
{
    struct rn_json json;
    struct rn_value v;
    enum rn_code rc;

    if (!rn_arg_is(a, 0, RN_VALUE_STRING))
        return RN_OK;
    rn_json_init(&json, NULL);
    rc = rn_json_parse(&json, a->at[0].text, NULL);
    if (!rc)
        rc = rn_value_of_json(&json, 0, a->arena, &v);
    if (!rc && v.kind == kind)
        rc = rn_value_copy(&v, a->arena, out);
    rn_json_release(&json);
    return rc == RN_BAD_REQUEST || rc == RN_TOO_LARGE ? RN_OK : rc;
}

static enum rn_code to_array(const struct rn_fn_args *a, struct rn_value *out)
{
    return from_json(a, RN_VALUE_ARRAY, out);
}

static enum rn_code to_bool(const struct rn_fn_args *a, struct rn_value *out)
{
    return from_json(a, RN_VALUE_BOOL, out);
}

static enum rn_code to_null(const struct rn_fn_args *a, struct rn_value *out)
{
    return from_json(a, RN_VALUE_NULL, out);
}

static enum rn_code to_number(const struct rn_fn_args *a, struct rn_value *out)
{
    return from_json(a, RN_VALUE_NUMBER, out);
}

static enum rn_code to_object(const struct rn_fn_args *a, struct rn_value *out)
{
    return from_json(a, RN_VALUE_OBJECT, out);
}

const struct rn_function rn_functions_text[] = {
    { .name = "CONCAT", .min = 2, .max = RN_ARITY_ANY, .run = fn_concat },
    { .name = "LOWER", .min = 1, .max = 1, .run = fn_lower },
    { .name = "UPPER", .min = 1, .max = 1, .run = fn_upper },
    { .name = "TRIM", .min = 1, .max = 2, .run = fn_trim },
    { .name = "LTRIM", .min = 1, .max = 2, .run = fn_ltrim },
    { .name = "RTRIM", .min = 1, .max = 2, .run = fn_rtrim },
    { .name = "SUBSTRING", .min = 3, .max = 3, .run = fn_substring },
    { .name = "LEFT", .min = 2, .max = 2, .run = fn_left },
    { .name = "RIGHT", .min = 2, .max = 2, .run = fn_right },
    { .name = "REPLACE", .min = 3, .max = 3, .run = fn_replace },
    { .name = "REPLICATE", .min = 2, .max = 2, .run = fn_replicate },
    { .name = "REVERSE", .min = 1, .max = 1, .run = fn_reverse },
    { .name = "ToString", .min = 1, .max = 1, .run = fn_to_string },
    { .name = "StringToArray", .min = 1, .max = 1, .run = to_array },
    { .name = "StringToBoolean", .min = 1, .max = 1, .run = to_bool },
    { .name = "StringToNull", .min = 1, .max = 1, .run = to_null },
    { .name = "StringToNumber", .min = 1, .max = 1, .run = to_number },
    { .name = "StringToObject", .min = 1, .max = 1, .run = to_object },
    { 0 },
};
