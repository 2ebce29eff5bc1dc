/* worker.h -- a small pool of threads for what a loop must not do itself:
 * queries, scripts, long lists.
 */
#ifndef RN_SERVER_WORKER_H
#define RN_SERVER_WORKER_H

#include "base/env.h"
#include "base/queue.h"

struct rn_workers;

/* Something to do; embedded in its owner. */
struct rn_work {
    void (*run)(struct rn_work *work); /* thread: a worker */
    struct rn_work *next;              /* the pool's own */
};

enum rn_code rn_workers_new(struct rn_env *env, unsigned count,
                            struct rn_workers **out,
                            struct rn_err *err) RN_CHECK;
/* Runs what is queued, then ends.  NULL is fine. */
void rn_workers_free(struct rn_workers *w);
/* Any thread. */
void rn_workers_add(struct rn_workers *w, struct rn_work *work);

#endif
