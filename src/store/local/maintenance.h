/* maintenance.h -- background maintenance of the embedded store: checkpoints,
 * WAL segments, memtable flushes, backpressure. */
#ifndef RN_STORE_LOCAL_MAINTENANCE_H
#define RN_STORE_LOCAL_MAINTENANCE_H

#include "store/local/local.h"

/* A step of the maintenance thread; run as the env's task, or by the test if
 * opts.manual.
 */
int64_t rn_local_maintain(void *local);
/* A step of the checkpoint thread; run only as a task. */
int64_t rn_local_flush(void *local);
/* rn_wal_prepare; poisons the store if a sync failed. */
enum rn_code rn_local_prepare(struct rn_local *l, bool *ready,
                              struct rn_err *err) RN_CHECK;
/* Starts a checkpoint and advances it up to the rename that makes it count. */
enum rn_code rn_local_checkpoint_begin(struct rn_local *l,
                                       struct rn_err *err) RN_CHECK;
/* Starts a checkpoint if none is in progress and completes it. */
enum rn_code rn_local_checkpoint(struct rn_local *l,
                                 struct rn_err *err) RN_CHECK;
/* Waits until another checkpoint is durable.  False if there is none by
 * `until`, if it failed, or if it would bring nothing new. */
bool rn_local_await_checkpoint(struct rn_local *l,
                               const struct timespec *until);
/* True if there are commits after the durable checkpoint.  Called with the
 * state lock held, or without a maintenance thread. */
bool rn_local_has_news(struct rn_local *l);
/* `limit`, or in a small store a share of its size, but at least `least`. */
uint64_t rn_local_limit(struct rn_local *l, uint64_t limit, uint64_t share,
                        uint64_t least);
/* Called now and then by the maintenance thread and the checkpoint thread, with
 * a store for context: yields the processor unless writers would soon have to
 * wait for them. */
void rn_local_give_way(void *local);
/* Called after a commit: wakes the maintenance thread if there is work. */
void rn_local_nudge(struct rn_local *l);
/* Backpressure: how long a writer must wait for the maintenance thread; 0: not
 * at all. */
int64_t rn_local_throttle_ns(struct rn_local *l);

#endif
