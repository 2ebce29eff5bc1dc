/* catalog_rows.h -- the catalog's rows in the store, within a transaction. */
#ifndef RN_ENGINE_CATALOG_CATALOG_ROWS_H
#define RN_ENGINE_CATALOG_CATALOG_ROWS_H

#include "engine/catalog/catalog.h"
#include "store/store.h"

/* Reads, puts and deletes an object with its names.  Putting fails with
 * RN_CONFLICT if the user has a permission for the same resource; the caller
 * has checked the id. */
enum rn_code rn_object_get(struct rn_txn *txn, struct rn_rid rid,
                           struct rn_object **out, struct rn_err *err) RN_CHECK;
enum rn_code rn_object_put(struct rn_txn *txn, const struct rn_object *o,
                           struct rn_err *err) RN_CHECK;
enum rn_code rn_object_del(struct rn_txn *txn,
                           const struct rn_object *o) RN_CHECK;
/* The rid of a name. */
enum rn_code rn_name_get(struct rn_txn *txn, enum rn_kind kind,
                         struct rn_rid owner, struct rn_view id,
                         struct rn_rid *out) RN_CHECK;

/* Counters of numbers that are never used twice: u32 database | u32 container
 * and user | u32 container number in keys | u64 etag, permission, client key |
 * u32 offer. */
struct rn_counters {
    uint32_t database, container, number;
    uint64_t etag;
    uint32_t offer;
};
enum rn_code rn_counters_take(struct rn_engine *e, struct rn_txn *txn,
                              struct rn_counters *out) RN_CHECK;
enum rn_code rn_counters_give(struct rn_txn *txn,
                              const struct rn_counters *c) RN_CHECK;

#endif
