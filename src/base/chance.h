/* chance.h -- numbers that look random and repeat with their seed.
 *
 * For simulations and generated tests.  Never for keys, ids or anything that
 * must not be guessed: those come from rn_random.
 *
 * The same seed gives the same numbers on every machine, for ever: a seed in a
 * failure report must replay the failure.  Values only; one thread each.
 */
#ifndef RN_BASE_CHANCE_H
#define RN_BASE_CHANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rn_chance {
    uint64_t state[4];
};

void rn_chance_init(struct rn_chance *c, uint64_t seed);
uint64_t rn_chance_next(struct rn_chance *c);
/* Uniform in [0, n); n is not 0. */
uint64_t rn_chance_below(struct rn_chance *c, uint64_t n);
/* True in `percent` of a hundred calls; 0 is never and 100 always. */
bool rn_chance_percent(struct rn_chance *c, unsigned percent);
void rn_chance_fill(struct rn_chance *c, void *out, size_t len);

#endif
