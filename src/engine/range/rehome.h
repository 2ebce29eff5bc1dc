/* rehome.h -- what lies in the feed of a dead range, and what it has of all
 * versions, is brought to its living descendants, in slices. */
#ifndef RN_ENGINE_RANGE_REHOME_H
#define RN_ENGINE_RANGE_REHOME_H

#include "engine/key.h"
#include "engine/operation.h"

#include <stdatomic.h>

struct rn_engine;

/* What brings entries to their ranges.  Nothing is ever added to a dead range,
 * so a slice goes on where the last one ended: what that moved lies there as
 * marks, which a scan from the start would read anew each time. */
struct rn_rehome {
    atomic_bool is_wanted; /* there may be something to do */

    /* The committer's. */
    struct rn_operation op;
    bool is_queued;
    struct rn_key at;   /* committed up to here, */
    struct rn_key next; /* and what `run` has come to */
    uint32_t entries;   /* of a slice, */
    uint64_t turns;     /* by how many writes of clients there have been */
};

enum rn_code rn_homeless_put(struct rn_txn *txn, uint32_t number) RN_CHECK;
void rn_rehome_wake(struct rn_engine *e);
struct rn_operation *rn_rehome_take_due(struct rn_engine *e, int64_t *wait_ns);

#endif
