/* groups.h -- hash aggregation: GROUP BY, or all rows in one group; internal to
 * the module. */
#ifndef RN_QUERY_RUN_GROUPS_H
#define RN_QUERY_RUN_GROUPS_H

#include "query/run/hash_set.h"
#include "query/run/run.h"

struct rn_groups {
    struct rn_run *run;
    const struct rn_select *select;
    enum rn_hold hold;
    struct rn_arena *arena;
    struct rn_hash_set keys;
    struct rn_group *list;
    uint32_t room;
};

enum rn_code rn_groups_add(struct rn_groups *g) RN_CHECK;
/* Emits one row per group; without GROUP BY there is always one. */
enum rn_code rn_groups_end(struct rn_groups *g, rn_row_fn *row,
                           void *context) RN_CHECK;

#endif
