/* expiry.h -- has the lease of an owner expired?
 *
 * The store's clock decides, never a host's.  The last sign of life of an owner
 * that uses this library is `timestamp`, which it writes in the store's time
 * and which only the owner changes; of any other owner it is `_ts`, whatever
 * its clock says.  A store without a clock has neither: there a lease expires
 * when it was seen unchanged for the whole interval, which costs one interval
 * after the start of a host.
 *
 * Expiry only says when to try.  The etag of the write decides whether the
 * lease can be acquired.
 *
 * Threads: one.
 */
#ifndef RN_CLIENT_LEASE_EXPIRY_H
#define RN_CLIENT_LEASE_EXPIRY_H

#include "client/lease/document.h"

enum {
    /* A native timestamp later than _ts by more than this is ignored. */
    RN_LEASE_EXPIRY_AHEAD_MS = 5000,
    /* Date and _ts have whole seconds. */
    RN_LEASE_EXPIRY_MARGIN_MS = 1000,
};

/* What was seen of a lease, for stores without a clock. */
struct rn_sighting {
    uint64_t id_hash;
    uint64_t state_hash; /* of owner, session and timestamp */
    int64_t since_ns;
};

struct rn_lease_expiry {
    uint32_t expire_ms;
    int64_t now_ms;  /* the store's clock at the listing; 0: it has none */
    int64_t mono_ns; /* this host's steady clock at the same moment */
    struct rn_sighting *sightings;
    size_t count, room;
};

/* Gives the memory back. */
void rn_lease_expiry_release(struct rn_lease_expiry *expiry);

/* True if a lease that has an owner may be taken from it. */
bool rn_lease_expiry_is_over(struct rn_lease_expiry *expiry,
                             const struct rn_lease *lease);

/* The store's time of the owner's last sign of life; 0 if there is none. */
int64_t rn_lease_expiry_sign_of_life(const struct rn_lease *lease);

#endif
