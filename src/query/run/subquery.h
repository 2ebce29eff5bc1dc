/* subquery.h -- subqueries as values: scalar, EXISTS, ARRAY, ALL, FIRST and
 * LAST; internal to the module. */
#ifndef RN_QUERY_RUN_SUBQUERY_H
#define RN_QUERY_RUN_SUBQUERY_H

#include "query/run/run.h"

enum rn_code rn_eval_subquery(struct rn_run *r, const struct rn_expr *e,
                              struct rn_value *out) RN_CHECK;

#endif
