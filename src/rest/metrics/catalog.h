/* catalog.h -- every metric there is: its name, its type, what it tells. */
#ifndef RN_REST_METRICS_CATALOG_H
#define RN_REST_METRICS_CATALOG_H

#include "base/mem.h"

/* The lines that come before its samples, in Prometheus' text format.  A name
 * that is not in the table is a bug. */
enum rn_code rn_figure_begin(struct rn_buf *out, const char *name) RN_CHECK;

#endif
