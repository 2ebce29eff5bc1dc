/* split_merge.h -- splits and merges of a container's partition key ranges.
 *
 * No document moves at once.  A range that is split or merged dies: it takes no
 * writes, keeps its id, its bounds and its last LSN for ever, and names its
 * children, which take over its interval:
 *
 *   split   each child begins at the LSN and _ts of its parent
 *   merge   the child begins one above the higher of its parents' LSNs
 *
 * so that LSNs rise for every key and a continuation of a dead range is valid
 * for its descendants.  The feed entries of a dead range are read through its
 * descendants (feed.h) until they have been re-homed to them, with the same
 * LSNs, in background slices (rehome.c).
 *
 * The old ranges' deaths, the new ranges and the catalog's update are one
 * transaction.
 */
#ifndef RN_ENGINE_RANGE_SPLIT_MERGE_H
#define RN_ENGINE_RANGE_SPLIT_MERGE_H

#include "engine/catalog/catalog.h"
#include "engine/range/container.h"

enum rn_split_merge_verb {
    RN_SPLIT_MERGE_SPLIT, /* one range into two */
    RN_SPLIT_MERGE_MERGE, /* two neighbours into one */
    RN_SPLIT_MERGE_GROW,  /* splits the widest until there are `want` */
};

struct rn_split_merge {
    struct rn_done done; /* set by the caller */

    /* In; borrowed until done. */
    enum rn_split_merge_verb verb;
    const struct rn_container *container;
    uint32_t range; /* SPLIT, MERGE */
    uint32_t with;  /* MERGE */
    uint32_t want;  /* GROW */
    bool has_at;
    struct rn_epk at; /* SPLIT: the bound; default: the middle */

    /* Out, in done.call and until released. */
    struct rn_object *object; /* the container as it is now */
    uint32_t first_new;       /* ids from here on are new */

    /* Private. */
    bool has_begun; /* a slice of it is committed */
    bool is_grown;  /* and nothing remains to be done */
    struct rn_operation operation;
    struct rn_engine *engine;
};

/* RN_GONE if a range is not alive; RN_BAD_REQUEST for a bound that is not
 * inside, ranges that are not adjacent, or too many ranges.  RN_THROTTLED at
 * once, and then `done` is not called; not for RN_SPLIT_MERGE_GROW, which no
 * client would retry: it does not count towards the clients' limit. */
enum rn_code rn_split_merge_start(struct rn_engine *e, struct rn_split_merge *r,
                                  struct rn_err *err) RN_CHECK;
void rn_split_merge_release(struct rn_split_merge *r);

/* Makes sure that a container has at least `want` ranges, after its throughput
 * was raised.  False if there is nothing to do, or it cannot be started; else
 * `then` is called after the attempt, without an error. */
bool rn_container_grow(struct rn_engine *e, struct rn_object *container,
                       uint32_t want, struct rn_done *then);

#endif
