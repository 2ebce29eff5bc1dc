/* sorter_place.c -- the encoding of a sorted row's continuation; see sorter.c.
 *
 *   u64 u32   the rid of its document and its row number there; 0 if ties are
 *             ordered by value
 *   keys      of ORDER BY, concatenated
 *   bytes     its value key, or nothing
 *
 * A key is its kind and its value.  The first key that does not fit is
 * truncated: its kind with the CUT flag, its prefix, and a hash of all keys.
 * Only a string can be truncated: an array or an object is only its hash.
 */
#include "query/run/sorter_place.h"

#include "base/bytes.h"
#include "query/run/distinct_hash.h"

enum { CUT = 0x80 };

/* ---- writing ------------------------------------------------------------- */

/* Flag in the first byte of a key: only the hash of the value is stored. */
enum { KEY_HASHED = 0x40 };

/* The kind, then: a bool's 0 or 1; whether a number is an integer, and 8 bytes;
 * the length and the bytes of a string; the hash of an array or an object. */
static enum rn_code put_key(struct rn_buf *out, const struct rn_value *v)
{
    char bytes[10] = { (char)v->kind };
    uint64_t bits;
    size_t len = 1;
    enum rn_code rc;

    if (v->kind == RN_VALUE_BOOL) {
        bytes[len++] = (char)v->truth;
    } else if (v->kind == RN_VALUE_NUMBER) {
        memcpy(&bits,
               v->is_integer ? (const void *)&v->integer
                             : (const void *)&v->real,
               8);
        bytes[len++] = (char)v->is_integer;
        rn_put_u64_be(bytes + len, bits);
        len += 8;
    } else if (v->kind >= RN_VALUE_ARRAY) {
        bytes[0] |= KEY_HASHED;
    }
    rc = rn_buf_add(out, rn_view_of(bytes, len));
    if (rc || v->kind < RN_VALUE_STRING)
        return rc;
    return v->kind == RN_VALUE_STRING ? rn_buf_add_counted(out, v->text)
                                      : rn_buf_add(out, v->text);
}

/* Writes the kind with the CUT flag, the prefix of a string that fits, and a
 * hash of all keys. */
static enum rn_code put_cut(struct rn_sorter *s, const struct rn_sorted *row,
                            uint32_t at, size_t room)
{
    const struct rn_value *v = &row->keys[at];
    char kind = (char)(v->kind | CUT), hash[RN_VALUES_HASH_LEN];
    struct rn_view text = { 0 };
    enum rn_code rc =
        rn_values_hash(row->keys, s->select->order_count, s->run, hash);

    room -= room < 3 ? room : 3;
    if (v->kind == RN_VALUE_STRING)
        text = rn_view_of(v->text.at, v->text.len < room ? v->text.len : room);
    while (text.len && text.len < v->text.len &&
           ((unsigned char)text.at[text.len] & 0xC0) == 0x80)
        text.len--; /* cut between characters */
    if (!rc)
        rc = rn_buf_add(&s->run->after, rn_view_of(&kind, 1));
    if (!rc)
        rc = rn_buf_add_counted(&s->run->after, text);
    return rc ? rc
              : rn_buf_add(&s->run->after,
                           rn_view_of(hash, RN_VALUES_HASH_LEN));
}

/* The continuation after a row: rid and row number, keys, value key. */
enum rn_code rn_sorter_put_place(struct rn_sorter *s,
                                 const struct rn_sorted *row)
{
    struct rn_buf *out = &s->run->after, key = RN_BUF_INIT(RN_QUERY_AFTER_MAX);
    size_t most =
        RN_QUERY_AFTER_MAX - RN_VALUES_HASH_LEN - 3 - row->value_key.len;
    bool is_cut = false;
    char bytes[12];
    enum rn_code rc;

    rn_buf_clear(out);
    rn_put_u64_be(bytes, row->rid);
    rn_put_u32_be(bytes + 8, row->place);
    rc = rn_buf_add(out, rn_view_of(bytes, sizeof(bytes)));
    for (uint32_t i = 0; i < s->select->order_count && !rc && !is_cut; i++) {
        rn_buf_clear(&key);
        rc = put_key(&key, &row->keys[i]);
        is_cut = rc == RN_TOO_LARGE || (!rc && key.len > most - out->len);
        if (is_cut)
            rc = put_cut(s, row, i, most - out->len);
        else if (!rc)
            rc = rn_buf_add(out, rn_buf_view(&key));
    }
    rn_buf_release(&key);
    return rc ? rc : rn_buf_add(out, row->value_key);
}

/* ---- reading ------------------------------------------------------------- */

static enum rn_code get_text(struct rn_sorter *s, struct rn_view *in,
                             struct rn_value *out)
{
    struct rn_value v;
    struct rn_view text;

    if (in->len < 2)
        return RN_BAD_REQUEST;
    text = rn_view_of(in->at + 2, ((size_t)(unsigned char)in->at[0] << 8) +
                                      (unsigned char)in->at[1]);
    if (text.len > in->len - 2)
        return RN_BAD_REQUEST;
    *in = rn_view_of(text.at + text.len, in->len - 2 - text.len);
    v = rn_value_string(text);
    return rn_value_copy(&v, &s->run->keep, out);
}

