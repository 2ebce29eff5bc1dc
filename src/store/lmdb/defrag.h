/* defrag.h -- online defragmentation: merges the half-empty leaves of the map.
 *
 * Rows are deleted all over a container's feed and appended at its end, so its
 * leaves become sparse: with 1.25 KB documents, ten random updates each leave
 * 1.2 of 3 rows in a page.  A scan in key order, in slices, behind clients'
 * work, packs the rows of adjacent sparse leaves again.
 *
 * A slice is a transaction of the map that deletes rows and puts them back.  It
 * changes nothing that can be read, so it has no WAL record and no sequence
 * number.  The invariants of local.h hold as they are:
 *
 *   S1  concerns groups; a slice is no group, and shows nothing new.
 *   S2  the row seq is not touched, and stays as true as it was.
 *   S3  the map writes to free pages only.  The pages it frees were reachable
 *       from the pinned state or came after it, and are kept with it.
 *   S4  a poisoned store is left alone.  A slice that fails halfway is aborted,
 *       and one whose commit fails has not happened: the WAL has no record
 *       that the map would have to follow.
 *
 * So a crash loses defragmentation only: recovery starts from the checkpoint,
 * with or without it, and replays the WAL to the same content.
 *
 * The cost: deletes pay for steps of the scan, so a store without deletes has
 * none, and in an idle one the scan stands still.  Its pages count as written
 * like any others for checkpoints and backpressure.
 *
 * Threads: used by the maintenance thread alone, except `deleted`.
 */
#ifndef RN_STORE_LMDB_DEFRAG_H
#define RN_STORE_LMDB_DEFRAG_H

#include "store/store.h"

#include <stdint.h>

struct rn_local;

struct rn_defrag {
    uint64_t deleted;     /* rows, since the store was opened; atomic */
    uint64_t paid;        /* of these, the number that the scan has spent */
    uint64_t lap_deleted; /* `deleted` when this lap began */
    int64_t retry_ns;     /* no slice before this */
    struct rn_buf at;     /* where the scan resumes; empty: at the first key */
    struct rn_buf first;  /* key of the interval that ends there */
    struct rn_buf rows;   /* copied out of it: lengths, key, value */
};

void rn_defrag_init(struct rn_defrag *t);
void rn_defrag_release(struct rn_defrag *t);

/* True if deletes have paid for a slice. */
bool rn_defrag_due(struct rn_local *l);

/* Scans some leaves and rewrites those that are sparse enough. */
void rn_defrag_slice(struct rn_local *l);

/* What a slice does to a sparse interval: deletes its rows, up to some hundred,
 * and puts them back.  For callers that choose the interval. */
enum rn_code rn_defrag_rewrite(struct rn_local *l,
                               const struct rn_key_interval *interval) RN_CHECK;

#endif
