/* plan.h -- how the results of a query over several ranges are merged: sorted,
 * aggregated, grouped, made distinct, limited; internal to the module. */
#ifndef RN_QUERY_CLIENT_PLAN_PLAN_H
#define RN_QUERY_CLIENT_PLAN_PLAN_H

#include "query/parse/ast.h"
#include "query/query.h"
#include "json/print.h"

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

/* Prints a number of the plan, or null. */
void rn_plan_out_count(struct rn_json_out *o, const char *name, bool is_there,
                       uint64_t count);

/* The call, if the expression is exactly one aggregate call; else NULL. */
const struct rn_expr *rn_plan_aggregate(const struct rn_expr *e);

#endif
