/* run.c -- the step limit and the time limit of a run. */
#include "query/run/run.h"

enum { STEPS_PER_LOOK = 1 << 16 }; /* between checks of the clock */

void rn_run_look(struct rn_run *r)
{
    if (r->limits.is_late && !r->is_late)
        r->is_late = r->limits.is_late(r->limits.clock);
    if (r->limits.is_over && !r->is_over)
        r->is_over = r->limits.is_over(r->limits.clock);
}

enum rn_code rn_run_step(struct rn_run *r, uint64_t n)
{
    uint64_t before = r->stats->steps / STEPS_PER_LOOK;

    r->stats->steps += n;
    if (r->stats->steps / STEPS_PER_LOOK != before)
        rn_run_look(r);
    if (r->is_over)
        return rn_fail(r->err, RN_TIMEOUT, "the query takes too long");
    if (r->stats->steps <= r->limits.steps)
        return RN_OK;
    return rn_fail(r->err, RN_TIMEOUT, "the query takes more than %llu steps",
                   (unsigned long long)r->limits.steps);
}
