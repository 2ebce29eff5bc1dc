/* key_predicates.h -- the partition keys and ids to which WHERE limits a query.
 */
#ifndef RN_ACCESS_KEY_PREDICATES_H
#define RN_ACCESS_KEY_PREDICATES_H

#include "access/access_path.h"

/* A partition key value from a query's value; `*is_key` if it can be one. */
struct rn_pk_value rn_access_key_of(const struct rn_value *v, bool *is_key);

/* One of struct rn_access_keys. */
struct rn_access_key {
    struct rn_pk pk;
    struct rn_view id;    /* for a point */
    struct rn_view start; /* the lower bound of its documents' places */
};

/* Sets the kind of access path, SCAN, KEYS or POINTS, and its keys unless it is
 * a scan. */
enum rn_code rn_access_choose_keys(struct rn_access *a,
                                   const struct rn_query *q,
                                   struct rn_arena *arena) RN_CHECK;

#endif
