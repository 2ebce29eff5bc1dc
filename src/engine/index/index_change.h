/* index_change.h -- creates or drops a secondary index on request. */
#ifndef RN_ENGINE_INDEX_INDEX_CHANGE_H
#define RN_ENGINE_INDEX_INDEX_CHANGE_H

#include "engine/index/index.h"
#include "engine/operation.h"

struct rn_index_change {
    struct rn_done done; /* set by the caller */

    /* In; borrowed until done. */
    const struct rn_container *container;
    const struct rn_index_key *keys;
    uint32_t count;
    bool is_drop;

    /* Private. */
    struct rn_operation operation;
    struct rn_engine *engine;
    struct rn_index_set *set; /* the new set */
    bool is_there;            /* nothing to do */
};

/* Creating an index that exists, or dropping one that does not, does nothing.
 * RN_BAD_REQUEST if there are too many or it is invalid, RN_NOT_FOUND if the
 * container was deleted, RN_THROTTLED at once, and then `done` is not called.
 */
enum rn_code rn_index_change_start(struct rn_engine *e,
                                   struct rn_index_change *c,
                                   struct rn_err *err) RN_CHECK;

#endif
