/* distinct.c -- see distinct.h. */
#include "json/distinct.h"

#include "base/bytes.h"

/* Seeds and constants of the SDKs. */
const struct rn_hash128 rn_distinct_root = {
    .high = UINT64_C(0x8846e00284c4cf1f), .low = UINT64_C(0xbfc2359eafc0e2b7)
};
static const struct rn_hash128 of_null = { .high = UINT64_C(0x156c918bf564ee48),
                                           .low =
                                               UINT64_C(0x1380f68bb3b0cfe4) };
static const struct rn_hash128 of_false = {
    .high = UINT64_C(0xe9fc8a4c531cd0dd), .low = UINT64_C(0xc1be517fe893b40c)
};
static const struct rn_hash128 of_true = { .high = UINT64_C(0x788488365c8a985d),
                                           .low =
                                               UINT64_C(0xf86d4abf9a412e74) };
static const struct rn_hash128 of_string = {
    .high = UINT64_C(0x09481be8ef4b56dd), .low = UINT64_C(0x61f53f0a44204cfb)
};
static const struct rn_hash128 of_number = {
    .high = UINT64_C(0x790be1eabd7b9481), .low = UINT64_C(0x2400e8b894ce9c2a)
};
static const struct rn_hash128 of_array = {
    .high = UINT64_C(0xa014512c858eb115), .low = UINT64_C(0xfa573b014c4dc18e)
};
static const struct rn_hash128 of_object = {
    .high = UINT64_C(0x3dcf187245822449), .low = UINT64_C(0x77b285ac511aef30)
};
static const struct rn_hash128 of_index = {
    .high = UINT64_C(0x5b1cc3178bd9c593), .low = UINT64_C(0xfe057204216db999)
};
static const struct rn_hash128 of_name = { .high = UINT64_C(0x7c8be2eba72e4634),
                                           .low =
                                               UINT64_C(0xc915dde058492a8a) };

void rn_distinct_put(struct rn_hash128 h, char out[RN_DISTINCT_LEN])
{
    rn_put_u64(out, h.low);
    rn_put_u64(out + 8, h.high);
}

struct rn_hash128 rn_distinct_mix(struct rn_hash128 h, struct rn_hash128 seed)
{
    char bytes[RN_DISTINCT_LEN];

    rn_distinct_put(h, bytes);
    return rn_murmur128(rn_view_of(bytes, sizeof(bytes)), seed);
}

struct rn_hash128 rn_distinct_null(struct rn_hash128 seed)
{
    return rn_distinct_mix(of_null, seed);
}

struct rn_hash128 rn_distinct_bool(bool truth, struct rn_hash128 seed)
{
    return rn_distinct_mix(truth ? of_true : of_false, seed);
}

struct rn_hash128 rn_distinct_string(struct rn_view text,
                                     struct rn_hash128 seed)
{
    return rn_murmur128(text, rn_distinct_mix(of_string, seed));
}

/* ---- numbers ------------------------------------------------------------- */

enum {
    MANTISSA_BITS = 52,
    EXTRA_BITS = 10,
    EXTRA_SHIFT = 6,
    EXPONENT_BIAS = 1023,
};

/* For an integer that no double represents: the upper bits of its magnitude,
 * truncated and not rounded, and ten more bits. */
static uint64_t cut_integer(int64_t i, uint16_t *extra)
{
    uint64_t magnitude = i < 0 ? -(uint64_t)i : (uint64_t)i;
    unsigned top = 63 - (unsigned)__builtin_clzll(magnitude);
    uint64_t below = magnitude << (62 - top) & ((UINT64_C(1) << 62) - 1);
    uint64_t sign = i < 0 ? UINT64_C(1) << 63 : 0;

    *extra = (uint16_t)((below & ((1 << EXTRA_BITS) - 1)) << EXTRA_SHIFT);
    return sign | (uint64_t)(top + EXPONENT_BIAS) << MANTISSA_BITS |
           below >> EXTRA_BITS;
}

static bool is_double(int64_t i)
{
    uint64_t magnitude = i < 0 ? -(uint64_t)i : (uint64_t)i;

    return !i || 63 - __builtin_clzll(magnitude) - __builtin_ctzll(magnitude) <=
                     MANTISSA_BITS;
}

static struct rn_hash128 hash_bits(uint64_t bits, uint16_t extra,
                                   struct rn_hash128 seed)
{
    char bytes[10];

    rn_put_u64(bytes, bits);
    rn_put_u16(bytes + 8, extra);
    return rn_murmur128(rn_view_of(bytes, sizeof(bytes)),
                        rn_distinct_mix(of_number, seed));
}

struct rn_hash128 rn_distinct_real(double real, struct rn_hash128 seed)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    return hash_bits(bits, 0, seed);
}

struct rn_hash128 rn_distinct_integer(int64_t i, struct rn_hash128 seed)
{
    uint16_t extra = 0;
    uint64_t bits;

    if (is_double(i))
        return rn_distinct_real((double)i, seed);
    bits = cut_integer(i, &extra);
    return hash_bits(bits, extra, seed);
}

bool rn_distinct_is_plain(struct rn_view number)
{
    for (size_t i = 0; i < number.len; i++) {
        if (number.at[i] != '-' && (number.at[i] < '0' || number.at[i] > '9'))
            return false;
    }
    return true;
}

/* ---- lists --------------------------------------------------------------- */

struct rn_hash128 rn_distinct_array(struct rn_hash128 seed,
                                    struct rn_hash128 *first)
{
    *first = of_index;
    return rn_distinct_mix(of_array, seed);
}

void rn_distinct_next(struct rn_hash128 *item_seed)
{
    item_seed->high += ++item_seed->low == 0;
}

struct rn_hash128 rn_distinct_member(struct rn_view name)
{
    return rn_murmur128(name, rn_distinct_mix(of_string, of_name));
}

struct rn_hash128 rn_distinct_object(struct rn_hash128 members,
                                     struct rn_hash128 seed)
{
    struct rn_hash128 out = rn_distinct_mix(of_object, seed);

    if (members.low || members.high)
        out = rn_distinct_mix(members, out);
    return out;
}
