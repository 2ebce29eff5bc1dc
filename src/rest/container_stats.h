/* container_stats.h -- document counts and sizes of a container, computed on
 * request. */
#ifndef RN_REST_CONTAINER_STATS_H
#define RN_REST_CONTAINER_STATS_H

#include "rest/context.h"

enum rn_code rn_container_stats_add_headers(struct rn_context *x) RN_CHECK;

/* Reads a container; first counts the statistics that the request wants. */
rn_handler_fn rn_rest_container_read;

#endif
