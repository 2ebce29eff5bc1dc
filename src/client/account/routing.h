/* routing.h -- the routing map: which partition key range owns which EPKs.
 *
 * It is built from the answers to GET .../pkranges, which are read until 304;
 * later reads return only the changes since the last etag.  Ranges that were
 * split or merged are dropped by the `parents` of their children.  A map whose
 * ranges do not tile "" to FF is refused.
 *
 * A map is reference-counted and immutable.  Any thread.
 */
#ifndef RN_CLIENT_ACCOUNT_ROUTING_H
#define RN_CLIENT_ACCOUNT_ROUTING_H

#include "client/http/error.h"
#include "cosmos/epk.h"

#include <stdatomic.h>

struct rn_range_route {
    const char *id;
    struct rn_epk_range range;
    const char *const *parents; /* ids, oldest first */
    size_t parent_count;
};

struct rn_routing {
    atomic_uint refs;
    struct rn_arena arena;
    const char *etag; /* where the next incremental read begins */
    struct rn_range_route *routes;
    size_t count;
};

struct rn_routing *rn_routing_ref(struct rn_routing *m);
void rn_routing_unref(struct rn_routing *m); /* NULL is fine */

/* The map after one more answer: `base`, which may be NULL, and the ranges in
 * `body`.  RUNNEL_PROTOCOL if the body is not a list of ranges.  Complete only
 * if rn_routing_is_complete. */
runnel_code rn_routing_apply(const struct rn_routing *base, struct rn_view body,
                             struct rn_view etag, struct rn_routing **out,
                             runnel_error *error) RUNNEL_CHECK;
/* Do the ranges tile "" to FF? */
bool rn_routing_is_complete(const struct rn_routing *m);

/* The range of a key; never NULL in a complete map. */
const struct rn_range_route *rn_routing_find(const struct rn_routing *m,
                                             const struct rn_epk *epk);
/* By id; NULL if there is none. */
const struct rn_range_route *rn_routing_named(const struct rn_routing *m,
                                              struct rn_view id);
/* The ranges that overlap an interval: `*first` and how many from there. */
size_t rn_routing_overlap(const struct rn_routing *m,
                          const struct rn_epk_range *range, size_t *first);

#endif
