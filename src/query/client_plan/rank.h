/* rank.h -- ORDER BY RANK: by how well documents fit; the module's own.
 *
 *   ORDER BY RANK FullTextScore(c.text, 'swim', 'run')
 *   ORDER BY RANK RRF(FullTextScore(...), VectorDistance(...), [2, 1])
 *
 * How well a text fits depends on all others: on how many there are, how long
 * they are and how many have the word.  So clients ask for these numbers first,
 * and then for the best documents by each score; they fuse the ranks
 * themselves. The plan (hybrid.c) has the texts that they send.
 */
#ifndef RN_QUERY_CLIENT_PLAN_RANK_H
#define RN_QUERY_CLIENT_PLAN_RANK_H

#include "query/check/check.h"
#include "query/client_plan/client_plan.h"

enum { RN_RANK_PARTS_MAX = 32 };

struct rn_rank {
    const struct rn_expr *parts[RN_RANK_PARTS_MAX]; /* scores and distances */
    uint32_t count;
    const struct rn_expr *weights; /* NULL: all the same */
};

/* What a checked ORDER BY RANK is made of. */
void rn_rank_of(const struct rn_select *s, struct rn_rank *out);

/* Refuses what cannot be ranked; names and calls have been bound. */
enum rn_code rn_check_rank(struct rn_check *c, const struct rn_select *s,
                           bool is_inner) RN_CHECK;

/* {"globalStatisticsQuery": ...} */
void rn_hybrid_print(const struct rn_plan *p, struct rn_json_out *o);

#endif
