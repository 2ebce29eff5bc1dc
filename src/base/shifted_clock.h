/* shifted_clock.h -- an env whose wall clock a test can move forward.
 *
 * The code that stamps documents and expires them takes the time from this env,
 * so that a test need not wait.  Everything else, the monotonic clock included,
 * is the machine's: sleeps and timeouts keep their pace.
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
/* Moves the clock forward; returns its total offset. */
int64_t rn_shifted_clock_advance(struct rn_shifted_clock *t, int64_t ms);

#endif
