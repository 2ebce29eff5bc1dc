/* operation.h -- an operation: one write request in the committer's queue.
 *
 * Its owner embeds it, fills it, queues it (commit.h), and may not touch it
 * again until `done`.  Its life:
 *
 *   queue -> run, perhaps more than once -> done, exactly once
 *
 * Slow work, and work that grows with a document, is done before queueing:
 * `run` only does what must be decided in commit order, and every other write
 * waits for it.
 */
#ifndef RN_ENGINE_OPERATION_H
#define RN_ENGINE_OPERATION_H

#include "store/store.h"

enum {
    /* Its writes are all or nothing: it runs in an overlay, which is applied to
     * the transaction only if `run` returned RN_OK.  Without this flag `run`
     * decides before it writes. */
    RN_OPERATION_MULTI = 1 << 0,
    /* It frees more space than it takes, so it may use the reserve of a full
     * store. */
    RN_OPERATION_FREES = 1 << 1,
    /* A slice of background work: at most one per group, at the end of the
     * group. */
    RN_OPERATION_BACKGROUND = 1 << 2,
};

struct rn_operation {
    /* Checks and writes; its return value is the outcome.  It sees the writes
     * of the operations before it in the group.  It ends its cursors.  It must
     * be repeatable until `done`: no effect outside the transaction except in
     * its own memory.  It writes the message of a failure to op->err.  Thread:
     * committer. */
    enum rn_code (*run)(struct rn_operation *op, struct rn_txn *txn);

    /* The outcome: RN_OK means durable and visible.  `err` is op->err; unless
     * `rc` is RN_OK it has a message.  May free the operation or queue it
     * again, must not block.  Thread: committer, or the thread that frees the
     * committer. */
    void (*done)(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err);

    unsigned flags;
    uint64_t bytes; /* estimate of its writes: keys and values */

    struct rn_err err; /* `run` writes it, the committer completes it */

    /* Used by the committer. */
    struct rn_operation *next;
    enum rn_code code; /* the `rc` of `done` */
};

#endif
