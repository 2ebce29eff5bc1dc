/* value.c -- reads, compares, copies and prints query values; see value.h. */
#include "query/run/value.h"

#include "query/run/distinct_hash.h"
#include "query/run/encode.h"
#include "json/number.h"

#include <math.h>
#include <stdlib.h>

struct rn_value rn_value_double(double real)
{
    /* 2^63 itself does not fit. */
    if (real >= -9223372036854775808.0 && real < 9223372036854775808.0 &&
        real == trunc(real))
        return rn_value_int((int64_t)real);
    return (struct rn_value){ .kind = RN_VALUE_NUMBER, .real = real };
}

bool rn_value_is_printable(const struct rn_value *v)
{
    if (v->kind == RN_VALUE_NUMBER)
        return v->is_integer || isfinite(v->real);
    return v->kind != RN_VALUE_UNDEFINED;
}

bool rn_value_is_finite(const struct rn_value *v)
{
    bool is_finite = true;

    if (v->kind == RN_VALUE_NUMBER)
        return v->is_integer || isfinite(v->real);
    if (v->kind < RN_VALUE_ARRAY || v->form != RN_FORM_LIST)
        return true; /* a parsed JSON number is finite */
    for (uint32_t i = 0; i < v->count && is_finite; i++)
        is_finite = rn_value_is_finite(
            v->kind == RN_VALUE_ARRAY ? &v->items[i] : &v->members[i].value);
    return is_finite;
}

static enum rn_code string_of_json(const struct rn_json *j, uint32_t node,
                                   struct rn_arena *a, struct rn_value *out)
{
    out->kind = RN_VALUE_STRING;
    return rn_json_string_get(j, node, a, &out->text);
}

static struct rn_value number_of_json(const struct rn_json *j, uint32_t node)
{
    int64_t integer;

    if (rn_json_int64(j, node, &integer))
        return rn_value_int(integer);
    return rn_value_double(rn_json_double(j, node));
}

static struct rn_value container_of_json(const struct rn_json *j, uint32_t node,
                                         enum rn_value_kind kind)
{
    return (struct rn_value){ .kind = (uint8_t)kind,
                              .form = RN_FORM_TAPE,
                              .count = rn_json_count(j, node),
                              .tape = { j, node } };
}

enum rn_code rn_value_of_json(const struct rn_json *j, uint32_t node,
                              struct rn_arena *a, struct rn_value *out)
{
    *out = rn_value_undefined();
    switch (rn_json_kind(j, node)) {
    case RN_JSON_UNDEFINED:
        break;
    case RN_JSON_NULL:
        out->kind = RN_VALUE_NULL;
        break;
    case RN_JSON_FALSE:
    case RN_JSON_TRUE:
        *out = rn_value_bool(rn_json_kind(j, node) == RN_JSON_TRUE);
        break;
    case RN_JSON_NUMBER:
        *out = number_of_json(j, node);
        break;
    case RN_JSON_STRING:
        return string_of_json(j, node, a, out);
    case RN_JSON_ARRAY:
        *out = container_of_json(j, node, RN_VALUE_ARRAY);
        break;
    case RN_JSON_OBJECT:
        *out = container_of_json(j, node, RN_VALUE_OBJECT);
        break;
    }
    return RN_OK;
}

enum rn_code rn_value_member(const struct rn_value *v, struct rn_view name,
                             struct rn_arena *a, struct rn_value *out)
{
    struct rn_value from = *v; /* out may alias v */

    *out = rn_value_undefined();
    if (from.kind != RN_VALUE_OBJECT)
        return RN_OK;
    if (from.form == RN_FORM_TAPE) {
        return rn_value_of_json(
            from.tape.json, rn_json_find(from.tape.json, from.tape.node, name),
            a, out);
    }
    for (uint32_t i = 0; i < from.count; i++) {
        if (rn_view_eq(from.members[i].name, name)) {
            *out = from.members[i].value;
            break;
        }
    }
    return RN_OK;
}

enum rn_code rn_value_element(const struct rn_value *v, uint32_t place,
                              struct rn_arena *a, struct rn_value *out)
{
    struct rn_value from = *v;

