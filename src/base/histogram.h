/* histogram.h -- histograms with fixed buckets, printed in Prometheus' format.
 *
 * A scale has the upper bounds; the last bucket is for all larger values.
 *
 * Values only; the owner of a shared histogram guards it.
 */
#ifndef RN_BASE_HISTOGRAM_H
#define RN_BASE_HISTOGRAM_H

#include "base/mem.h"

enum { RN_HISTOGRAM_BOUNDS = 14 };

struct rn_scale {
    uint64_t bounds[RN_HISTOGRAM_BOUNDS]; /* ascending; unused ones are 0 */
    double unit; /* factor from stored to printed values */
    int digits;  /* of a printed sum, behind the point */
};

extern const struct rn_scale rn_scale_times; /* in ns, printed in s */
extern const struct rn_scale rn_scale_sizes; /* powers of two to 1,024 */

struct rn_histogram {
    uint64_t counts[RN_HISTOGRAM_BOUNDS + 1]; /* not cumulative */
    uint64_t sum;
};

size_t rn_scale_bucket(const struct rn_scale *s, uint64_t value);
void rn_histogram_add(struct rn_histogram *h, const struct rn_scale *s,
                      uint64_t value);

/* Prints its samples in Prometheus' text format.  `label` is one more beside
 * `le`, such as op="GET", or empty. */
enum rn_code rn_histogram_print(const struct rn_histogram *h,
                                const struct rn_scale *s, const char *name,
                                const char *label, struct rn_buf *out) RN_CHECK;

#endif
