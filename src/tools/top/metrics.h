/* metrics.h -- a server's /metrics, read: samples with names, labels, values.
 *
 * Counters rise, so what happened between two reads is their difference; a
 * server that was restarted in between gives no difference (0).
 */
#ifndef RN_TOOLS_TOP_METRICS_H
#define RN_TOOLS_TOP_METRICS_H

#include "base/mem.h"

#include <runnel/runnel.h>

struct rn_sample {
    struct rn_view name, labels; /* labels as text: a="x",b="y" */
    double value;
};

struct rn_metrics {
    runnel_reply *reply; /* what the views are of */
    struct rn_sample *samples;
    size_t count;
    int64_t read_ns; /* when */
};

/* A zeroed one may be released.  Returns an enum rn_exit. */
int rn_metrics_read(runnel_client *client, struct rn_metrics *out) RN_CHECK;
void rn_metrics_release(struct rn_metrics *m);

/* The value of a label; at NULL if it is not there.  Escapes stay. */
struct rn_view rn_sample_label(const struct rn_sample *s, const char *label);

/* The sum of all samples of a name, or of those where a label (unless NULL) has
 * this value. */
double rn_metrics_sum(const struct rn_metrics *m, const char *name,
                      const char *label, struct rn_view value);
/* The same of what was added since `before`, a second. */
double rn_metrics_rate(const struct rn_metrics *before,
                       const struct rn_metrics *now, const char *name,
                       const char *label, struct rn_view value);
/* The bound below which a share of what a histogram `NAME_bucket` took since
 * `before` lies, in seconds; 0 if it took nothing, negative if it lies above
 * the last bound, which that is then. */
double rn_metrics_quantile(const struct rn_metrics *before,
                           const struct rn_metrics *now, const char *name,
                           const char *label, struct rn_view value,
                           double share);

#endif