    *out = rn_value_undefined();
    if (from.kind != RN_VALUE_ARRAY || place >= from.count)
        return RN_OK;
    if (from.form == RN_FORM_TAPE) {
        return rn_value_of_json(
            from.tape.json, rn_json_at(from.tape.json, from.tape.node, place),
            a, out);
    }
    *out = from.items[place];
    return RN_OK;
}

struct rn_value_walk rn_value_walk_begin(const struct rn_value *v,
                                         struct rn_arena *a)
{
    struct rn_value_walk w = { .over = v, .arena = a };

    if (v->kind >= RN_VALUE_ARRAY && v->form == RN_FORM_TAPE)
        w.tape = rn_json_walk_begin(v->tape.json, v->tape.node);
    return w;
}

static bool walk_tape(struct rn_value_walk *w)
{
    if (!rn_json_walk_next(&w->tape))
        return false;
    if (w->tape.is_object)
        w->rc =
            rn_json_string_get(w->tape.json, w->tape.name, w->arena, &w->name);
    if (!w->rc)
        w->rc =
            rn_value_of_json(w->tape.json, w->tape.value, w->arena, &w->value);
    return !w->rc;
}

bool rn_value_walk_next(struct rn_value_walk *w)
{
    if (w->over->kind < RN_VALUE_ARRAY || w->place >= w->over->count)
        return false;
    if (w->over->form == RN_FORM_TAPE) {
        w->place++;
        return walk_tape(w);
    }
    if (w->over->kind == RN_VALUE_OBJECT) {
        w->name = w->over->members[w->place].name;
        w->value = w->over->members[w->place].value;
    } else {
        w->value = w->over->items[w->place];
    }
    w->place++;
    return true;
}

/* ---- order --------------------------------------------------------------- */

/* In UTF-8 a code point above U+FFFF sorts last; in UTF-16 its surrogates sort
 * before U+E000.  Only lead bytes can differ in this way. */
static int utf16_rank(unsigned char c)
{
    return c >= 0xF0 ? c - 0x02 - 0x100 : c >= 0xEE ? c : c - 0x200;
}

int rn_value_compare_text(struct rn_view a, struct rn_view b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    size_t i = 0;

    if (n == 0 || memcmp(a.at, b.at, n) == 0)
        return (a.len > b.len) - (a.len < b.len);
    while (a.at[i] == b.at[i])
        i++;
    return utf16_rank((unsigned char)a.at[i]) <
                   utf16_rank((unsigned char)b.at[i])
               ? -1
               : 1;
}

static int compare_int_real(int64_t i, double d)
{
    int64_t whole;

    if (d >= 9223372036854775808.0)
        return -1;
    if (isnan(d) || d < -9223372036854775808.0)
        return 1; /* NaN sorts first */
    whole = (int64_t)d;
    if (i != whole)
        return i < whole ? -1 : 1;
    return (d < (double)whole) - (d > (double)whole);
}

static int compare_real(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) - !isnan(b);
    return (a > b) - (a < b);
}

static int compare_number(const struct rn_value *a, const struct rn_value *b)
{
    if (a->is_integer && b->is_integer)
        return (a->integer > b->integer) - (a->integer < b->integer);
    if (a->is_integer)
        return compare_int_real(a->integer, b->real);
    if (b->is_integer)
        return -compare_int_real(b->integer, a->real);
    return compare_real(a->real, b->real);
}

static enum rn_code compare_hashes(const struct rn_value *a,
                                   const struct rn_value *b,
                                   struct rn_arena *arena, int *out)
{
    struct rn_value x, y;
    enum rn_code rc = rn_distinct_hash_only(a, arena, &x);

    if (!rc)
        rc = rn_distinct_hash_only(b, arena, &y);
    if (!rc)
        *out = rn_view_compare(x.text, y.text);
    return rc;
}

enum rn_code rn_value_compare(const struct rn_value *a,
                              const struct rn_value *b, struct rn_arena *arena,
                              int *out)
{
    *out = 0;
    if (a->kind != b->kind) {
        *out = a->kind < b->kind ? -1 : 1;
        return RN_OK;
    }
    switch ((enum rn_value_kind)a->kind) {
    case RN_VALUE_UNDEFINED:
    case RN_VALUE_NULL:
        break;
    case RN_VALUE_BOOL:
        *out = a->truth - b->truth;
        break;
    case RN_VALUE_NUMBER:
        *out = compare_number(a, b);
        break;
    case RN_VALUE_STRING:
        *out = rn_value_compare_text(a->text, b->text);
        break;
    case RN_VALUE_ARRAY:
    case RN_VALUE_OBJECT:
        return compare_hashes(a, b, arena, out);
    }
    return RN_OK;
}

