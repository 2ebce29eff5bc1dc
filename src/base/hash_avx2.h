/* hash_avx2.h -- rn_hash64 for processors with AVX2.
 *
 * For hash.c, which chooses, and its test.
 */
#ifndef RN_BASE_HASH_AVX2_H
#define RN_BASE_HASH_AVX2_H

#include "base/hash.h"

#include <stdbool.h>

/* Twice as fast on a kilobyte; only where the processor has AVX2. */
uint64_t rn_hash64_avx2(struct rn_view bytes, uint64_t seed);

static inline bool rn_hash_has_avx2(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2");
#else
    return false;
#endif
}

#endif
