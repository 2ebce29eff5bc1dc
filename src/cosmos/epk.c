/* epk.c -- see epk.h.
 *
 * The order-preserving encoding ("binary encoding"):
 *
 *   undefined, null, false, true   the type's byte
 *   number   05, then the double's bits, transformed to compare as bytes:
 *            first 8 of them, then 7 at a time with the lowest bit of the byte
 *            set if more follow.  Trailing zeros are omitted, but the byte
 *            after the first is always there
 *   string   08, each byte plus one (UTF-8 has no FF), then 00; of a string of
 *            more than 100 bytes the first 101 and no 00
 */
#include "cosmos/epk.h"

#include "base/hash.h"
#include "base/hex.h"

#include <assert.h>

enum {
    BLOCK = 16,        /* bytes of a hash of version 2 */
    CUT_UNITS = 100,   /* UTF-16 code units of a string that version 1 hashes */
    SHORT_BYTES = 100, /* of a string that is encoded in full */
    HASHED_MAX = RN_PK_TEXT_MAX + 1024,
};

/* The first byte of the highest EPK of version 2, whose two top bits are
 * clear. */
static const unsigned char block_top = 0x3f;

const struct rn_epk_range rn_epk_all = {
    .min = { .len = 0 },
    .max = { .len = 1, .bytes = { 0xff } },
};

/* An output buffer with a fixed capacity. */
struct sink {
    unsigned char *at;
    size_t len, room;
    bool overflow;
};

static void put(struct sink *s, unsigned char byte)
{
    if (s->len == s->room)
        s->overflow = true;
    else
        s->at[s->len++] = byte;
}

static uint64_t bits_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

/* ---- hashes -------------------------------------------------------------- */

/* Appends the bytes of one component that are hashed.  `end` terminates a
 * string. */
static void put_hashed(struct sink *s, const struct rn_pk_value *v,
                       unsigned char end)
{
    put(s, (unsigned char)v->type);
    if (v->type == RN_PK_NUMBER) {
        for (unsigned shift = 0; shift < 64; shift += 8)
            put(s, (unsigned char)(bits_of(v->number) >> shift));
    } else if (v->type == RN_PK_STRING) {
        for (size_t i = 0; i < v->text.len; i++)
            put(s, (unsigned char)v->text.at[i]);
        put(s, end);
    }
}

static void put_block(struct sink *s, struct rn_hash128 hash)
{
    size_t first = s->len;

    for (unsigned i = 0; i < BLOCK; i++) {
        uint64_t half = i < 8 ? hash.high : hash.low;
        put(s, (unsigned char)(half >> (56 - i % 8 * 8)));
    }
    if (!s->overflow)
        s->at[first] &= block_top;
}

static bool hash_2(const struct rn_pk_value *values, size_t count,
                   struct sink *out)
{
    RN_UNSET unsigned char bytes[HASHED_MAX];
    struct sink s = { .at = bytes, .room = sizeof(bytes) };

    for (size_t i = 0; i < count; i++)
        put_hashed(&s, &values[i], 0xff);
    put_block(out,
              rn_murmur128(rn_view_of(bytes, s.len), (struct rn_hash128){ 0 }));
    return !s.overflow;
}

/* ---- the order-preserving encoding --------------------------------------- */

static void put_number(struct sink *s, double number)
{
    uint64_t left = bits_of(number);

    left = left >> 63 ? ~left + 1 : left ^ (uint64_t)1 << 63;
    put(s, RN_PK_NUMBER);
    put(s, (unsigned char)(left >> 56));
    left <<= 8;
    while (left << 7) {
        put(s, (unsigned char)(left >> 56 | 1));
        left <<= 7;
    }
    put(s, (unsigned char)(left >> 56 & 0xfe));
}

static void put_string(struct sink *s, struct rn_view text)
{
    bool is_short = text.len <= SHORT_BYTES;
    size_t len = is_short ? text.len : SHORT_BYTES + 1;

    put(s, RN_PK_STRING);
    for (size_t i = 0; i < len; i++)
        put(s, (unsigned char)(text.at[i] + 1));
    if (is_short)
        put(s, 0);
}

static void put_encoded(struct sink *s, const struct rn_pk_value *v)
{
    if (v->type == RN_PK_NUMBER)
        put_number(s, v->number);
    else if (v->type == RN_PK_STRING)
        put_string(s, v->text);
    else
        put(s, (unsigned char)v->type);
}