/* ---- equality ------------------------------------------------------------ */

static enum rn_code arrays_equal(const struct rn_value *a,
                                 const struct rn_value *b,
                                 struct rn_arena *arena, bool *out)
{
    struct rn_value_walk x = rn_value_walk_begin(a, arena);
    struct rn_value_walk y = rn_value_walk_begin(b, arena);
    enum rn_code rc = RN_OK;

    *out = true;
    while (!rc && *out && rn_value_walk_next(&x) && rn_value_walk_next(&y))
        rc = rn_value_equals(&x.value, &y.value, arena, out);
    if (!rc)
        rc = x.rc ? x.rc : y.rc;
    return rc;
}

/* Looking up each member takes quadratic time, so large objects are compared in
 * sorted form. */
static enum rn_code objects_equal_sorted(const struct rn_value *a,
                                         const struct rn_value *b,
                                         struct rn_arena *arena, bool *out)
{
    struct rn_buf x = RN_BUF_INIT(arena->ceiling + 1);
    struct rn_buf y = RN_BUF_INIT(arena->ceiling + 1);
    enum rn_code rc;

    rc = rn_value_encode(a, arena, &x);
    if (!rc)
        rc = rn_value_encode(b, arena, &y);
    if (!rc)
        *out = rn_view_eq(rn_buf_view(&x), rn_buf_view(&y));
    rn_buf_release(&x);
    rn_buf_release(&y);
    return rc;
}

static enum rn_code objects_equal(const struct rn_value *a,
                                  const struct rn_value *b,
                                  struct rn_arena *arena, bool *out)
{
    struct rn_value_walk x = rn_value_walk_begin(a, arena);
    struct rn_value other;
    enum rn_code rc = RN_OK;

    if (a->count > 16)
        return objects_equal_sorted(a, b, arena, out);
    *out = true;
    while (!rc && *out && rn_value_walk_next(&x)) {
        rc = rn_value_member(b, x.name, arena, &other);
        if (!rc)
            rc = rn_value_equals(&x.value, &other, arena, out);
    }
    return rc ? rc : x.rc;
}

enum rn_code rn_value_equals(const struct rn_value *a, const struct rn_value *b,
                             struct rn_arena *arena, bool *out)
{
    *out = false;
    if (a->kind != b->kind)
        return RN_OK;
    switch ((enum rn_value_kind)a->kind) {
    case RN_VALUE_UNDEFINED:
    case RN_VALUE_NULL:
        *out = true;
        break;
    case RN_VALUE_BOOL:
        *out = a->truth == b->truth;
        break;
    case RN_VALUE_NUMBER:
        *out = compare_number(a, b) == 0 && (a->is_integer || !isnan(a->real));
        break;
    case RN_VALUE_STRING:
        *out = rn_view_eq(a->text, b->text);
        break;
    case RN_VALUE_ARRAY:
        return a->count == b->count ? arrays_equal(a, b, arena, out) : RN_OK;
    case RN_VALUE_OBJECT:
        return a->count == b->count ? objects_equal(a, b, arena, out) : RN_OK;
    }
    return RN_OK;
}

/* ---- copies -------------------------------------------------------------- */

static enum rn_code copy_string(struct rn_view text, struct rn_arena *a,
                                struct rn_view *out)
{
    *out = text.len ? rn_arena_copy(a, text) : RN_LIT("");
    return out->at ? RN_OK : RN_TOO_LARGE;
}

static enum rn_code keep_text(const struct rn_value *v, struct rn_arena *a,
                              struct rn_value *out)
{
    struct rn_buf buf = RN_BUF_INIT(a->ceiling + 1);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
    enum rn_code rc;

    rn_json_out_value(&o, v->tape.json, v->tape.node);
    rc = rn_json_out_finish(&o);
    if (!rc) {
        *out = *v;
        out->form = RN_FORM_TEXT;
        rc = copy_string(rn_buf_view(&buf), a, &out->text);
    }
    rn_buf_release(&buf);
    return rc;
}

