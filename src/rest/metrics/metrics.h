/* metrics.h -- the server in numbers, in Prometheus' text format. */
#ifndef RN_REST_METRICS_METRICS_H
#define RN_REST_METRICS_METRICS_H

#include "rest/context.h"

/* All of them, in Prometheus' text. */
enum rn_code rn_metrics_print(struct rn_rest *r, struct rn_buf *out) RN_CHECK;

#endif