/* The first UTF-16 code units of the text.  No code point is split, since the
 * service's strings with half a surrogate pair have no UTF-8 form. */
static struct rn_view cut_text(struct rn_view text, size_t units)
{
    size_t i = 0;

    while (i < text.len) {
        unsigned char lead = (unsigned char)text.at[i];
        size_t need = lead >= 0xf0 ? 2 : 1;
        if (units < need)
            break;
        units -= need;
        i++;
        while (i < text.len && ((unsigned char)text.at[i] & 0xc0) == 0x80)
            i++;
    }
    return rn_view_of(text.at, i);
}

static bool hash_1(const struct rn_pk_value *values, size_t count,
                   struct sink *out)
{
    unsigned char bytes[HASHED_MAX];
    struct sink s = { .at = bytes, .room = sizeof(bytes) };

    for (size_t i = 0; i < count; i++) {
        struct rn_pk_value v = values[i];
        v.text = cut_text(v.text, CUT_UNITS);
        put_hashed(&s, &v, 0);
    }
    put_number(out, rn_murmur32(rn_view_of(bytes, s.len), 0));
    for (size_t i = 0; i < count; i++) {
        struct rn_pk_value v = values[i];
        v.text = cut_text(v.text, CUT_UNITS);
        put_encoded(out, &v);
    }
    return !s.overflow;
}

/* ---- keys ---------------------------------------------------------------- */

enum rn_code rn_epk_hash(enum rn_pkdef_kind kind, uint32_t version,
                         const struct rn_pk_value *values, size_t count,
                         struct rn_epk *out)
{
    struct sink s = { .at = out->bytes, .room = sizeof(out->bytes) };
    bool fits = true;

    if (kind == RN_PKDEF_MULTIHASH) {
        for (size_t i = 0; i < count; i++)
            fits = hash_2(&values[i], 1, &s) && fits;
    } else if (kind == RN_PKDEF_RANGE) {
        for (size_t i = 0; i < count; i++)
            put_encoded(&s, &values[i]);
    } else if (count > 0) {
        fits = version == 2 ? hash_2(values, count, &s)
                            : hash_1(values, count, &s);
    }
    out->len = s.len;
    return fits && !s.overflow ? RN_OK : RN_TOO_LARGE;
}

void rn_epk_of(const struct rn_pkdef *def, const struct rn_pk *pk,
               struct rn_epk *out)
{
    enum rn_code rc;

    assert(pk->count <= def->count);
    rc = rn_epk_hash(def->kind, rn_pkdef_version(def), pk->values, pk->count,
                     out);
    assert(!rc); /* keys are bounded by rn_pk_check_size */
}

void rn_epk_range_of(const struct rn_pkdef *def, const struct rn_pk *pk,
                     struct rn_epk_range *out)
{
    rn_epk_of(def, pk, &out->min);
    out->max = out->min;
    assert(out->max.len < RN_EPK_MAX);
    /* No EPK is a prefix of another, except by whole components.  So no EPK
     * lies between an EPK and the same bytes with 00 appended, and all EPKs
     * with this prefix lie below it with FF appended. */
    out->max.bytes[out->max.len++] = pk->count < def->count ? 0xff : 0;
}

bool rn_epk_range_meet(const struct rn_epk_range *a,
                       const struct rn_epk_range *b, struct rn_epk_range *out)
{
    const struct rn_epk *min =
        rn_epk_compare(&a->min, &b->min) >= 0 ? &a->min : &b->min;
    const struct rn_epk *max =
        rn_epk_compare(&a->max, &b->max) <= 0 ? &a->max : &b->max;

    if (rn_epk_compare(min, max) >= 0)
        return false;
    *out = (struct rn_epk_range){ .min = *min, .max = *max };
    return true;
}

/* ---- text ---------------------------------------------------------------- */

struct rn_view rn_epk_print(const struct rn_epk *e, char out[RN_EPK_TEXT_MAX])
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < e->len; i++) {
        out[2 * i] = digits[e->bytes[i] >> 4];
        out[2 * i + 1] = digits[e->bytes[i] & 0xf];
    }
    return rn_view_of(out, 2 * e->len);
}

enum rn_code rn_epk_parse(struct rn_view text, struct rn_epk *out,
                          struct rn_err *err)
{
    struct rn_epk e = { .len = text.len / 2 };
    bool good = text.len % 2 == 0 && e.len <= RN_EPK_MAX;

