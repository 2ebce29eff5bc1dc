/* hash_avx2.c -- rn_hash64 for processors with AVX2; see hash_avx2.h.
 *
 * CMakeLists.txt compiles this file, and no other, for AVX2.  So nothing else
 * belongs here: it would run on processors without AVX2.
 */
#include "base/hash_avx2.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t rn_hash64_avx2(struct rn_view bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes.at, bytes.len, seed);
}
