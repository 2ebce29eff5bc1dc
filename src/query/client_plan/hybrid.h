/* hybrid.h -- the plan of a hybrid search: the queries whose ranks a client
 * fuses; internal to the module. */
#ifndef RN_QUERY_CLIENT_PLAN_HYBRID_H
#define RN_QUERY_CLIENT_PLAN_HYBRID_H

#include "query/client_plan/plan.h"

/* {"globalStatisticsQuery": ...} */
void rn_hybrid_print(const struct rn_plan *p, struct rn_json_out *o);

#endif
