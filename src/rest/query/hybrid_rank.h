/* hybrid_rank.h -- ORDER BY RANK on the server: hybrid search by reciprocal
 * rank fusion, within one partition key value.
 *
 * Over several partition key values clients execute the plan themselves; for
 * one value they send the query as it is and expect the result.  Then the
 * server executes the same plan in one snapshot: it queries the statistics,
 * queries the best documents by each score, and fuses the ranks.
 */
#ifndef RN_REST_QUERY_HYBRID_RANK_H
#define RN_REST_QUERY_HYBRID_RANK_H

#include "access/access_path.h"
#include "rest/query/request.h"

struct rn_hybrid_rank {
    struct rn_query_request *request;
    struct rn_context *x;
    struct rn_snapshot *reading;
    const struct rn_documents_scan *scope;
    struct rn_query_limits limits; /* of each of the plan's queries */
    uint64_t skip;                 /* rows sent in earlier pages */
};

/* Hands the rows to the sink, best first; `stats` are the totals of all queries
 * of the plan. */
enum rn_code rn_hybrid_rank_run(struct rn_hybrid_rank *k,
                                const struct rn_sink *sink,
                                struct rn_query_stats *stats) RN_CHECK;

#endif
