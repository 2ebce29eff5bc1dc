/* prng.h -- a deterministic pseudo-random number generator (xoshiro256**).
 *
 * For simulations and generated tests.  Never for keys, ids or anything that
 * must not be guessed: those come from rn_random.
 *
 * The same seed gives the same numbers on every machine, for ever: a seed in a
 * failure report must replay the failure.  Values only; one thread each.
 */
#ifndef RN_BASE_PRNG_H
#define RN_BASE_PRNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rn_prng {
    uint64_t state[4];
};

void rn_prng_init(struct rn_prng *c, uint64_t seed);
uint64_t rn_prng_next(struct rn_prng *c);
/* Uniform in [0, n); n is not 0. */
uint64_t rn_prng_below(struct rn_prng *c, uint64_t n);
/* True in `percent` of a hundred calls; 0 is never and 100 always. */
bool rn_prng_percent(struct rn_prng *c, unsigned percent);
void rn_prng_fill(struct rn_prng *c, void *out, size_t len);

#endif
