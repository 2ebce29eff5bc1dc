/* handlers.h -- the thread pool that calls the program's functions.
 *
 * A thread is started when a job waits and none is idle, up to a limit, and
 * ends after a while without a job.  All are tasks of the env, so a simulation
 * steps them.
 *
 * Threads: any may push; the host's alone does the rest.
 */
#ifndef RN_CLIENT_PROCESSOR_HANDLERS_H
#define RN_CLIENT_PROCESSOR_HANDLERS_H

#include "base/env.h"

/* Embedded in its owner, and must stay valid until it has run. */
struct rn_job {
    struct rn_job *next;
    void (*run)(struct rn_job *job); /* on a thread of the pool */
    bool is_queued;                  /* guarded by the pool's lock */
};

struct rn_handlers;

/* NULL without memory. */
struct rn_handlers *rn_handlers_new(struct rn_env *env, size_t limit);
/* Waits for running jobs; queued ones are dropped.  NULL is fine. */
void rn_handlers_free(struct rn_handlers *h);

void rn_handlers_push(struct rn_handlers *h, struct rn_job *job);
/* True if the job was still queued: then it will not run. */
bool rn_handlers_cancel(struct rn_handlers *h, struct rn_job *job);
/* Ends idle threads; starts one for jobs that found none. */
void rn_handlers_trim(struct rn_handlers *h);

/* Is this thread one of any pool, inside a job? */
bool rn_handlers_is_inside(void);

#endif
