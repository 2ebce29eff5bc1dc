/* clock.h -- the real env with a monotonic clock that a test can push ahead. */
#ifndef RN_TESTS_LIB_CLOCK_H
#define RN_TESTS_LIB_CLOCK_H

#include "base/env.h"

#include <stdatomic.h>

struct test_clock {
    struct rn_env env;
    struct rn_env_ops ops;
    _Atomic int64_t ahead_ns;
};

static inline int64_t test_clock_mono_ns(struct rn_env *env)
{
    struct test_clock *clock = (struct test_clock *)env;

    return rn_mono_ns(rn_env_real()) + atomic_load(&clock->ahead_ns);
}

static inline void test_clock_init(struct test_clock *clock)
{
    clock->ops = *rn_env_real()->ops;
    clock->ops.mono_ns = test_clock_mono_ns;
    clock->env.ops = &clock->ops;
    atomic_init(&clock->ahead_ns, 0);
}

static inline void test_clock_push_ms(struct test_clock *clock, int64_t ms)
{
    atomic_fetch_add(&clock->ahead_ns, ms * 1000000);
}

#endif
