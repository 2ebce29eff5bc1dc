/* bootstrap_plan.h -- what a listing of the lease store says: whether it may be
 * shared, and which leases are missing.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_BOOTSTRAP_PLAN_H
#define RN_CLIENT_PROCESSOR_BOOTSTRAP_PLAN_H

#include "client/processor/bootstrap.h"

/* Value of Mode in the leases of this host. */
const char *rn_bootstrap_mode(const struct rn_host *h);
/* Nothing is missing any more: goes to UNLOCK or DONE. */
void rn_bootstrap_complete(struct rn_bootstrap *b);
/* The listing has been answered: decides the next step. */
void rn_bootstrap_listed(struct rn_bootstrap *b, int64_t now_ns);

#endif
