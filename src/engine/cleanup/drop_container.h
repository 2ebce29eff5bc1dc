/* drop_container.h -- what a deleted container leaves, its keys, and what a
 * deleted database leaves, its objects: removed in slices. */
#ifndef RN_ENGINE_CLEANUP_DROP_CONTAINER_H
#define RN_ENGINE_CLEANUP_DROP_CONTAINER_H

#include "engine/engine.h"
#include "store/store.h"

/* What a deleted container and a deleted database leave. */
enum rn_code rn_doomed_put(struct rn_txn *txn, uint32_t number) RN_CHECK;
enum rn_code rn_dropped_put(struct rn_txn *txn, uint32_t database) RN_CHECK;
/* RN_NOT_FOUND if a database has not been deleted, or has left nothing. */
enum rn_code rn_dropped_find(struct rn_txn *txn, uint32_t database) RN_CHECK;
/* How many databases have been deleted and have left objects. */
enum rn_code rn_dropped_count(struct rn_txn *txn, uint32_t *out) RN_CHECK;
void rn_sweeper_wake(struct rn_engine *e);

#endif