static enum rn_code copy_part(const struct rn_value *v, struct rn_arena *a,
                              bool as_text, struct rn_value *out);

static enum rn_code copy_members(const struct rn_value *v, struct rn_arena *a,
                                 bool as_text, struct rn_value *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, a);
    struct rn_member *to = rn_arena_alloc(a, (v->count + 1) * sizeof(*to));
    enum rn_code rc = to ? RN_OK : RN_TOO_LARGE;
    uint32_t n = 0;

    while (!rc && rn_value_walk_next(&w)) {
        rc = copy_string(w.name, a, &to[n].name);
        if (!rc)
            rc = copy_part(&w.value, a, as_text, &to[n++].value);
    }
    *out = rn_value_object(to, n);
    return rc ? rc : w.rc;
}

static enum rn_code copy_items(const struct rn_value *v, struct rn_arena *a,
                               bool as_text, struct rn_value *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, a);
    struct rn_value *to = rn_arena_alloc(a, (v->count + 1) * sizeof(*to));
    enum rn_code rc = to ? RN_OK : RN_TOO_LARGE;
    uint32_t n = 0;

    while (!rc && rn_value_walk_next(&w))
        rc = copy_part(&w.value, a, as_text, &to[n++]);
    *out = rn_value_array(to, n);
    return rc ? rc : w.rc;
}

static enum rn_code copy_part(const struct rn_value *v, struct rn_arena *a,
                              bool as_text, struct rn_value *out)
{
    struct rn_value from = *v;

    *out = from;
    if (from.kind == RN_VALUE_STRING)
        return copy_string(from.text, a, &out->text);
    if (from.kind < RN_VALUE_ARRAY)
        return RN_OK;
    if (from.form == RN_FORM_TEXT || from.form == RN_FORM_HASH)
        return copy_string(from.text, a, &out->text);
    if (as_text && from.form == RN_FORM_TAPE)
        return keep_text(&from, a, out);
    return from.kind == RN_VALUE_OBJECT ? copy_members(&from, a, as_text, out)
                                        : copy_items(&from, a, as_text, out);
}

enum rn_code rn_value_copy(const struct rn_value *v, struct rn_arena *a,
                           struct rn_value *out)
{
    return copy_part(v, a, false, out);
}

enum rn_code rn_value_keep(const struct rn_value *v, struct rn_arena *a,
                           struct rn_value *out)
{
    return copy_part(v, a, true, out);
}

/* ---- printing ------------------------------------------------------------ */

static void print_list(const struct rn_value *v, struct rn_json_out *o)
{
    if (v->kind == RN_VALUE_ARRAY) {
        rn_json_out_array_begin(o);
        for (uint32_t i = 0; i < v->count; i++) {
            if (rn_value_is_printable(&v->items[i]))
                rn_value_print(&v->items[i], o);
        }
        rn_json_out_array_end(o);
        return;
    }
    rn_json_out_object_begin(o);
    for (uint32_t i = 0; i < v->count; i++) {
        if (!rn_value_is_printable(&v->members[i].value))
            continue;
        rn_json_out_key(o, v->members[i].name);
        rn_value_print(&v->members[i].value, o);
    }
    rn_json_out_object_end(o);
}

static void print_container(const struct rn_value *v, struct rn_json_out *o)
{
    if (v->form == RN_FORM_TAPE)
        rn_json_out_value(o, v->tape.json, v->tape.node);
    else if (v->form == RN_FORM_TEXT)
        rn_json_out_raw(o, v->text);
    else
        print_list(v, o);
}

void rn_value_print(const struct rn_value *v, struct rn_json_out *o)
{
    switch ((enum rn_value_kind)v->kind) {
    case RN_VALUE_UNDEFINED:
    case RN_VALUE_NULL:
        rn_json_out_null(o);
        break;
    case RN_VALUE_BOOL:
        rn_json_out_bool(o, v->truth);
        break;
    case RN_VALUE_NUMBER:
        if (v->is_integer)
            rn_json_out_int(o, v->integer);
        else
            rn_json_out_double(o, v->real);
        break;
    case RN_VALUE_STRING:
        rn_json_out_string(o, v->text);
        break;
    case RN_VALUE_ARRAY:
    case RN_VALUE_OBJECT:
        print_container(v, o);
        break;
    }
}
