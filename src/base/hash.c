/* hash.c -- see hash.h.
 *
 * With hash_avx2.c the only place that includes <xxhash.h>.  Its code is
 * compiled in here: that saves loading a shared library at start, and lets the
 * streaming state live on the stack, whose layout the library does not promise.
 */
#include "base/hash.h"

#include "base/hash_avx2.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- xxh3 ---------------------------------------------------------------- */

static struct rn_hash128 from_xxh(XXH128_hash_t h)
{
    return (struct rn_hash128){ .high = h.high64, .low = h.low64 };
}

uint64_t rn_hash64_plain(struct rn_view bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.at, bytes.len, seed);
}

/* Up to XXH3_MIDSIZE_MAX bytes it uses no vectors. */
uint64_t rn_hash64(struct rn_view bytes, uint64_t seed)
{
    return bytes.len > XXH3_MIDSIZE_MAX && rn_hash_has_avx2()
               ? rn_hash64_avx2(bytes, seed)
               : rn_hash64_plain(bytes, seed);
}

struct rn_hash128 rn_hash128(struct rn_view bytes, uint64_t seed)
{
    return from_xxh(XXH3_128bits_withSeed(bytes.at, bytes.len, seed));
}

/* reset_withSeed reads these two to skip work it did before. */
static void prepare(XXH3_state_t *state)
{
    state->seed = 0;
    state->extSecret = NULL;
}

uint64_t rn_hash64_two(struct rn_view a, struct rn_view b, uint64_t seed)
{
    XXH3_state_t state;

    prepare(&state);
    XXH3_64bits_reset_withSeed(&state, seed);
    XXH3_64bits_update(&state, a.at, a.len);
    XXH3_64bits_update(&state, b.at, b.len);
    return XXH3_64bits_digest(&state);
}

struct rn_hash128 rn_hash128_two(struct rn_view a, struct rn_view b,
                                 uint64_t seed)
{
    XXH3_state_t state;

    prepare(&state);
    XXH3_128bits_reset_withSeed(&state, seed);
    XXH3_128bits_update(&state, a.at, a.len);
    XXH3_128bits_update(&state, b.at, b.len);
    return from_xxh(XXH3_128bits_digest(&state));
}

/* ---- murmur3 ------------------------------------------------------------- */

/* `n` little-endian bytes as a number, whatever the machine. */
static uint64_t load(const char *at, size_t n)
{
    uint64_t x = 0;

    while (n-- > 0)
        x = x << 8 | (unsigned char)at[n];
    return x;
}

static uint32_t rotate32(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static uint64_t rotate64(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint32_t scramble32(uint32_t k)
{
    return rotate32(k * 0xcc9e2d51u, 15) * 0x1b873593u;
}

uint32_t rn_murmur32(struct rn_view bytes, uint32_t seed)
{
    size_t whole = bytes.len / 4 * 4;
    uint32_t h = seed;

    for (size_t i = 0; i < whole; i += 4) {
        h ^= scramble32((uint32_t)load(bytes.at + i, 4));
        h = rotate32(h, 13) * 5 + 0xe6546b64u;
    }
    if (whole < bytes.len)
        h ^= scramble32((uint32_t)load(bytes.at + whole, bytes.len - whole));

    h ^= (uint32_t)bytes.len;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

static uint64_t scramble_first(uint64_t k)
{
    return rotate64(k * UINT64_C(0x87c37b91114253d5), 31) *
           UINT64_C(0x4cf5ad432745937f);
}

static uint64_t scramble_second(uint64_t k)
{
    return rotate64(k * UINT64_C(0x4cf5ad432745937f), 33) *
           UINT64_C(0x87c37b91114253d5);
}

static uint64_t finish64(uint64_t h)
{
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 33;
}

struct rn_hash128 rn_murmur128(struct rn_view bytes, struct rn_hash128 seed)
{
    size_t whole = bytes.len / 16 * 16, rest = bytes.len - whole;
    uint64_t h1 = seed.low, h2 = seed.high;

    for (size_t i = 0; i < whole; i += 16) {
        h1 ^= scramble_first(load(bytes.at + i, 8));
        h1 = (rotate64(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= scramble_second(load(bytes.at + i + 8, 8));
        h2 = (rotate64(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    if (rest > 8)
        h2 ^= scramble_second(load(bytes.at + whole + 8, rest - 8));
    if (rest > 0)
        h1 ^= scramble_first(load(bytes.at + whole, rest < 8 ? rest : 8));

    h1 ^= bytes.len;
    h2 ^= bytes.len;
    h1 += h2;
    h2 += h1;
    h1 = finish64(h1);
    h2 = finish64(h2);
    h1 += h2;
    h2 += h1;
    return (struct rn_hash128){ .high = h2, .low = h1 };
}
