/* dice.h -- numbers that look random and repeat with their seed. */
#ifndef POWER_DICE_H
#define POWER_DICE_H

#include <stdbool.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

static inline uint64_t dice_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The dice of one thing among many: a round, a state, a group. */
static inline struct dice dice_of(uint64_t seed, uint64_t which)
{
    return (struct dice){ dice_mix(seed) ^ dice_mix(~which) };
}

static inline uint64_t dice_next(struct dice *d)
{
    return dice_mix(d->state += UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t dice_below(struct dice *d, uint64_t n)
{
    return dice_next(d) % n;
}

static inline bool dice_percent(struct dice *d, unsigned percent)
{
    return dice_below(d, 100) < percent;
}

#endif
