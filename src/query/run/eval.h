/* eval.h -- the evaluator of expressions; internal to the module. */
#ifndef RN_QUERY_RUN_EVAL_H
#define RN_QUERY_RUN_EVAL_H

#include "query/run/run.h"

/* Evaluates an expression on the current frame. */
enum rn_code rn_eval(struct rn_run *r, const struct rn_expr *e,
                     struct rn_value *out) RN_CHECK;

#endif
