/* commit.h -- the committer: every write of a store goes through here.
 *
 * It takes what has been queued, runs as many operations as fit in one store
 * transaction (a group), commits once, and then tells each its outcome.  So the
 * cost of a disk sync is shared, and operations are decided one after another
 * although they come from many threads.
 *
 * Who is told one outcome mostly asks for the next thing at once.  So a group
 * that follows another waits until it has three in four as many operations, but
 * no longer than the other took, and 2 ms at most: else every other sync would
 * be for a few.  Who is alone never waits.
 *
 * Promises
 *   P1  operations queued by one thread run, and are answered, in that order;
 *       background slices likewise among themselves
 *   P2  every queued operation is answered exactly once, at the latest while
 *       the committer is freed
 *   P3  RN_OK is told only after a commit that returned RN_OK
 *   P4  an operation that fails leaves no write, and harms no neighbour
 *   P5  if the store fails in mid-group, the group's operations are run again
 *       once, each in a transaction of its own.  Not after RN_UNKNOWN, which
 *       all of them are told, nor after RN_READ_ONLY, which would come again.
 *       If it cannot even begin, all that wait are told why
 *   P6  when the store is full, operations that free space go on
 *   P7  a store that is busy costs time, not answers; but clients that find
 *       it busy for 10 s are told so
 *   P8  of background slices a group holds at most one, after its clients'
 *       operations; one that found no room is a group by itself next time
 *
 * Threads: rn_committer_queue, _wake and _status any; `step`, and with it
 * run, publish and done, one at a time, in the env's task.
 */
#ifndef RN_ENGINE_COMMIT_H
#define RN_ENGINE_COMMIT_H

#include "engine/operation.h"

#include "base/histogram.h"

enum {
    RN_GROUP_MAX = 1024,          /* operations in a group */
    RN_GROUP_REDO_MAX = 8 << 20,  /* what a group writes; a larger one is
                                     alone */
    RN_COMMITTER_QUEUE_MAX = 4096 /* operations in flight, by default */
};

struct rn_committer;

/* Called after each commit, before its answers, with the group's operations
 * linked by `next`.  Those whose `code` is RN_OK are now in the store. */
typedef void rn_committer_publish_fn(void *context,
                                     const struct rn_operation *group);

/* Asked at every step, on the committer's thread: a background slice that is
 * due, or NULL and in `wait_ns` when to ask again at the latest. */
typedef struct rn_operation *rn_committer_due_fn(void *context,
                                                 int64_t *wait_ns);

/* Zero means the default. */
struct rn_committer_opts {
    struct rn_lock lock;              /* what its transactions name */
    uint32_t queue_max;               /* in flight; background apart */
    rn_committer_publish_fn *publish; /* NULL: nobody wants to know */
    void *publish_context;
    rn_committer_due_fn *due; /* NULL: nothing falls due */
    void *due_context;
};

struct rn_committer_status {
    struct rn_histogram sizes; /* of groups that were committed */
    struct rn_histogram times; /* likewise, from begin to on disk; in ns */
    uint64_t groups;           /* how many */
    uint64_t operations;       /* answered */
    uint64_t largest;          /* operations in the largest group */
    uint64_t aborted;          /* groups that the store failed in mid-way */
    uint64_t busy;             /* begins that found the store busy */
    uint32_t in_flight;        /* queued and not yet answered */
};

enum rn_code rn_committer_new(struct rn_env *env, struct rn_store *store,
                              const struct rn_committer_opts *opts,
                              struct rn_committer **out,
                              struct rn_err *err) RN_CHECK;

/* Answers whatever is queued, then ends.  From now on queueing is refused; if
 * the store is busy, so are the operations.  NULL is fine. */
void rn_committer_free(struct rn_committer *c);

/* RN_THROTTLED when too many are in flight, RN_BUSY while the committer is
 * being freed; a refused operation stays the caller's and its `done` is not
 * called. */
enum rn_code rn_committer_queue(struct rn_committer *c,
                                struct rn_operation *op) RN_CHECK;

/* Makes it ask what is due: the clock has been put forward. */
void rn_committer_wake(struct rn_committer *c);

void rn_committer_status(struct rn_committer *c,
                         struct rn_committer_status *out);

#endif
