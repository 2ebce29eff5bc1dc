/* lease_set.h -- the leases of one processor, for tools and estimators: opened
 * for as long as a call needs them, listed, and changed while hosts run.
 *
 * The calls block.  Every write is conditional: a lease that changed meanwhile
 * is read and changed again.
 *
 * One thread at a time for a set.
 */
#ifndef RN_CLIENT_LAG_LEASE_SET_H
#define RN_CLIENT_LAG_LEASE_SET_H

#include "client/account/container.h"
#include "client/lease/listing.h"

struct rn_lease_set {
    struct rn_env *env;
    struct rn_client_container *source;
    struct rn_transport *transport; /* of the source's account */
    struct rn_lease_store *store;
    struct rn_definition *definition;
    char base[RN_LEASE_STORE_ID_MAX];
};

/* Opens the store and reads the source's definition. */
runnel_code rn_lease_set_open(struct rn_lease_set *s,
                              const runnel_lease_set *set,
                              struct rn_client_container *source,
                              struct rn_client_container *leases,
                              runnel_error *error) RN_CHECK;
void rn_lease_set_close(struct rn_lease_set *s);

/* One call of the store, waited for. */
runnel_code rn_lease_set_run(struct rn_lease_set *s,
                             struct rn_lease_store_call *call,
                             runnel_error *error) RN_CHECK;
runnel_code rn_lease_set_list(struct rn_lease_set *s, struct rn_listing *out,
                              runnel_error *error) RN_CHECK;
/* The same with the intervals that `*map`, which is read first, gives. */
runnel_code rn_lease_set_route(struct rn_lease_set *s, struct rn_listing *out,
                               struct rn_routing **map,
                               runnel_error *error) RN_CHECK;

/* Is the lease held by a host that was alive at `now_ms`, by the store's clock?
 * Without a clock every owner counts as alive.  The expiration interval is the
 * one that the owner wrote into the lease, or the default. */
bool rn_lease_set_is_held(const struct rn_lease *lease, int64_t now_ms);

/* A change of one lease.  False: there is nothing to change. */
typedef bool rn_lease_change_fn(void *context, struct rn_lease *lease);

/* Applies a change to the document and to newer versions of it until one is
 * written; `*document` is then the version that was changed. */
runnel_code rn_lease_set_change(struct rn_lease_set *s,
                                struct rn_lease_document **document,
                                rn_lease_change_fn *change, void *context,
                                runnel_error *error) RN_CHECK;

#endif
