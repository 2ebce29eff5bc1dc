/* rehome.h -- re-homing: moves the feed entries and the history of dead ranges
 * to their living descendants, in background slices. */
#ifndef RN_ENGINE_RANGE_REHOME_H
#define RN_ENGINE_RANGE_REHOME_H

#include "engine/background.h"
#include "engine/key.h"

struct rn_engine;

/* The state of re-homing.  Nothing is ever added to a dead range, so a slice
 * goes on where the last one ended: the keys before that are tombstones, which
 * a scan from the start would read again each time. */
struct rn_rehome {
    struct rn_key at;   /* committed up to here, */
    struct rn_key next; /* and how far `run` has come */
    uint32_t entries;   /* in a slice, depending on */
    uint64_t writes;    /* whether clients wrote since: their count of writes */
};

/* Marks a container whose dead ranges still own entries. */
enum rn_code rn_rehome_mark(struct rn_txn *txn, uint32_t number) RN_CHECK;

/* Due while there may be dead ranges. */
extern const struct rn_background_ops rn_rehome_background;

#endif
