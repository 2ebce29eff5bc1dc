/* rehome.h -- re-homing: moves the feed entries and the history of dead ranges
 * to their living descendants, in background slices. */
#ifndef RN_ENGINE_RANGE_REHOME_H
#define RN_ENGINE_RANGE_REHOME_H

#include "engine/key.h"
#include "engine/operation.h"

#include <stdatomic.h>

struct rn_engine;

/* The state of re-homing.  Nothing is ever added to a dead range, so a slice
 * goes on where the last one ended: the keys before that are tombstones, which
 * a scan from the start would read again each time. */
struct rn_rehome {
    atomic_bool is_wanted; /* there may be work */

    /* Thread: committer. */
    struct rn_operation op;
    bool is_queued;
    struct rn_key at;   /* committed up to here, */
    struct rn_key next; /* and how far `run` has come */
    uint32_t entries;   /* in a slice, depending on */
    uint64_t turns;     /* whether clients wrote since: their count of writes */
};

enum rn_code rn_homeless_put(struct rn_txn *txn, uint32_t number) RN_CHECK;
void rn_rehome_wake(struct rn_engine *e);
struct rn_operation *rn_rehome_take_due(struct rn_engine *e, int64_t *wait_ns);

#endif
