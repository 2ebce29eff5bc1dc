/* features.h -- feature negotiation: what a client must support to merge a
 * plan; internal to the module. */
#ifndef RN_QUERY_CLIENT_PLAN_FEATURES_H
#define RN_QUERY_CLIENT_PLAN_FEATURES_H

#include "query/client_plan/plan.h"

/* RN_BAD_REQUEST with a fault if the plan needs a feature that is not in the
 * client's list.  A client that sends no list is assumed to support all. */
enum rn_code rn_plan_check_features(const struct rn_plan *p,
                                    struct rn_view supported,
                                    struct rn_faults *faults) RN_CHECK;

#endif
