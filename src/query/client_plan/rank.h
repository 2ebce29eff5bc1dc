/* rank.h -- ORDER BY RANK: full-text and hybrid search; internal to the module.
 *
 *   ORDER BY RANK FullTextScore(c.text, 'swim', 'run')
 *   ORDER BY RANK RRF(FullTextScore(...), VectorDistance(...), [2, 1])
 *
 * The score of a text depends on all others: on their number, their lengths and
 * how many contain the word.  So clients query these statistics first, and then
 * the best documents by each score; they fuse the ranks themselves (RRF).  The
 * plan (hybrid.c) has the texts that they send.
 */
#ifndef RN_QUERY_CLIENT_PLAN_RANK_H
#define RN_QUERY_CLIENT_PLAN_RANK_H

#include "query/check/check.h"

enum { RN_RANK_PARTS_MAX = 32 };

struct rn_rank {
    const struct rn_expr *parts[RN_RANK_PARTS_MAX]; /* scores and distances */
    uint32_t count;
    const struct rn_expr *weights; /* NULL: all equal */
};

/* The parts of a checked ORDER BY RANK. */
void rn_rank_of(const struct rn_select *s, struct rn_rank *out);

/* Reports what FROM may not contain, before its names are bound. */
void rn_check_rank_sources(struct rn_check *c, const struct rn_select *s);
/* Rejects what cannot be ranked; names and calls are already bound. */
enum rn_code rn_check_rank(struct rn_check *c,
                           const struct rn_select *s) RN_CHECK;

#endif
