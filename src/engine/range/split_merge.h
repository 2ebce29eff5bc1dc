/* split_merge.h -- a container's partition key ranges, split and merged.
 *
 * No document moves at once.  A range that is split or merged dies: it takes no
 * writes, keeps its id, its bounds and its last LSN for ever, and names its
 * children, who take over its interval:
 *
 *   split   each child begins at the LSN and _ts of its parent
 *   merge   the child begins one above the higher of its parents' LSNs
 *
 * so that LSNs rise for every key and a token of a dead range is as good for
 * those that came of it.  What lies in the feed of a dead range is read through
 * its descendants (feed.h) until it has been brought home to them, LSNs kept,
 * in slices behind the clients' work (rehome.c).
 *
 * Deaths, births and the catalog's new view of them are one transaction.
 */
#ifndef RN_ENGINE_RANGE_SPLIT_MERGE_H
#define RN_ENGINE_RANGE_SPLIT_MERGE_H

#include "engine/catalog/catalog.h"
#include "engine/range/container.h"

enum rn_split_merge_verb {
    RN_SPLIT_MERGE_SPLIT, /* one range into two */
    RN_SPLIT_MERGE_MERGE, /* two neighbours into one */
    RN_SPLIT_MERGE_GROW,  /* the widest, again and again, until there are `want`
                           */
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
    struct rn_epk at; /* SPLIT: the bound between the two; else the middle */

    /* Out, in done.call and until released. */
    struct rn_object *object; /* the container as it is now */
    uint32_t first_new;       /* ids from here on are new */

    /* Its own. */
    bool has_begun; /* a slice of it is committed */
    bool is_grown;  /* and there is no more to do */
    struct rn_operation operation;
    struct rn_engine *engine;
};

/* RN_GONE if a range is not alive; RN_BAD_REQUEST for a bound that is not
 * inside, ranges that are no neighbours, or too many of them.  RN_THROTTLED at
 * once, and then `done` is not called; not for RN_SPLIT_MERGE_GROW, which
 * nobody would ask for again: it has its place beside the clients' writes. */
enum rn_code rn_split_merge_start(struct rn_engine *e, struct rn_split_merge *r,
                                  struct rn_err *err) RN_CHECK;
void rn_split_merge_release(struct rn_split_merge *r);

/* Sees to it that a container has at least `want` ranges.  For who has raised
 * its throughput: false if there is nothing to do, or it cannot be begun; else
 * `then` is called when it has been tried, without an error. */
bool rn_container_grow(struct rn_engine *e, struct rn_object *container,
                       uint32_t want, struct rn_done *then);

#endif
