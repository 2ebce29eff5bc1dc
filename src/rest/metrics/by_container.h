/* by_container.h -- what the metrics tell of containers by their names. */
#ifndef RN_REST_METRICS_BY_CONTAINER_H
#define RN_REST_METRICS_BY_CONTAINER_H

#include "rest/context.h"

/* Those that name containers; and under which number one's
 * requests are counted. */
void rn_series_print(struct rn_rest *r, struct rn_buf *out);
uint64_t rn_series_number(struct rn_rid container);

#endif
