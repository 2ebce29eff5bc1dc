/* check_groups.h -- the semantic check of GROUP BY: a grouped SELECT has keys
 * and aggregates only; private to the checker. */
#ifndef RN_QUERY_CHECK_CHECK_GROUPS_H
#define RN_QUERY_CHECK_CHECK_GROUPS_H

#include "query/check/check.h"

/* Checks SELECT and GROUP BY against each other. */
enum rn_code rn_check_groups(struct rn_check *c, struct rn_select *s) RN_CHECK;
/* Checks that ORDER BY sorts groups by their keys. */
enum rn_code rn_check_group_order(struct rn_check *c,
                                  struct rn_select *s) RN_CHECK;

#endif
