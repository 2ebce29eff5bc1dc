/* shifted_clock.h -- the machine, with a calendar that a test can put forward.
 *
 * Whoever stamps documents and lets them expire asks this env for the time, so
 * that a test need not wait.  Everything else, the steady clock included, is
 * the machine's: what sleeps or times out keeps its pace.
 *
 * Threads: any.
 */
#ifndef RN_BASE_SHIFTED_CLOCK_H
#define RN_BASE_SHIFTED_CLOCK_H

#include "base/env.h"

#include <stdatomic.h>

struct rn_shifted_clock {
    struct rn_env env; /* first: what callers get */
    struct rn_env_ops ops;
    _Atomic int64_t ahead_ms;
};

void rn_shifted_clock_init(struct rn_shifted_clock *t);
/* Puts the clock forward; returns how far it is ahead by now. */
int64_t rn_shifted_clock_advance(struct rn_shifted_clock *t, int64_t ms);

#endif
