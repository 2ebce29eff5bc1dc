/* check_vector.h -- the semantic check of a vector distance: its distance
 * function and its option; private to the checker. */
#ifndef RN_QUERY_CHECK_CHECK_VECTOR_H
#define RN_QUERY_CHECK_CHECK_VECTOR_H

#include "query/check/check.h"

/* Selects the distance function of a VectorDistance call, and checks its
 * option. */
enum rn_code rn_check_vector(struct rn_check *c, struct rn_expr *e,
                             const struct rn_select *s) RN_CHECK;

#endif
