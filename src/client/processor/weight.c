/* weight.c -- a moving average: the newest interval counts one half. */
#include "client/processor/weight.h"

enum { MINUTE_MS = 60000 };

static const int64_t ms_ns = 1000000;

uint32_t rn_weight_clamp(uint64_t value)
{
    return value < RN_WEIGHT_MAX ? (uint32_t)value : RN_WEIGHT_MAX;
}

void rn_weight_init(struct rn_weight *w, uint64_t stored, int64_t now_ns)
{
    *w = (struct rn_weight){ .since_ns = now_ns,
                             .average = rn_weight_clamp(stored),
                             .is_known = stored > 0 };
}

void rn_weight_add(struct rn_weight *w, uint64_t changes)
{
    w->changes += changes;
}

uint32_t rn_weight_read(struct rn_weight *w, uint32_t interval_ms,
                        int64_t now_ns)
{
    uint64_t ms = (uint64_t)((now_ns - w->since_ns) / ms_ns);
    uint32_t rate;

    if (ms == 0 || ms < interval_ms)
        return w->average;
    rate =
        rn_weight_clamp(rn_weight_clamp(w->changes) * (uint64_t)MINUTE_MS / ms);
    w->average = w->is_known ? w->average / 2 + rate / 2 : rate;
    w->is_known = true;
    w->changes = 0;
    w->since_ns = now_ns;
    return w->average;
}
