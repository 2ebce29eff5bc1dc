/* distinct_hash.c -- see distinct_hash.h. */
#include "query/distinct_hash.h"

#include "base/bytes.h"

/* Seeds and constants of the clients. */
static const struct rn_hash128 of_root = { .high = UINT64_C(0x8846e00284c4cf1f),
                                           .low =
                                               UINT64_C(0xbfc2359eafc0e2b7) };
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

void rn_distinct_hash_put(struct rn_hash128 h, char out[RN_DISTINCT_HASH_LEN])
{
    rn_put_u64(out, h.low);
    rn_put_u64(out + 8, h.high);
}

/* M of a hash. */
static struct rn_hash128 mix(struct rn_hash128 h, struct rn_hash128 seed)
{
    char bytes[RN_DISTINCT_HASH_LEN];

    rn_distinct_hash_put(h, bytes);
    return rn_murmur128(rn_view_of(bytes, sizeof(bytes)), seed);
}

/* ---- numbers ------------------------------------------------------------- */

enum {
    MANTISSA_BITS = 52,
    EXTRA_BITS = 10,
    EXTRA_SHIFT = 6,
    EXPONENT_BIAS = 1023,
};

/* An integer that no double is: the upper bits of its magnitude, cut and not
 * rounded, and behind them ten more. */
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

static struct rn_hash128 hash_number(const struct rn_value *v,
                                     struct rn_hash128 seed)
{
    double real = rn_value_real(v);
    uint16_t extra = 0;
    uint64_t bits;
    char bytes[10];

    memcpy(&bits, &real, sizeof(bits));
    if (v->is_integer && !is_double(v->integer))
        bits = cut_integer(v->integer, &extra);
    rn_put_u64(bytes, bits);
    rn_put_u16(bytes + 8, extra);
    return rn_murmur128(rn_view_of(bytes, sizeof(bytes)), mix(of_number, seed));
}

/* ---- values -------------------------------------------------------------- */

static enum rn_code hash(const struct rn_value *v, struct rn_hash128 seed,
                         struct rn_arena *arena, struct rn_hash128 *out);

/* Clients take a number for an integer by its text, so that -0.0 is not 0, and
 * 9007199254740993.0 is what a double makes of it.  A value has forgotten the
 * text; the tape has not. */
static void look_at_text(const struct rn_value_walk *w, struct rn_value *v)
{
    struct rn_view text;
    bool is_plain = true;

    if (v->kind != RN_VALUE_NUMBER || w->over->form != RN_FORM_TAPE)
        return;
    text = rn_json_text(w->tape.json, w->tape.value);
    for (size_t i = 0; i < text.len && is_plain; i++)
        is_plain =
            text.at[i] == '-' || (text.at[i] >= '0' && text.at[i] <= '9');
    if (is_plain)
        return;
    v->is_integer = false;
    v->real = rn_json_double(w->tape.json, w->tape.value);
}

static enum rn_code hash_array(const struct rn_value *v, struct rn_hash128 seed,
                               struct rn_arena *arena, struct rn_hash128 *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, arena);
    struct rn_hash128 index = of_index, item;
    enum rn_code rc = RN_OK;

    *out = mix(of_array, seed);
    while (!rc && rn_value_walk_next(&w)) {
        look_at_text(&w, &w.value);
        rc = hash(&w.value, index, arena, &item);
        if (!rc && w.value.kind != RN_VALUE_UNDEFINED)
            *out = mix(item, *out);
        index.high += ++index.low == 0;
    }
    return rc ? rc : w.rc;
}

static enum rn_code hash_object(const struct rn_value *v,
                                struct rn_hash128 seed, struct rn_arena *arena,
                                struct rn_hash128 *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, arena);
    struct rn_hash128 names = mix(of_string, of_name), all = { 0 }, one;
    enum rn_code rc = RN_OK;

    while (!rc && rn_value_walk_next(&w)) {
        look_at_text(&w, &w.value);
        rc = hash(&w.value, rn_murmur128(w.name, names), arena, &one);
        if (rc || w.value.kind == RN_VALUE_UNDEFINED)
            continue;
        all.low ^= one.low;
        all.high ^= one.high;
    }
    *out = mix(of_object, seed);
    if (all.low || all.high)
        *out = mix(all, *out);
    return rc ? rc : w.rc;
}

static enum rn_code hash(const struct rn_value *v, struct rn_hash128 seed,
                         struct rn_arena *arena, struct rn_hash128 *out)
{
    switch ((enum rn_value_kind)v->kind) {
    case RN_VALUE_UNDEFINED:
        *out = seed;
        break;
    case RN_VALUE_NULL:
        *out = mix(of_null, seed);
        break;
    case RN_VALUE_BOOL:
        *out = mix(v->truth ? of_true : of_false, seed);
        break;
    case RN_VALUE_NUMBER:
        *out = hash_number(v, seed);
        break;
    case RN_VALUE_STRING:
        *out = rn_murmur128(v->text, mix(of_string, seed));
        break;
    case RN_VALUE_ARRAY:
        return hash_array(v, seed, arena, out);
    case RN_VALUE_OBJECT:
        return hash_object(v, seed, arena, out);
    }
    return RN_OK;
}

enum rn_code rn_distinct_hash(const struct rn_value *v, struct rn_arena *arena,
                              struct rn_hash128 *out)
{
    return hash(v, of_root, arena, out);
}

enum rn_code rn_distinct_hash_only(const struct rn_value *v,
                                   struct rn_arena *arena, struct rn_value *out)
{
    struct rn_value from = *v; /* out may be v */
    struct rn_hash128 h;
    char *bytes;
    enum rn_code rc;

    *out = from;
    if (from.kind < RN_VALUE_ARRAY || from.form == RN_FORM_HASH)
        return RN_OK;
    rc = rn_distinct_hash(&from, arena, &h);
    bytes = rc ? NULL : rn_arena_alloc(arena, RN_DISTINCT_HASH_LEN);
    if (!bytes)
        return rc ? rc : RN_TOO_LARGE;
    rn_distinct_hash_put(h, bytes);
    *out = rn_value_hashed((enum rn_value_kind)from.kind, bytes);
    return RN_OK;
}
