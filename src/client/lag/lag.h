/* lag.h -- how far the leases of a processor are behind.  The calls block.
 *
 * The lag of a lease is defined as in the .NET libraries: one read with a page
 * of one change from the stored position; the LSN in the session token of the
 * answer, minus the LSN before the first change.  So it counts transactions,
 * deletes included.  The seconds are those since the first change was written.
 *
 * One thread at a time for a set.
 */
#ifndef RN_CLIENT_LAG_LAG_H
#define RN_CLIENT_LAG_LAG_H

#include "client/lag/lease_set.h"

/* As runnel_lag_each. */
runnel_code rn_lag_each(struct rn_lease_set *s, runnel_lag_fn each,
                        void *context, runnel_error *error) RN_CHECK;

#endif
