/* background_write.h -- a write of a lease that no worker waits for: a host
 * deletes a lease, or marks the lease of another host.  The result is not
 * needed, because the next listing shows it.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_BACKGROUND_WRITE_H
#define RN_CLIENT_PROCESSOR_BACKGROUND_WRITE_H

#include "client/lease/store.h"

struct rn_host;

struct rn_background_write {
    struct rn_background_write *next;
    struct rn_lease_store_call call;
};

/* A write of this lease's document, conditional on its etag.  NULL if out of
 * memory. */
struct rn_background_write *
rn_background_write_new(enum rn_lease_store_kind kind,
                        const struct rn_lease *lease);
/* Frees a write that was not started. */
void rn_background_write_free(struct rn_background_write *c);
void rn_background_write_start(struct rn_host *h,
                               struct rn_background_write *c);
/* Frees the writes that are over; all of them if the store is closed. */
void rn_background_writes_end(struct rn_host *h, bool all);

#endif