    for (size_t i = 0; good && i < e.len; i++) {
        int high = rn_hex_digit(text.at[2 * i]);
        int low = rn_hex_digit(text.at[2 * i + 1]);
        good = high >= 0 && low >= 0;
        if (good)
            e.bytes[i] = (unsigned char)(high << 4 | low);
    }
    if (!good) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "'%.*s' is not an effective partition key",
                       text.len > 80 ? 80 : (int)text.len, text.at);
    }
    *out = e;
    return RN_OK;
}

/* ---- splitting ----------------------------------------------------------- */

__extension__ typedef unsigned __int128 uint128;

static const uint128 block_max = ((uint128)1 << 126) - 1;
static const uint64_t hash_1_max = UINT32_MAX;

/* The block at that level as a number; missing bytes count as zeros. */
static uint128 get_block(const struct rn_epk *e, size_t level)
{
    uint128 number = 0;

    for (size_t i = level * BLOCK; i < (level + 1) * BLOCK; i++)
        number = number << 8 | (i < e->len ? e->bytes[i] : 0);
    return number;
}

/* Truncates the EPK to that level and appends this block. */
static void set_block(struct rn_epk *e, size_t level, uint128 number)
{
    for (size_t i = 0; i < BLOCK; i++)
        e->bytes[level * BLOCK + i] =
            (unsigned char)(number >> (BLOCK - 1 - i) * 8);
    e->len = (level + 1) * BLOCK;
}

/* The number at the start of an EPK of version 1, as far as it is present. */
static double get_number(const struct rn_epk *e)
{
    uint64_t bits = 0;
    unsigned shift = 56;
    double number;

    if (e->len > 0 && e->bytes[0] > RN_PK_NUMBER)
        return (double)hash_1_max;
    if (e->len < 2 || e->bytes[0] < RN_PK_NUMBER)
        return 0;
    bits = (uint64_t)e->bytes[1] << 56;
    for (size_t i = 2; i < e->len && shift >= 7; i++) {
        shift -= 7;
        bits |= (uint64_t)(e->bytes[i] >> 1) << shift;
        if (!(e->bytes[i] & 1))
            break;
    }
    if (!(bits >> 63))
        return 0; /* negative: no hash is negative */
    bits ^= (uint64_t)1 << 63;
    memcpy(&number, &bits, sizeof(number));
    return number < (double)hash_1_max ? number : (double)hash_1_max;
}

static void set_number(struct rn_epk *e, uint64_t number)
{
    struct sink s = { .at = e->bytes, .room = sizeof(e->bytes) };

    put_number(&s, (double)number);
    e->len = s.len;
}

bool rn_epk_even(const struct rn_pkdef *def, uint32_t i, uint32_t n,
                 struct rn_epk *out)
{
    assert(0 < i && i < n);
    if (def->kind == RN_PKDEF_RANGE)
        return false;
    if (rn_pkdef_version(def) == 1)
        set_number(out, hash_1_max / n * i);
    else
        set_block(out, 0, block_max / n * i);
    return true;
}

static bool middle_1(const struct rn_epk_range *range, struct rn_epk *out)
{
    double low = get_number(&range->min), high = get_number(&range->max);

    set_number(out, (uint64_t)(low + (high - low) / 2));
    return low < high;
}

/* Searches for a bound in the first block and, if the range is within one of
 * its values, in the next; `levels` is the number of blocks. */
static bool middle_2(const struct rn_epk_range *range, size_t levels,
                     struct rn_epk *out)
{
    bool open = false; /* an earlier block is below the upper bound */

    for (size_t level = 0; level < levels; level++) {
        uint128 low = get_block(&range->min, level);
        uint128 high = open ? block_max : get_block(&range->max, level);
        if (high > block_max)
            high = block_max;
        if (low < high && high - low > 1) {
            set_block(out, level, low + (high - low) / 2);
            return true;
        }
        set_block(out, level, low);
        open = open || low < high;
    }
    return false;
}

bool rn_epk_middle(const struct rn_pkdef *def, const struct rn_epk_range *range,
                   struct rn_epk *out)
{
    size_t levels = def->kind == RN_PKDEF_MULTIHASH ? def->count : 1;
    struct rn_epk e = { .len = 0 };

    if (def->kind == RN_PKDEF_RANGE ||
        !(rn_pkdef_version(def) == 1 ? middle_1(range, &e)
                                     : middle_2(range, levels, &e)) ||
        rn_epk_compare(&range->min, &e) >= 0 ||
        rn_epk_compare(&e, &range->max) >= 0)
        return false;
    *out = e;
    return true;
}
