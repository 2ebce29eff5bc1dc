/* hash.h -- hash functions: xxh3 for checksums, MurmurHash3 for partition keys.
 *
 *   rn_hash64, rn_hash128     xxh3: fast, good, and frozen since xxHash 0.8.0,
 *                             so the numbers may be written to disk
 *   rn_murmur32, rn_murmur128 MurmurHash3 x86_32 and x64_128, because Cosmos
 *                             places partition keys by them, and its clients
 *                             compare values by the second
 *
 * None of them resists an attacker that chooses the bytes.  Values only; any
 * thread; the same numbers on every machine.
 */
#ifndef RN_BASE_HASH_H
#define RN_BASE_HASH_H

#include "base/mem.h"

#include <stdint.h>

/* Halves as numbers; printed or stored, the high one goes first. */
struct rn_hash128 {
    uint64_t high, low;
};

uint64_t rn_hash64(struct rn_view bytes, uint64_t seed);
struct rn_hash128 rn_hash128(struct rn_view bytes, uint64_t seed);

/* The hash of `a` and `b` concatenated. */
uint64_t rn_hash64_two(struct rn_view a, struct rn_view b, uint64_t seed);
struct rn_hash128 rn_hash128_two(struct rn_view a, struct rn_view b,
                                 uint64_t seed);

uint32_t rn_murmur32(struct rn_view bytes, uint32_t seed);
/* `low` is what the algorithm calls h1, `high` its h2. */
struct rn_hash128 rn_murmur128(struct rn_view bytes, struct rn_hash128 seed);

/* rn_hash64 without vector instructions: on every processor the same number. */
uint64_t rn_hash64_plain(struct rn_view bytes, uint64_t seed);

#endif
