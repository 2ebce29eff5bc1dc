/* by_container.h -- the metrics with labels for database and container. */
#ifndef RN_REST_METRICS_BY_CONTAINER_H
#define RN_REST_METRICS_BY_CONTAINER_H

#include "rest/context.h"

/* Prints the metrics by container; and the number under which a container's
 * requests are counted. */
void rn_by_container_print(struct rn_rest *r, struct rn_buf *out);
uint64_t rn_by_container_number(struct rn_rid container);

#endif
