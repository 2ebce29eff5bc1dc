/* index_metrics.h -- index utilization of a query, for clients that request
 * it. */
#ifndef RN_REST_QUERY_INDEX_METRICS_H
#define RN_REST_QUERY_INDEX_METRICS_H

#include "rest/query/query_metrics.h"

/* Adds the header: the indexes that the query uses, and those that it could
 * use. */
void rn_index_metrics_add(struct rn_context *x,
                          const struct rn_query_cost *cost, bool is_old);

#endif
