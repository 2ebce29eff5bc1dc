/* query_metrics.h -- execution metrics of a query page, for clients that
 * request them. */
#ifndef RN_REST_QUERY_QUERY_METRICS_H
#define RN_REST_QUERY_QUERY_METRICS_H

#include "access/access_path.h"
#include "rest/context.h"

struct rn_query_cost {
    const struct rn_query *query;
    const struct rn_query_stats *stats;
    const struct rn_policy *policy;
    const struct rn_access *access; /* NULL: no documents were read */
    int64_t begun_ns, parsed_ns, ran_ns;
    int64_t load_ns; /* the part of that spent loading documents, if measured */
};

/* Records the cost, and adds the headers that were requested. */
void rn_query_metrics_add(struct rn_context *x,
                          const struct rn_query_cost *cost);

#endif
