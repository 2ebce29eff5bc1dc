/* hybrid_rank.h -- ORDER BY RANK where nobody else will do it.
 *
 * Over several partition key values clients carry out the plan themselves; for
 * one value they send the query as it is and expect the answer.  Then we do
 * what they would have done, by the same plan and in one snapshot: ask for the
 * statistics, ask for the best documents by each score, fuse the ranks.
 */
#ifndef RN_REST_QUERY_HYBRID_RANK_H
#define RN_REST_QUERY_HYBRID_RANK_H

#include "access/access_path.h"
#include "rest/query/request.h"

struct rn_ranking {
    struct rn_asked *asked;
    struct rn_context *x;
    struct rn_snapshot *reading;
    const struct rn_documents_scan *scope;
    struct rn_query_limits limits; /* of each of its queries */
    uint64_t skip;                 /* rows that earlier pages had */
};

/* Hands the rows to the sink, best first; `stats` is what all its queries did
 * together. */
enum rn_code rn_ranking_run(struct rn_ranking *k, const struct rn_sink *sink,
                            struct rn_query_stats *stats) RN_CHECK;

#endif
