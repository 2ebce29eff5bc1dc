/* parameters.h -- the parameters of a query, bound to the values of its
 * request; private to the checker. */
#ifndef RN_QUERY_CHECK_PARAMETERS_H
#define RN_QUERY_CHECK_PARAMETERS_H

#include "query/check/check.h"

/* Indexes the parameters of the request, and binds a parameter to its value. */
enum rn_code rn_parameters_read(struct rn_check *c) RN_CHECK;
enum rn_code rn_parameters_bind(struct rn_check *c, struct rn_expr *e) RN_CHECK;

#endif
