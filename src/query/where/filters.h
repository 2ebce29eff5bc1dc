/* filters.h -- predicate analysis: the paths of the document that WHERE reads,
 * from which the index advisor suggests an index. */
#ifndef RN_QUERY_WHERE_FILTERS_H
#define RN_QUERY_WHERE_FILTERS_H

#include "query/query.h"

/* The paths of the document that WHERE reads, each once; at most 256 of
 * them. */
enum rn_code rn_query_filter_paths(const struct rn_query *q, struct rn_arena *a,
                                   const struct rn_json_path **out,
                                   uint32_t *count) RN_CHECK;

#endif
