/* where_equalities.h -- predicate analysis: the values that equality predicates
 * of WHERE leave possible for a path. */
#ifndef RN_QUERY_WHERE_WHERE_EQUALITIES_H
#define RN_QUERY_WHERE_WHERE_EQUALITIES_H

#include "query/query.h"

/* The values that WHERE allows for a path, from equality predicates. */
struct rn_query_pins {
    const struct rn_value *values;
    uint32_t count; /* 0: no document can match */
    bool is_pinned; /* false: any value is possible */
};

/* If the id and the partition key are pinned, a point read answers the
 * query. */
enum rn_code rn_query_pin(const struct rn_query *q,
                          const struct rn_json_path *path, struct rn_arena *a,
                          struct rn_query_pins *out) RN_CHECK;

#endif
