/* container_stats.h -- document counts and sizes of a container, computed on
 * request. */
#ifndef RN_REST_CONTAINER_STATS_H
#define RN_REST_CONTAINER_STATS_H

#include "rest/context.h"

enum rn_code rn_usage_tell(struct rn_context *x) RN_CHECK;

#endif
