/* value.c -- see value.h. */
#include "client/query/value.h"

#include "json/distinct.h"
#include "json/number.h"
#include "json/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { CANON_MAX = 64 << 20 };

/* ---- canonical text ------------------------------------------------------ */

/* An integer that fits 64 bits is itself, any other number its double. */
static enum rn_code print_number(struct rn_merge_item v, struct rn_buf *out)
{
    char text[RN_NUMBER_TEXT_MAX];
    int64_t n;

    if (rn_json_int64(v.j, v.at, &n))
        return rn_buf_printf(out, "%" PRId64, n);
    return rn_buf_add(
        out,
        rn_view_of(text, rn_number_print(rn_json_double(v.j, v.at), text)));
}

static enum rn_code print_string(struct rn_merge_item v, struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_view raw = rn_json_text(v.j, v.at);

    /* The quotes stand on both sides of what was parsed. */
    rn_json_out_plain(&o, rn_view_of(raw.at - 1, raw.len + 2));
    return rn_json_out_finish(&o);
}

static enum rn_code print_array(struct rn_merge_item v, struct rn_buf *out)
{
    struct rn_json_walk w = rn_json_walk_begin(v.j, v.at);
    enum rn_code rc = rn_buf_add(out, RN_LIT("["));

    while (!rc && rn_json_walk_next(&w)) {
        rc = rn_merge_item_canon((struct rn_merge_item){ v.j, w.value }, out);
        if (!rc)
            rc = rn_buf_add(out, RN_LIT(","));
    }
    return rc ? rc : rn_buf_add(out, RN_LIT("]"));
}

/* A member's canonical text in a buffer of all of them. */
struct member {
    const struct rn_buf *text;
    size_t at, name_len, len;
};

static int by_name(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return rn_view_compare(rn_view_of(x->text->at + x->at, x->name_len),
                           rn_view_of(y->text->at + y->at, y->name_len));
}

static enum rn_code print_members(struct rn_merge_item v, struct rn_buf *text,
                                  struct member *members)
{
    struct rn_json_walk w = rn_json_walk_begin(v.j, v.at);
    struct member *to = members;
    enum rn_code rc = RN_OK;

    while (!rc && rn_json_walk_next(&w)) {
        *to = (struct member){ .text = text, .at = text->len };
        rc = print_string((struct rn_merge_item){ v.j, w.name }, text);
        to->name_len = text->len - to->at;
        if (!rc)
            rc = rn_buf_add(text, RN_LIT(":"));
        if (!rc)
            rc = rn_merge_item_canon((struct rn_merge_item){ v.j, w.value },
                                     text);
        to->len = text->len - to->at;
        to++;
    }
    return rc;
}

static enum rn_code print_object(struct rn_merge_item v, struct rn_buf *out)
{
    uint32_t count = rn_json_count(v.j, v.at);
    struct rn_buf text = RN_BUF_INIT(CANON_MAX);
    struct member *members = rn_new((count + 1) * sizeof(*members));
    enum rn_code rc = members ? RN_OK : RN_NOMEM;

    if (!rc)
        rc = print_members(v, &text, members);
    if (!rc) {
        qsort(members, count, sizeof(*members), by_name);
        rc = rn_buf_add(out, RN_LIT("{"));
    }
    for (uint32_t i = 0; !rc && i < count; i++) {
        rc = rn_buf_add(out,
                        rn_view_of(text.at + members[i].at, members[i].len));
        if (!rc)
            rc = rn_buf_add(out, RN_LIT(","));
    }
    if (!rc)
        rc = rn_buf_add(out, RN_LIT("}"));
    rn_buf_release(&text);
    rn_free(members);
    return rc;
}

enum rn_code rn_merge_item_canon(struct rn_merge_item v, struct rn_buf *out)
{
    switch (rn_json_kind(v.j, v.at)) {
    case RN_JSON_UNDEFINED:
        return RN_OK;
    case RN_JSON_NULL:
    case RN_JSON_FALSE:
    case RN_JSON_TRUE:
        return rn_buf_add(out, rn_json_text(v.j, v.at));
    case RN_JSON_NUMBER:
        return print_number(v, out);
    case RN_JSON_STRING:
        return print_string(v, out);
    case RN_JSON_ARRAY:
        return print_array(v, out);
    case RN_JSON_OBJECT:
        break;
    }
    return print_object(v, out);
}

/* ---- order --------------------------------------------------------------- */

static int compare_numbers(struct rn_merge_item a, struct rn_merge_item b)
{
    int64_t x, y;
    long double p, q;

    if (rn_json_int64(a.j, a.at, &x) && rn_json_int64(b.j, b.at, &y))
        return (x > y) - (x < y);
    /* A long double holds every integer of 64 bits and every double. */
    p = rn_json_int64(a.j, a.at, &x) ? (long double)x
                                     : (long double)rn_json_double(a.j, a.at);
    q = rn_json_int64(b.j, b.at, &y) ? (long double)y
                                     : (long double)rn_json_double(b.j, b.at);
    return (p > q) - (p < q);
}

/* In UTF-16 a code point above U+FFFF is two surrogates, which sort before
 * U+E000; in UTF-8 its first byte is the greatest. */
static int rank16(unsigned char byte)
{
    return byte == 0xee || byte == 0xef ? byte + 0x10 : byte;
}