static enum rn_code get_hash(struct rn_sorter *s, enum rn_value_kind kind,
                             struct rn_view *in, struct rn_value *out)
{
    struct rn_value v;

    if (kind < RN_VALUE_ARRAY || kind > RN_VALUE_OBJECT ||
        in->len < RN_DISTINCT_HASH_LEN)
        return RN_BAD_REQUEST;
    v = rn_value_hashed(kind, in->at);
    *in = rn_view_of(in->at + RN_DISTINCT_HASH_LEN,
                     in->len - RN_DISTINCT_HASH_LEN);
    return rn_value_copy(&v, &s->run->keep, out);
}

static enum rn_code get_scalar(struct rn_view *in, struct rn_value *out)
{
    static const size_t lens[] = {
        [RN_VALUE_BOOL] = 1, [RN_VALUE_NUMBER] = 9, [RN_VALUE_STRING] = 0
    };
    size_t len = lens[out->kind];
    uint64_t bits;

    if (in->len < len)
        return RN_BAD_REQUEST;
    if (out->kind == RN_VALUE_BOOL) {
        out->truth = in->at[0] != 0;
    } else if (out->kind == RN_VALUE_NUMBER) {
        out->is_integer = in->at[0] != 0;
        bits = rn_get_u64_be(in->at + 1);
        if (out->is_integer)
            out->integer = (int64_t)bits;
        else
            memcpy(&out->real, &bits, sizeof(bits));
    }
    *in = rn_view_of(in->at + len, in->len - len);
    return RN_OK;
}

static enum rn_code get_key(struct rn_sorter *s, struct rn_view *in,
                            struct rn_value *out)
{
    unsigned char tag;

    *out = rn_value_undefined();
    if (in->len < 1)
        return RN_BAD_REQUEST;
    tag = (unsigned char)in->at[0];
    *in = rn_view_of(in->at + 1, in->len - 1);
    if (tag & KEY_HASHED)
        return get_hash(s, (enum rn_value_kind)(tag & ~KEY_HASHED), in, out);
    if (tag > RN_VALUE_STRING)
        return RN_BAD_REQUEST;
    out->kind = tag;
    return tag == RN_VALUE_STRING ? get_text(s, in, out) : get_scalar(in, out);
}

/* Reads the truncated key, and the hash after it. */
static enum rn_code get_cut(struct rn_sorter *s, struct rn_view *in,
                            struct rn_value *out, uint32_t whole)
{
    char kind = (char)(in->at[0] & ~CUT);
    enum rn_code rc;

    s->cut = rn_arena_alloc(&s->run->keep, sizeof(*s->cut));
    if (!s->cut)
        return RN_TOO_LARGE;
    s->was_cut = true;
    s->cut->whole = whole;
    *in = rn_view_of(in->at + 1, in->len - 1);
    *out = (struct rn_value){ .kind = RN_VALUE_STRING };
    rc = get_text(s, in, out);
    if (!rc && in->len < RN_VALUES_HASH_LEN)
        rc = RN_BAD_REQUEST;
    if (rc)
        return rc;
    out->kind = (uint8_t)kind;
    memcpy(s->cut->hash, in->at, RN_VALUES_HASH_LEN);
    *in = rn_view_of(in->at + RN_VALUES_HASH_LEN, in->len - RN_VALUES_HASH_LEN);
    return RN_OK;
}

static bool is_cut_next(struct rn_view in)
{
    return in.len && (in.at[0] & CUT);
}

enum rn_code rn_sorter_resume(struct rn_sorter *s, struct rn_view after)
{
    uint32_t n = s->select->order_count;
    struct rn_sorted *to = rn_arena_alloc(&s->run->keep, sizeof(*to));
    struct rn_value *keys =
        rn_arena_alloc(&s->run->keep, (n + 1) * sizeof(*keys));
    struct rn_view in = after;
    enum rn_code rc = in.len < 12 ? RN_BAD_REQUEST : RN_OK;

    if (!to || !keys)
        return RN_TOO_LARGE;
    if (!rc) {
        *to = (struct rn_sorted){ .keys = keys,
                                  .rid = rn_get_u64_be(in.at),
                                  .place = rn_get_u32_be(in.at + 8) };
        in = rn_view_of(in.at + 12, in.len - 12);
    }
    for (uint32_t i = 0; i < n && !rc && !s->cut; i++)
        rc = is_cut_next(in) ? get_cut(s, &in, &keys[i], i)
                             : get_key(s, &in, &keys[i]);
    if (!rc && (in.len > RN_VALUEKEY_MAX || (in.len && !s->is_by_value) ||
                (s->is_by_value && (to->rid || to->place))))
        rc = RN_BAD_REQUEST;
    if (rc == RN_BAD_REQUEST)
        return rn_fail(s->run->err, rc, "Invalid Continuation Token");
    if (rc)
        return rc;
    to->value_key = in;
    s->after = to;
    return RN_OK;
}
