/* listing.h -- the contents of a lease store for one processor, read at once.
 *
 * Threads: one.
 */
#ifndef RN_CLIENT_LEASE_LISTING_H
#define RN_CLIENT_LEASE_LISTING_H

#include "client/account/container.h"
#include "client/lease/coverage.h"
#include "client/lease/store.h"

struct rn_listing {
    struct rn_lease_document **leases; /* as the store gave them */
    size_t count;
    struct rn_cover *covers; /* of each lease */
    bool has_marker, has_lock;
    char lock_etag[RN_LEASE_ETAG_MAX];
    int64_t lock_written_ms;
    int64_t now_ms; /* the store's clock */
    size_t damaged; /* records that cannot be read; the first one's error: */
    char damaged_id[128];
    runnel_error error;
};

/* Parses the answer to a list of everything that begins with BASE and a dot.
 * RUNNEL_UNSUPPORTED if a lease is another library's and cannot be shared. */
runnel_code rn_listing_read(struct rn_listing *l, const char *base,
                            const struct rn_lease_store_call *call,
                            runnel_error *error) RN_CHECK;
void rn_listing_release(struct rn_listing *l);

/* Fills in the intervals of leases that do not have theirs; `map` may be
 * NULL. */
void rn_listing_route(struct rn_listing *l, const struct rn_routing *map);

/* BASE of the leases of the processor `name`: name, host of the source's
 * endpoint, rid of the database, rid of the container.  RUNNEL_PROTOCOL if the
 * rid is invalid, RUNNEL_BAD_REQUEST if it gets too long. */
runnel_code rn_listing_base(const char *name,
                            const struct rn_client_container *source,
                            const char *rid, char out[RN_LEASE_STORE_ID_MAX],
                            runnel_error *error) RN_CHECK;

/* Fills the fields of a call from a lease: id, partition key, etag. */
runnel_code rn_listing_address(struct rn_lease_store_call *call,
                               const struct rn_lease *lease) RN_CHECK;

#endif
