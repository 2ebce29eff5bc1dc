/* histogram.c -- see histogram.h. */
#include "base/histogram.h"

#define MS UINT64_C(1000000)

const struct rn_scale rn_scale_times = {
    .bounds = { MS / 2, MS, MS * 5 / 2, 5 * MS, 10 * MS, 25 * MS, 50 * MS,
                100 * MS, 250 * MS, 500 * MS, 1000 * MS, 2500 * MS, 5000 * MS,
                10000 * MS },
    .unit = 1e-9,
    .digits = 9,
};

const struct rn_scale rn_scale_sizes = {
    .bounds = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024 },
    .unit = 1,
};

/* How many bounds it has. */
static size_t length(const struct rn_scale *s)
{
    size_t n = 0;

    while (n < RN_HISTOGRAM_BOUNDS && s->bounds[n])
        n++;
    return n;
}

size_t rn_scale_bucket(const struct rn_scale *s, uint64_t value)
{
    size_t n = length(s), i = 0;

    while (i < n && value > s->bounds[i])
        i++;
    return i;
}

void rn_histogram_add(struct rn_histogram *h, const struct rn_scale *s,
                      uint64_t value)
{
    h->counts[rn_scale_bucket(s, value)]++;
    h->sum += value;
}

enum rn_code rn_histogram_print(const struct rn_histogram *h,
                                const struct rn_scale *s, const char *name,
                                const char *label, struct rn_buf *out)
{
    const char *comma = *label ? "," : "", *open = *label ? "{" : "",
               *close = *label ? "}" : "";
    unsigned long long total = 0;
    size_t n = length(s);
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i <= n; i++) {
        total += h->counts[i];
        rc = rn_buf_printf(out, "%s_bucket{%s%sle=\"", name, label, comma);
        if (!rc && i < n)
            rc = rn_buf_printf(out, "%g", (double)s->bounds[i] * s->unit);
        else if (!rc)
            rc = rn_buf_add(out, RN_LIT("+Inf"));
        if (!rc)
            rc = rn_buf_printf(out, "\"} %llu\n", total);
    }
    if (!rc) {
        rc = rn_buf_printf(out, "%s_sum%s%s%s %.*f\n%s_count%s%s%s %llu\n",
                           name, open, label, close, s->digits,
                           (double)h->sum * s->unit, name, open, label, close,
                           total);
    }
    return rc;
}
