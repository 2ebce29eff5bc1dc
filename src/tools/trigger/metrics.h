/* metrics.h -- the metrics and the health of a trigger, for its endpoints. */
#ifndef RN_TOOLS_TRIGGER_METRICS_H
#define RN_TOOLS_TRIGGER_METRICS_H

#include "tools/trigger/trigger.h"

/* The metrics are in the text format of Prometheus, the
 * health is a JSON object. */
enum rn_code rn_trigger_print_metrics(struct rn_trigger *trigger,
                                      struct rn_buf *out) RN_CHECK;
enum rn_code rn_trigger_print_health(struct rn_trigger *trigger, bool *is_live,
                                     bool *is_ready,
                                     struct rn_buf *out) RN_CHECK;

#endif
