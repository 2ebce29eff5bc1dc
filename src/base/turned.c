/* turned.c -- see turned.h. */
#include "base/turned.h"

static int64_t wall_ms(struct rn_env *env)
{
    struct rn_turned *t = (struct rn_turned *)env;

    return rn_wall_ms(rn_env_real()) + atomic_load(&t->ahead_ms);
}

void rn_turned_init(struct rn_turned *t)
{
    t->ops = *rn_env_real()->ops;
    t->ops.name = "turned";
    t->ops.wall_ms = wall_ms;
    t->env.ops = &t->ops;
    atomic_init(&t->ahead_ms, 0);
}

int64_t rn_turned_advance(struct rn_turned *t, int64_t ms)
{
    return atomic_fetch_add(&t->ahead_ms, ms) + ms;
}
