/* access_ops.h -- the table of operations that each kind of access path
 * implements.
 *
 *   scan.c, keys.c, points.c, index_range.c, index_order.c, index_extremes.c
 *                     one kind each
 *   natural.c         the order of rids, for any of them
 *
 * Thread: the snapshot's.
 */
#ifndef RN_ACCESS_ACCESS_OPS_H
#define RN_ACCESS_ACCESS_OPS_H

#include "access/access_path.h"

struct rn_access_ops {
    const char *name; /* the name that operators see */
    /* Called after the choice was made: the kind, and its index or its keys. */
    enum rn_code (*open)(struct rn_access *a, const struct rn_access_ask *ask,
                         struct rn_arena *arena);
    /* RN_NOT_FOUND after the last; `at` is the document's place. */
    enum rn_code (*next)(struct rn_access *a, struct rn_view *body);
    void (*close)(struct rn_access *a); /* unopened is fine */
};

extern const struct rn_access_ops rn_access_scan, rn_access_keys,
    rn_access_points, rn_access_index_range, rn_access_index_order,
    rn_access_index_extremes;

#endif
