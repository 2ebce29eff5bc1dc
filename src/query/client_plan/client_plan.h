/* client_plan.h -- the query plan for SDKs: how to execute a query over several
 * ranges; internal to the module.
 *
 * An SDK sends the rewritten text to each range and merges the rows as the plan
 * says: it sorts by orderByItems, adds up aggregates, groups by groupByItems,
 * drops repetitions, and applies TOP or OFFSET and LIMIT.
 */
#ifndef RN_QUERY_CLIENT_PLAN_CLIENT_PLAN_H
#define RN_QUERY_CLIENT_PLAN_CLIENT_PLAN_H

#include "query/parse/ast.h"
#include "query/parse/print.h"
#include "query/query.h"

struct rn_plan {
    const struct rn_query *query;
    const struct rn_select *select; /* of a DCOUNT: the inner one */
    bool is_whole;                  /* one partition holds the whole result */
    bool is_ordered, is_grouped, is_vector;
    /* SELECT COUNT(1) FROM (SELECT DISTINCT ...): the name of the count. */
    bool is_dcount;
    struct rn_view dcount_alias;
    bool has_top, has_offset;
    uint64_t top, offset, limit;
};

/* RN_BAD_REQUEST with a fault if the rows cannot be merged. */
enum rn_code rn_plan_make(const struct rn_query *q, bool is_one_partition,
                          struct rn_faults *faults,
                          struct rn_plan *out) RN_CHECK;

/* RN_BAD_REQUEST with a fault if the plan needs a feature that is not in the
 * client's list.  A client that sends no list is assumed to support all. */
enum rn_code rn_plan_check_features(const struct rn_plan *p,
                                    struct rn_view supported,
                                    struct rn_faults *faults) RN_CHECK;

/* The text for each range; empty if the original text is used. */
enum rn_code rn_plan_rewrite(const struct rn_plan *p,
                             struct rn_buf *out) RN_CHECK;

/* Parts of such texts: the payload that becomes the client's row, and WHERE
 * with a placeholder for the client's own filter. */
void rn_plan_payload(struct rn_printer *p, const struct rn_select *s);
void rn_plan_filter(struct rn_printer *p, const struct rn_select *s);

/* Prints a number of the plan, or null. */
void rn_plan_out_count(struct rn_json_out *o, const char *name, bool is_there,
                       uint64_t count);

/* The call, if the expression is exactly one aggregate call; else NULL. */
const struct rn_expr *rn_plan_aggregate(const struct rn_expr *e);

#endif
