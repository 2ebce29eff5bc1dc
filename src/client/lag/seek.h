/* seek.h -- moves leases to another position while hosts run.
 *
 * A seek writes the position and a new generation into the lease.  The next
 * write of a host that uses this library meets the conflict, finds the new
 * generation, drops what it has read and continues from there.  A host of
 * another library would overwrite the position without noticing; so a lease
 * that such a host holds is not moved, and after the write all leases are read
 * back.
 *
 * One thread at a time for a set.
 */
#ifndef RN_CLIENT_LAG_SEEK_H
#define RN_CLIENT_LAG_SEEK_H

#include "client/lag/lease_set.h"

/* Moves the lease of this token, or with NULL all, as runnel_leases_seek.
 * RUNNEL_CONFLICT if a live host of another library holds a lease, before
 * anything is written, or if one wrote over the seek. */
runnel_code rn_lease_set_seek(struct rn_lease_set *s, const char *token,
                              const runnel_feed_options *to,
                              runnel_error *error) RN_CHECK;

#endif
