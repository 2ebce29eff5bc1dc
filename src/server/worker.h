/* worker.h -- a thread pool with fair time slices for work that would block a
 * loop: queries, long lists.
 *
 * Only as many runs as there are permits work at the same time.  A run lives on
 * the stack of its thread and cannot return to a queue, so there are more
 * threads than permits: a run that has used up a time slice while others wait
 * gives up its permit (rn_workers_pause) and waits on its thread until it has
 * one again.
 *
 * The next permit goes to a principal with the fewest permits, among these to
 * the one served longest ago, and of its runs to the one that has had the least
 * time.  So a short query waits for about a slice, whatever else runs, and one
 * principal cannot keep another from its share.
 *
 * A run whose slice is over is *long*. There is a thread for each permit in
 * addition to those of the long runs, so a new run can always start; threads
 * are started as they are needed.  One principal may have half of the long
 * runs; a run beyond that limit is preempted: it discards its work and is added
 * again as a long one, which starts when another has ended.
 *
 * Threads: any, unless stated otherwise.
 */
#ifndef RN_SERVER_WORKER_H
#define RN_SERVER_WORKER_H

#include "base/env.h"
#include "base/histogram.h"

struct rn_workers;

struct rn_workers_opts {
    struct rn_env *env;
    unsigned permits;     /* runs that work at the same time */
    unsigned runs_max;    /* started and not finished; at least `permits` */
    unsigned waiting_max; /* of one principal, not yet started */
    int64_t slice_ns;     /* of a run while others wait */
};

/* A run's place in the order of permits; private to the pool. */
struct rn_permit {
    struct rn_permit *next;
    uint64_t principal;
    uint64_t order;
    int64_t since_ns; /* since when it runs, or waits */
    int64_t used_ns, waited_ns;
    uint64_t slice; /* the pool's slice number when it began to wait; once it
                       has a permit, the number granted in between */
    bool is_started, is_granted, is_long;
};

/* A unit of work, embedded in its owner.  The owner may reuse or free it as
 * soon as it runs. */
struct rn_work {
    void (*run)(struct rn_work *work); /* thread: a worker */
    uint64_t principal;                /* whose share it uses */
    bool is_long;                      /* it was preempted before */
    bool is_limited;                   /* counts against waiting_max */
    /* The time waited for permits so far, and the permits granted to others
     * before its first; valid while it runs. */
    int64_t waited_ns;
    uint64_t waited_slices;

    /* Private to the pool. */
    struct rn_permit turn;
    struct worker *worker;
};

enum rn_code rn_workers_new(const struct rn_workers_opts *opts,
                            struct rn_workers **out,
                            struct rn_err *err) RN_CHECK;
/* Runs what is queued, then ends.  NULL is allowed. */
void rn_workers_free(struct rn_workers *w);
/* False if it is limited and too much work of its principal is queued. */
bool rn_workers_add(struct rn_workers *w, struct rn_work *work) RN_CHECK;
/* Called often by a run: returns at once unless its slice is over and another
 * run waits, else when it has a permit again.  True if it is preempted.
 * Thread: its worker. */
bool rn_workers_pause(struct rn_workers *w, struct rn_work *work) RN_CHECK;

/* Adds the waiting times of finished work. */
void rn_workers_add_waits(struct rn_workers *w, struct rn_histogram *out);

#endif
