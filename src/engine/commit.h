/* commit.h -- the committer: group commit.  Every write of a store goes through
 * its queue.
 *
 * The committer takes the queued operations, runs as many as fit in one store
 * transaction (a group), commits once, and then reports each outcome.  So the
 * cost of a disk sync is shared, and operations are decided one after another
 * although they come from many threads.
 *
 * A client that gets its outcome mostly sends the next request at once.  So a
 * group that follows another waits until it has three in four as many
 * operations, but no longer than the other took, and 2 ms at most: otherwise
 * every second sync would serve only a few operations.  A single client never
 * waits.
 *
 * Promises
 *   P1  operations queued by one thread run, and are answered, in that order;
 *       background slices likewise among themselves
 *   P2  every queued operation is answered exactly once, at the latest while
 *       the committer is freed
 *   P3  an operation gets RN_OK only after a commit that returned RN_OK
 *   P4  an operation that fails leaves no write, and does not affect the
 *       other operations of its group
 *   P5  if the store fails in mid-group, the group's operations are run again
 *       once, each in a transaction of its own.  Not after RN_UNKNOWN, which
 *       all of them get, nor after RN_READ_ONLY, which would come again.
 *       If the transaction cannot even begin, all pending operations fail
 *       with that reason
 *   P6  when the store is full, operations that free space go on
 *   P7  a busy store delays operations and does not fail them; but after 10 s
 *       the clients' operations fail with RN_BUSY
 *   P8  a group holds at most one background slice, after its clients'
 *       operations; a slice that did not fit is a group by itself next time
 *
 * Threads: rn_committer_queue, _wake and _status any; `step`, and with it run,
 * publish and done, one at a time, in the env's task.
 */
#ifndef RN_ENGINE_COMMIT_H
#define RN_ENGINE_COMMIT_H

#include "engine/operation.h"

#include "base/histogram.h"

enum {
    RN_GROUP_MAX = 1024,          /* operations in a group */
    RN_GROUP_REDO_MAX = 8 << 20,  /* bytes; a larger operation is alone */
    RN_COMMITTER_QUEUE_MAX = 4096 /* operations in flight, by default */
};

struct rn_committer;

/* Called after each commit, before its answers, with the group's operations
 * linked by `next`.  Those whose `code` is RN_OK are now in the store. */
typedef void rn_committer_publish_fn(void *context,
                                     const struct rn_operation *group);

/* Called at every step, on the committer's thread.  Returns a background slice
 * that is due, or NULL and sets `wait_ns` to the time until the next call at
 * the latest. */
typedef struct rn_operation *rn_committer_due_fn(void *context,
                                                 int64_t *wait_ns);

/* Zero means the default. */
struct rn_committer_opts {
    struct rn_lock lock;              /* passed to its transactions */
    uint32_t queue_max;               /* in flight, background apart */
    rn_committer_publish_fn *publish; /* NULL: no callback */
    void *publish_context;
    rn_committer_due_fn *due; /* NULL: there is no background work */
    void *due_context;
};

struct rn_committer_status {
    struct rn_histogram sizes; /* operations per committed group */
    struct rn_histogram times; /* of a group, from begin to durable; in ns */
    uint64_t groups;           /* committed */
    uint64_t operations;       /* answered */
    uint64_t largest;          /* operations in the largest group */
    uint64_t aborted;          /* groups in which the store failed */
    uint64_t busy;             /* begins that found the store busy */
    uint32_t in_flight;        /* queued and not yet answered */
};

enum rn_code rn_committer_new(struct rn_env *env, struct rn_store *store,
                              const struct rn_committer_opts *opts,
                              struct rn_committer **out,
                              struct rn_err *err) RN_CHECK;

/* Answers every queued operation, then ends.  From now on queueing is refused;
 * if the store is busy, the queued operations fail too.  NULL is fine. */
void rn_committer_free(struct rn_committer *c);

/* RN_THROTTLED when too many are in flight, RN_BUSY while the committer is
 * being freed; a refused operation stays the caller's and its `done` is not
 * called. */
enum rn_code rn_committer_queue(struct rn_committer *c,
                                struct rn_operation *op) RN_CHECK;

/* Makes the committer ask again what is due, because the clock was put forward.
 */
void rn_committer_wake(struct rn_committer *c);

void rn_committer_status(struct rn_committer *c,
                         struct rn_committer_status *out);

#endif
