/* operation.h -- one write to the store, as it waits for the committer.
 *
 * Its owner embeds it, fills it, queues it (commit.h), and may not touch it
 * again until `done`.  The life of one:
 *
 *   queue -> run, perhaps more than once -> done, exactly once
 *
 * What is slow or grows with a document is prepared before queueing: `run` is
 * what must be decided in commit order, and every other write waits for it.
 */
#ifndef RN_ENGINE_OPERATION_H
#define RN_ENGINE_OPERATION_H

#include "store/store.h"

enum {
    /* It makes several writes that must happen in whole or not at all: it runs
     * in an overlay, poured into the transaction only if `run` gave RN_OK.
     * Without this flag `run` decides before it writes. */
    RN_OPERATION_MULTI = 1 << 0,
    /* It frees more than it takes, so it may use a full store's reserve. */
    RN_OPERATION_FREES = 1 << 1,
    /* A slice of work that no client waits for: one a group, at its end. */
    RN_OPERATION_BACKGROUND = 1 << 2,
};

struct rn_operation {
    /* Checks and writes; whatever it returns is its answer.  It sees what
     * operations before it in the group wrote, ends its cursors, and must be
     * repeatable until `done`: no effect outside the transaction but in its own
     * memory.  Words for a failure go into op->err.  Thread: committer. */
    enum rn_code (*run)(struct rn_operation *op, struct rn_txn *txn);

    /* The row that `run` will look for first; empty: there is none, or it is
     * not known.  May be NULL.  Thread: committer. */
    struct rn_view (*foresee)(const struct rn_operation *op);

    /* The outcome: RN_OK means durable and visible.  `err` is op->err; unless
     * `rc` is RN_OK it has words.  May free the operation or queue it again,
     * must not block.  Thread: committer, or who frees it. */
    void (*done)(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err);

    unsigned flags;
    uint64_t bytes; /* about what it will write: keys and values */

    struct rn_err err; /* `run` writes, the committer completes */

    /* The committer's own. */
    struct rn_operation *next;
    enum rn_code code; /* what `done` will be told */
};

/* A slice of the engine's own work that falls due by the clock.  The
 * committer's. */
struct rn_chore {
    struct rn_operation slice;
    int64_t due; /* second since 1970; RN_NEVER: nothing is to be done */
    bool is_queued;
};

#define RN_NEVER INT64_MAX

/* The slice, made of `like`, if it is due; else NULL, and in `wait_ns` when to
 * ask again at the latest.  Its `done` clears `is_queued`. */
struct rn_operation *rn_chore_take(struct rn_chore *c, int64_t now,
                                   struct rn_operation like, int64_t *wait_ns);

#endif
