/* budget.h -- rate limiting: provisioned throughput in request units, if it is
 * enforced (--enforce-throughput), and queued calls per principal. */
#ifndef RN_REST_BUDGET_H
#define RN_REST_BUDGET_H

#include "rest/context.h"

/* Finds the offer that this request is charged to, if there is one, and checks
 * that it has units left.  RN_THROTTLED. */
enum rn_code rn_budget_check(struct rn_context *x) RN_CHECK;
void rn_budget_spend(struct rn_context *x, double units);
/* RN_THROTTLED: too many calls of this principal are queued already. */
enum rn_code rn_budget_shed(struct rn_context *x) RN_CHECK;

#endif
