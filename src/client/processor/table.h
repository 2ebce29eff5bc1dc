/* table.h -- the workers of a host by the id of their lease, and the leases
 * that the host leaves to others for a while.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_TABLE_H
#define RN_CLIENT_PROCESSOR_TABLE_H

#include "base/mem.h"

#include <runnel/processor.h>

struct rn_host;
struct rn_worker;

/* A lease that is left to others until then. */
struct rn_avoided {
    struct rn_avoided *next;
    char *id;
    int64_t until_ns;
};

/* The worker of that lease, or NULL. */
struct rn_worker *rn_host_find(struct rn_host *h, struct rn_view id);
/* Adds a worker; none has its lease yet. */
runnel_code rn_host_add(struct rn_host *h, struct rn_worker *w) RN_CHECK;
/* Leaves a lease that a handler gave back to others, for one interval between
 * two passes. */
void rn_host_avoid(struct rn_host *h, const char *id);
bool rn_host_is_avoided(struct rn_host *h, struct rn_view id);

#endif
