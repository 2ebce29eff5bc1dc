/* chore.h -- a write of the lease store that no worker waits for: the removal
 * of a lease, a mark on another host's.  The next listing shows how it ended.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_CHORE_H
#define RN_CLIENT_PROCESSOR_CHORE_H

#include "client/lease/store.h"

struct rn_host;

struct rn_host_chore {
    struct rn_host_chore *next;
    struct rn_lease_store_call call;
};

/* A write of this lease's document, by its etag.  NULL without memory. */
struct rn_host_chore *rn_host_new_chore(enum rn_lease_store_kind kind,
                                        const struct rn_lease *lease);
/* Of one that was not started. */
void rn_host_free_chore(struct rn_host_chore *c);
void rn_host_start_chore(struct rn_host *h, struct rn_host_chore *c);
/* Those that are over; or all, when the store is closed. */
void rn_host_end_chores(struct rn_host *h, bool all);

#endif
