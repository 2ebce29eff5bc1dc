/* lag.h -- the leases of a processor from outside: how far behind they are, and
 * how they are changed by tools.  The calls block.
 *
 * The lag of a lease is that of the .NET libraries: one read with a page of one
 * change from the stored position; the LSN in the session token of the answer,
 * minus the LSN before the first change.  So it counts transactions, deletes
 * included.  The seconds are those since the first change was written.
 *
 * One thread at a time for a set.
 */
#ifndef RN_CLIENT_LAG_LAG_H
#define RN_CLIENT_LAG_LAG_H

#include "client/account/container.h"
#include "client/lease/listing.h"

/* The leases of one processor, for as long as a call needs them. */
struct rn_lease_set {
    struct rn_env *env;
    struct rn_container *source;
    struct rn_transport *transport; /* of the source's account */
    struct rn_store *store;
    struct rn_definition *definition;
    char base[RN_STORE_ID_MAX];
};

/* Opens the store and reads the source's definition. */
runnel_code rn_lease_set_open(struct rn_lease_set *s,
                              const runnel_lease_set *set,
                              struct rn_container *source,
                              struct rn_container *leases,
                              runnel_error *error) RN_CHECK;
void rn_lease_set_close(struct rn_lease_set *s);

/* One call of the store, waited for. */
runnel_code rn_lease_set_run(struct rn_lease_set *s, struct rn_store_call *call,
                             runnel_error *error) RN_CHECK;
runnel_code rn_lease_set_list(struct rn_lease_set *s, struct rn_listing *out,
                              runnel_error *error) RN_CHECK;

/* As runnel_lag_each. */
runnel_code rn_lag_each(struct rn_lease_set *s, runnel_lag_fn each,
                        void *context, runnel_error *error) RN_CHECK;

#endif
