/* encode.c -- a canonical encoding: the bytes are equal exactly if the values
 * are.
 *
 *   value     bytes
 *   any       its kind, one byte
 *   bool      one byte
 *   number    'i' and the integer, or 'd' and the double; whole numbers that
 *             fit are always integers, so each number has one form
 *   string    its length in 4 bytes, its bytes
 *   array     its count, its elements
 *   object    its count, its members by name
 *
 * Numbers are in the machine's byte order; a store can be opened only on
 * little-endian machines.  Stores keep hashes of these bytes
 * (engine/document/unique.h), so the encoding does not change.
 */
#include "query/run/encode.h"

#include <math.h>
#include <stdlib.h>

static enum rn_code add(struct rn_buf *out, const void *at, size_t len)
{
    return rn_buf_add(out, rn_view_of(at, len));
}

static enum rn_code encode_text(struct rn_view text, struct rn_buf *out)
{
    uint32_t len = (uint32_t)text.len;
    enum rn_code rc = add(out, &len, sizeof(len));

    return rc ? rc : rn_buf_add(out, text);
}

static enum rn_code encode_number(const struct rn_value *v, struct rn_buf *out)
{
    struct rn_value n = v->is_integer ? *v : rn_value_double(v->real);
    enum rn_code rc = add(out, n.is_integer ? "i" : "d", 1);

    if (rc)
        return rc;
    return n.is_integer ? add(out, &n.integer, sizeof(n.integer))
                        : add(out, &n.real, sizeof(n.real));
}

static enum rn_code encode_array(const struct rn_value *v,
                                 struct rn_arena *arena, struct rn_buf *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, arena);
    enum rn_code rc = add(out, &v->count, sizeof(v->count));

    while (!rc && rn_value_walk_next(&w))
        rc = rn_value_encode(&w.value, arena, out);
    return rc ? rc : w.rc;
}

static int by_name(const void *a, const void *b)
{
    const struct rn_member *x = a, *y = b;

    return rn_view_compare(x->name, y->name);
}

enum rn_code rn_value_sort_members(const struct rn_value *v,
                                   struct rn_arena *arena,
                                   struct rn_member **out, uint32_t *count)
{
    struct rn_value_walk w = rn_value_walk_begin(v, arena);
    struct rn_member *sorted;
    uint32_t n = 0;

    sorted = rn_arena_alloc(arena, (v->count + 1) * sizeof(*sorted));
    if (!sorted)
        return RN_TOO_LARGE;
    while (rn_value_walk_next(&w))
        sorted[n++] = (struct rn_member){ w.name, w.value };
    if (w.rc)
        return w.rc;
    qsort(sorted, n, sizeof(*sorted), by_name);
    *out = sorted;
    *count = n;
    return RN_OK;
}

static enum rn_code encode_object(const struct rn_value *v,
                                  struct rn_arena *arena, struct rn_buf *out)
{
    struct rn_member *sorted;
    uint32_t n = 0;
    enum rn_code rc = rn_value_sort_members(v, arena, &sorted, &n);

    if (!rc)
        rc = add(out, &n, sizeof(n));
    for (uint32_t i = 0; i < n && !rc; i++) {
        rc = encode_text(sorted[i].name, out);
        if (!rc)
            rc = rn_value_encode(&sorted[i].value, arena, out);
    }
    return rc;
}

enum rn_code rn_value_encode(const struct rn_value *v, struct rn_arena *arena,
                             struct rn_buf *out)
{
    enum rn_code rc = add(out, &v->kind, 1);

    if (rc)
        return rc;
    switch ((enum rn_value_kind)v->kind) {
    case RN_VALUE_UNDEFINED:
    case RN_VALUE_NULL:
        break;
    case RN_VALUE_BOOL:
        return add(out, v->truth ? "1" : "0", 1);
    case RN_VALUE_NUMBER:
        return encode_number(v, out);
    case RN_VALUE_STRING:
        return encode_text(v->text, out);
    case RN_VALUE_ARRAY:
        return encode_array(v, arena, out);
    case RN_VALUE_OBJECT:
        return encode_object(v, arena, out);
    }
    return RN_OK;
}
