/* drop_container.h -- removes the keys of deleted containers and the objects of
 * deleted databases, in background slices. */
#ifndef RN_ENGINE_CLEANUP_DROP_CONTAINER_H
#define RN_ENGINE_CLEANUP_DROP_CONTAINER_H

#include "engine/background.h"
#include "engine/engine.h"
#include "store/store.h"

/* Mark a deleted container, or a deleted database, for removal. */
enum rn_code rn_drop_mark_container(struct rn_txn *txn,
                                    uint32_t number) RN_CHECK;
enum rn_code rn_drop_mark_database(struct rn_txn *txn,
                                   uint32_t database) RN_CHECK;
/* RN_NOT_FOUND if the database was not deleted, or no object of it remains. */
enum rn_code rn_drop_find_database(struct rn_txn *txn,
                                   uint32_t database) RN_CHECK;
/* The number of deleted databases whose objects remain. */
enum rn_code rn_drop_count_databases(struct rn_txn *txn,
                                     uint32_t *out) RN_CHECK;

/* Due while there may be markers. */
extern const struct rn_background_ops rn_drop_background;

#endif
