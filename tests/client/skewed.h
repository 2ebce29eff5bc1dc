/* skewed.h -- an env as one host of a simulated fleet sees it: its clocks are
 * off and drift, and it can be paused.
 *
 * Tasks started in it run in the env below, unless the host is paused: then
 * none of them is stepped, as of a process that is stopped.
 *
 * Threads: one.
 */
#ifndef RN_TESTS_CLIENT_SKEWED_H
#define RN_TESTS_CLIENT_SKEWED_H

#include "base/env.h"

struct skewed {
    struct rn_env env; /* first: what the host gets */
    struct rn_env_ops ops;
    struct rn_env *inner;
    int64_t ahead_ms; /* of the wall clock */
    int drift;        /* percent that the clocks run faster */
    bool is_paused;
    struct skewed_task *tasks;
};

void skewed_init(struct skewed *s, struct rn_env *inner);
/* Steps all its tasks soon. */
void skewed_wake(struct skewed *s);
void skewed_pause(struct skewed *s, bool is_paused);

#endif
