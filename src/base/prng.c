/* prng.c -- see prng.h.  xoshiro256** by Blackman and Vigna, its state
 * filled by splitmix64 as they advise. */
#include "base/prng.h"

#include <assert.h>

static uint64_t splitmix64(uint64_t *x)
{
    uint64_t z = *x += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

void rn_prng_init(struct rn_prng *c, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        c->state[i] = splitmix64(&seed);
}

uint64_t rn_prng_next(struct rn_prng *c)
{
    uint64_t *s = c->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rn_prng_below(struct rn_prng *c, uint64_t n)
{
    uint64_t uneven, x;

    assert(n > 0);
    uneven = (0 - n) % n; /* 2^64 mod n: drawing these would favour the low */
    do
        x = rn_prng_next(c);
    while (x < uneven);
    return x % n;
}

bool rn_prng_percent(struct rn_prng *c, unsigned percent)
{
    return rn_prng_below(c, 100) < percent;
}

void rn_prng_fill(struct rn_prng *c, void *out, size_t len)
{
    unsigned char *at = out;
    uint64_t bits = 0;

    for (size_t i = 0; i < len; i++) {
        if (i % 8 == 0)
            bits = rn_prng_next(c);
        at[i] = (unsigned char)(bits & 0xff);
        bits >>= 8;
    }
}
