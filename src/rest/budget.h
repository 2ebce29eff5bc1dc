/* budget.h -- throughput, where the operator wants it enforced. */
#ifndef RN_REST_BUDGET_H
#define RN_REST_BUDGET_H

#include "rest/context.h"

/* Finds the offer that pays for this request, if any does, and that it has
 * something left.  RN_THROTTLED. */
enum rn_code rn_budget_check(struct rn_context *x) RN_CHECK;
void rn_budget_spend(struct rn_context *x, double units);
/* RN_THROTTLED: too much of the principal's work waits already. */
enum rn_code rn_budget_shed(struct rn_context *x) RN_CHECK;

#endif
