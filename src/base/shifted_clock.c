/* shifted_clock.c -- see shifted_clock.h. */
#include "base/shifted_clock.h"

static int64_t wall_ms(struct rn_env *env)
{
    struct rn_shifted_clock *t = (struct rn_shifted_clock *)env;

    return rn_wall_ms(rn_env_real()) + atomic_load(&t->ahead_ms);
}

void rn_shifted_clock_init(struct rn_shifted_clock *t)
{
    t->ops = *rn_env_real()->ops;
    t->ops.name = "turned";
    t->ops.wall_ms = wall_ms;
    t->env.ops = &t->ops;
    atomic_init(&t->ahead_ms, 0);
}

int64_t rn_shifted_clock_advance(struct rn_shifted_clock *t, int64_t ms)
{
    return atomic_fetch_add(&t->ahead_ms, ms) + ms;
}
