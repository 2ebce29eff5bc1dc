/* index_advisor.h -- index advisor: finds an index that would have saved
 * documents that a query read, so that the engine may create it. */
#ifndef RN_ACCESS_INDEX_ADVISOR_H
#define RN_ACCESS_INDEX_ADVISOR_H

#include "access/access_path.h"

/* A query that has run. */
struct rn_index_advisor {
    const struct rn_access *access;
    const struct rn_query *query;
    const struct rn_policy *policy;
    const struct rn_query_stats *stats;
};
/* `count` is 0 if none exists. */
enum rn_code rn_index_advisor_find(const struct rn_index_advisor *m,
                                   struct rn_arena *arena,
                                   struct rn_index_key keys[RN_INDEX_KEYS_MAX],
                                   uint32_t *count) RN_CHECK;
/* Reports the missing index, and the one that was used, to the engine. */
void rn_index_advisor_note(const struct rn_index_advisor *m,
                           const struct rn_object *o, struct rn_arena *arena);

#endif
