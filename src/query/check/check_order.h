/* check_order.h -- the semantic check of ORDER BY against the indexing policy;
 * private to the checker. */
#ifndef RN_QUERY_CHECK_CHECK_ORDER_H
#define RN_QUERY_CHECK_CHECK_ORDER_H

#include "query/check/check.h"

/* Sets the default direction of a checked key that has neither ASC nor DESC. */
void rn_order_set_direction(struct rn_order *order);
/* Rejects an ORDER BY that no index of the container serves. */
enum rn_code rn_check_order(struct rn_check *c, struct rn_select *s) RN_CHECK;

#endif
