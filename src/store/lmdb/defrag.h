/* defrag.h -- keeps the map's leaves more than half full.
 *
 * Rows are deleted all over a container's feed and appended at its end, so its
 * leaves thin out: with 1.25 KB documents, ten random updates each leave 1.2 of
 * 3 rows in a page.  A walk in key order, in slices, behind clients' work, puts
 * the rows of a stretch of thin leaves together again.
 *
 * A slice is a transaction of the map that deletes rows and puts them back: it
 * changes nothing that can be read, so it has no record in the log and no
 * number of its own.  The invariants of local.h hold as they are:
 *
 *   S1  concerns groups; there is none here, and nothing new to see.
 *   S2  the row seq is not touched, and stays as true as it was.
 *   S3  the map writes to free pages only.  What it frees was reachable from
 *       the pinned state or came after it, and is kept with it.
 *   S4  a poisoned store is left alone.  A slice that fails halfway is aborted,
 *       and one whose commit fails has not happened: no record stands in the
 *       log that the map would have to follow.
 *
 * A crash therefore loses thinning only: recovery starts from the checkpoint,
 * with or without it, and replays the log to the same content.
 *
 * What it costs: deletes earn steps of the walk, so a store without deletes has
 * none, and an idle one stands still.  Its pages count as written like any
 * others; checkpoints and the throttle see them.
 *
 * Threads: the keeper's own, but for `deleted`.
 */
#ifndef RN_STORE_LMDB_DEFRAG_H
#define RN_STORE_LMDB_DEFRAG_H

#include "store/store.h"

#include <stdint.h>

struct rn_local;

struct rn_defrag {
    uint64_t deleted;     /* rows, since the store was opened; atomic */
    uint64_t paid;        /* of these, those that the walk has used up */
    uint64_t lap_deleted; /* how many there were when this lap began */
    int64_t retry_ns;     /* no slice before this */
    struct rn_buf at;     /* where the walk goes on; empty: at the first key */
    struct rn_buf first;  /* key of the stretch that ends there */
    struct rn_buf rows;   /* copied out of it: lengths, key, value */
};

void rn_defrag_init(struct rn_defrag *t);
void rn_defrag_release(struct rn_defrag *t);

/* True if the walk has earned a slice. */
bool rn_defrag_due(struct rn_local *l);

/* Looks at some leaves and rewrites those that it is worth it for. */
void rn_defrag_slice(struct rn_local *l);

/* What a slice does to a thin stretch: its rows, up to some hundred, are
 * deleted and put back.  For whoever wants it of any. */
enum rn_code rn_defrag_rewrite(struct rn_local *l,
                               const struct rn_key_interval *stretch) RN_CHECK;

#endif
