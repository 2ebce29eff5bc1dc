/* metrics.h -- the body of /metrics, in Prometheus' text format. */
#ifndef RN_REST_METRICS_METRICS_H
#define RN_REST_METRICS_METRICS_H

#include "rest/context.h"

/* Prints all metrics. */
enum rn_code rn_metrics_print(struct rn_rest *r, struct rn_buf *out) RN_CHECK;

#endif
