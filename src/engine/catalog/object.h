/* object.h -- an object of the catalog, in memory and as a row. */
#ifndef RN_ENGINE_CATALOG_OBJECT_H
#define RN_ENGINE_CATALOG_OBJECT_H

#include "engine/catalog/catalog.h"
#include "store/store.h"

/* Encodes an object as a row of the store; decoding makes a new one with one
 * reference.  A container's ranges are read from `txn`. */
enum rn_code rn_object_new(enum rn_kind kind, struct rn_rid rid,
                           struct rn_view id, struct rn_view body,
                           struct rn_object **out) RN_CHECK;
enum rn_code rn_object_encode(const struct rn_object *o,
                              struct rn_buf *out) RN_CHECK;
enum rn_code rn_object_decode(struct rn_txn *txn, enum rn_kind kind,
                              struct rn_rid rid, struct rn_view bytes,
                              struct rn_object **out,
                              struct rn_err *err) RN_CHECK;

struct rn_object *rn_object_share(struct rn_object *o);
void rn_object_release(struct rn_object *o); /* NULL is fine */

#endif
