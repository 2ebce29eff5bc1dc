/* worker.h -- a pool of threads for what a loop must not do itself: queries,
 * long lists.
 *
 * Only as many runs as there are permits work at the same time.  A run lives on
 * the stack of its thread and cannot go back into a queue, so there are more
 * threads than permits: a run that has had a time slice while others wait gives
 * its permit away (rn_workers_pause) and waits on its thread until it has one
 * again.
 *
 * The next permit goes to a principal with the fewest permits, among these to
 * the one served longest ago, and of its runs to the one that has had the least
 * time.  So a short query waits for about a slice, whatever else runs, and one
 * principal cannot keep another from its share.
 *
 * A run whose slice is over is *long*.  There is a thread for each permit
 * beside those of the long runs, so a new run can always start; threads are
 * started as they are needed.  One principal may have half of the long runs;
 * one that would be one too many is put off: it gives up what it has done and
 * is added again as a long one, which starts when another has ended.
 *
 * Threads: any, unless told otherwise.
 */
#ifndef RN_SERVER_WORKER_H
#define RN_SERVER_WORKER_H

#include "base/env.h"
#include "base/histogram.h"
#include "base/queue.h"

struct rn_workers;

struct rn_workers_opts {
    struct rn_env *env;
    unsigned permits;     /* runs that work at the same time */
    unsigned runs_max;    /* started and not finished; at least the permits */
    unsigned waiting_max; /* of one principal, to start */
    int64_t slice_ns;     /* that a run may have while others wait */
};

/* A place in the order of permits; the pool's own. */
struct rn_permit {
    struct rn_permit *next;
    uint64_t principal;
    uint64_t order;
    int64_t since_ns; /* that it runs, or that it waits */
    int64_t used_ns, waited_ns;
    uint64_t slice; /* the pool's last one when it began to wait; once it has
                       a permit, how many were given meanwhile */
    bool is_started, is_granted, is_long;
};

/* Something to do; embedded in its owner, who may use it again, or free it, as
 * soon as it runs. */
struct rn_work {
    void (*run)(struct rn_work *work); /* thread: a worker */
    uint64_t principal;                /* whose share it takes */
    bool is_long;                      /* it was put off before */
    /* For permits so far, and how many others were given before the first;
     * while it runs. */
    int64_t waited_ns;
    uint64_t waited_slices;

    /* The pool's own. */
    struct rn_permit turn;
    struct worker *worker;
};

enum rn_code rn_workers_new(const struct rn_workers_opts *opts,
                            struct rn_workers **out,
                            struct rn_err *err) RN_CHECK;
/* Runs what is queued, then ends.  NULL is fine. */
void rn_workers_free(struct rn_workers *w);
/* False if too much of its principal waits already. */
bool rn_workers_add(struct rn_workers *w, struct rn_work *work) RN_CHECK;
/* Called by a run, often: returns at once unless its slice is over and somebody
 * waits, else when it is its turn again.  True if it is put off.  Thread: its
 * worker. */
bool rn_workers_pause(struct rn_workers *w, struct rn_work *work) RN_CHECK;

/* How long finished work had waited. */
void rn_workers_add_waits(struct rn_workers *w, struct rn_histogram *out);

#endif