static int compare_text(struct rn_view a, struct rn_view b)
{
    size_t i = 0, n = a.len < b.len ? a.len : b.len;

    while (i < n && a.at[i] == b.at[i])
        i++;
    if (i == n)
        return (a.len > b.len) - (a.len < b.len);
    return rank16((unsigned char)a.at[i]) < rank16((unsigned char)b.at[i]) ? -1
                                                                           : 1;
}

static enum rn_code compare_strings(struct rn_merge_item a,
                                    struct rn_merge_item b, int *order)
{
    struct rn_arena arena = RN_ARENA_INIT(CANON_MAX);
    struct rn_view x, y;
    enum rn_code rc = rn_json_string_get(a.j, a.at, &arena, &x);

    if (!rc)
        rc = rn_json_string_get(b.j, b.at, &arena, &y);
    if (!rc)
        *order = compare_text(x, y);
    rn_arena_release(&arena);
    return rc;
}

static enum rn_code hash(struct rn_merge_item v, struct rn_hash128 seed,
                         struct rn_hash128 *out);

static struct rn_hash128 hash_number(struct rn_merge_item v,
                                     struct rn_hash128 seed)
{
    int64_t n;

    if (rn_distinct_is_plain(rn_json_text(v.j, v.at)) &&
        rn_json_int64(v.j, v.at, &n))
        return rn_distinct_integer(n, seed);
    return rn_distinct_real(rn_json_double(v.j, v.at), seed);
}

/* Of a member's name: the seed of its value. */
static enum rn_code hash_text(struct rn_merge_item v, bool is_name,
                              struct rn_hash128 seed, struct rn_hash128 *out)
{
    struct rn_arena arena = RN_ARENA_INIT(CANON_MAX);
    struct rn_view text;
    enum rn_code rc = rn_json_string_get(v.j, v.at, &arena, &text);

    if (!rc)
        *out =
            is_name ? rn_distinct_member(text) : rn_distinct_string(text, seed);
    rn_arena_release(&arena);
    return rc;
}

static enum rn_code hash_array(struct rn_merge_item v, struct rn_hash128 seed,
                               struct rn_hash128 *out)
{
    struct rn_json_walk w = rn_json_walk_begin(v.j, v.at);
    struct rn_hash128 item_seed, item;
    enum rn_code rc = RN_OK;

    *out = rn_distinct_array(seed, &item_seed);
    while (!rc && rn_json_walk_next(&w)) {
        rc = hash((struct rn_merge_item){ v.j, w.value }, item_seed, &item);
        if (!rc)
            *out = rn_distinct_mix(item, *out);
        rn_distinct_next(&item_seed);
    }
    return rc;
}

static enum rn_code hash_object(struct rn_merge_item v, struct rn_hash128 seed,
                                struct rn_hash128 *out)
{
    struct rn_json_walk w = rn_json_walk_begin(v.j, v.at);
    struct rn_hash128 all = { 0 }, one = { 0 };
    enum rn_code rc = RN_OK;

    while (!rc && rn_json_walk_next(&w)) {
        rc = hash_text((struct rn_merge_item){ v.j, w.name }, true, seed, &one);
        if (!rc)
            rc = hash((struct rn_merge_item){ v.j, w.value }, one, &one);
        all.low ^= one.low;
        all.high ^= one.high;
    }
    *out = rn_distinct_object(all, seed);
    return rc;
}

static enum rn_code hash(struct rn_merge_item v, struct rn_hash128 seed,
                         struct rn_hash128 *out)
{
    switch (rn_json_kind(v.j, v.at)) {
    case RN_JSON_UNDEFINED:
        *out = seed;
        break;
    case RN_JSON_NULL:
        *out = rn_distinct_null(seed);
        break;
    case RN_JSON_FALSE:
        *out = rn_distinct_bool(false, seed);
        break;
    case RN_JSON_TRUE:
        *out = rn_distinct_bool(true, seed);
        break;
    case RN_JSON_NUMBER:
        *out = hash_number(v, seed);
        break;
    case RN_JSON_STRING:
        return hash_text(v, false, seed, out);
    case RN_JSON_ARRAY:
        return hash_array(v, seed, out);
    case RN_JSON_OBJECT:
        return hash_object(v, seed, out);
    }
    return RN_OK;
}

static enum rn_code compare_hashes(struct rn_merge_item a,
                                   struct rn_merge_item b, int *order)
{
    char x[RN_DISTINCT_LEN], y[RN_DISTINCT_LEN];
    struct rn_hash128 h;
    enum rn_code rc = hash(a, rn_distinct_root, &h);

    if (rc)
        return rc;
    rn_distinct_put(h, x);
    rc = hash(b, rn_distinct_root, &h);
    rn_distinct_put(h, y);
    *order = memcmp(x, y, sizeof(x));
    return rc;
}

enum rn_code rn_merge_item_compare(struct rn_merge_item a,
                                   struct rn_merge_item b, int *order)
{
    enum rn_json_kind x = rn_json_kind(a.j, a.at), y = rn_json_kind(b.j, b.at);

    /* The kinds are numbered as they are ordered. */
    if (x != y) {
        *order = x < y ? -1 : 1;
        return RN_OK;
    }
    switch (x) {
    case RN_JSON_NUMBER:
        *order = compare_numbers(a, b);
        return RN_OK;
    case RN_JSON_STRING:
        return compare_strings(a, b, order);
    case RN_JSON_ARRAY:
    case RN_JSON_OBJECT:
        return compare_hashes(a, b, order);
    default:
        *order = 0;
        return RN_OK;
    }
}
