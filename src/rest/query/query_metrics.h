/* query_metrics.h -- what a page of a query cost, for clients that ask. */
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
    int64_t load_ns; /* for documents, of the time that it ran; if measured */
};

/* Notes it, and adds the headers that were asked for. */
void rn_costs_add(struct rn_context *x, const struct rn_query_cost *cost);
/* index_metrics.c: which indexes it uses, and which it could. */
void rn_utilization_add(struct rn_context *x, const struct rn_query_cost *cost,
                        bool is_old);

#endif
