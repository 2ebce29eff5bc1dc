/* check_computed.h -- computed properties: the validation of their definitions,
 * and the expressions that replace them in a query. */
#ifndef RN_QUERY_CHECK_CHECK_COMPUTED_H
#define RN_QUERY_CHECK_CHECK_COMPUTED_H

#include "base/err.h"
#include "query/check/policy.h"

struct rn_check;
struct rn_expr;

/* Validates the expressions of computed properties.  RN_BAD_REQUEST says which
 * expression is wrong, and why. */
enum rn_code rn_query_check_policy(const struct rn_policy *p,
                                   struct rn_arena *a,
                                   struct rn_err *err) RN_CHECK;

/* The expression of the computed property of that name; NULL if the policy has
 * none.  Private to the checker. */
enum rn_code rn_check_computed(struct rn_check *c, struct rn_view name,
                               struct rn_expr **out) RN_CHECK;

#endif
