/* where_equalities.h -- predicate analysis: the values that equality predicates
 * of WHERE leave possible for a path. */
#ifndef RN_QUERY_WHERE_WHERE_EQUALITIES_H
#define RN_QUERY_WHERE_WHERE_EQUALITIES_H

#include "query/query.h"

/* The values that WHERE allows for a path, from equality predicates. */
struct rn_where_equalities {
    const struct rn_value *values;
    uint32_t count;  /* 0: no document can match */
    bool is_limited; /* false: any value is possible */
};

/* If WHERE leaves one id and one partition key, a point read answers the
 * query. */
enum rn_code rn_where_equalities_find(const struct rn_query *q,
                                      const struct rn_json_path *path,
                                      struct rn_arena *a,
                                      struct rn_where_equalities *out) RN_CHECK;

#endif
