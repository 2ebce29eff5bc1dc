/* metric_table.h -- the table of all metrics: name, type, help text. */
#ifndef RN_REST_METRICS_METRIC_TABLE_H
#define RN_REST_METRICS_METRIC_TABLE_H

#include "base/mem.h"

/* Prints the HELP and TYPE lines of a metric, in Prometheus' text format.  A
 * name that is not in the table is a bug. */
enum rn_code rn_metric_begin(struct rn_buf *out, const char *name) RN_CHECK;

#endif
