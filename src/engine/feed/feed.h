/* feed.h -- the change feed: a range's documents in the order of their last
 * changes.
 *
 * 'f' rows are stored in that order (key.h), so reading it is a scan.  There
 * may be several scans: after a split or a merge the entries of a range are
 * under the ancestors that they were written in, until they are re-homed.  They
 * are read together, merged by (LSN, range, n), and only entries in the
 * reader's interval of EPKs are returned.
 *
 * A reader of one key, or of any part of a range, would have to skip all other
 * entries.  So the keys of that part ('d') are scanned beside the feed; if that
 * scan ends first, the changes are returned from it, sorted.  The cost is at
 * most twice that of the shorter scan.
 *
 * For all versions, the 'v' rows are read in the same way; there is no shorter
 * scan for them.
 *
 * Invariants:
 *   - changes come in the order of LSNs; none above `upto`, none up to `after`
 *   - all changes with LSNs up to `seen` have been returned, or no longer exist
 *   - the budget ends the scan only between two LSNs, and after one at least
 *
 * A feed belongs to a snapshot, and so to one thread.
 */
#ifndef RN_ENGINE_FEED_FEED_H
#define RN_ENGINE_FEED_FEED_H

#include "engine/document/snapshot.h"
#include "engine/feed/history.h"
#include "waiters/waiters.h"

/* The reader has every change of this interval up to this LSN, according to its
 * continuation of that range. */
struct rn_feed_floor {
    struct rn_epk_range epks;
    uint64_t lsn;
    uint32_t range;
};

struct rn_feed_scan {
    uint32_t range;           /* alive */
    struct rn_epk_range epks; /* a part of it, or all */
    const struct rn_pk *pk;   /* only documents of this full key; NULL: all */
    uint64_t after, upto;     /* LSNs */
    /* Disjoint, sorted by interval.  Changes up to the floor of their interval
     * are skipped. */
    const struct rn_feed_floor *floors;
    size_t floor_count;
    int64_t since;        /* only changes with this _ts or a later one, */
    uint64_t since_upto;  /* among those with an LSN up to this */
    bool all_versions;    /* the history (history.h), not the documents */
    uint32_t entries_max; /* budget of entries to examine */
    size_t bytes_max;
};

struct rn_change {
    struct rn_row_document place; /* without the rid */
    int64_t ts;
    struct rn_view json;           /* valid until the snapshot ends */
    struct rn_row_history version; /* with all_versions; likewise */
};

struct rn_feed {
    struct rn_snapshot *reading;
    const struct rn_feed_scan *scan;
    uint64_t seen; /* valid once next has returned RN_NOT_FOUND */

    /* Private. */
    size_t source_count;
    struct rn_feed_source *sources;
    struct rn_row_document last; /* the last place returned */
    uint64_t looked;             /* the last LSN examined */
    uint32_t entries;
    size_t bytes;
    bool is_part, is_listed;
    struct rn_documents keys; /* the scan of the keys, and its hits */
    struct rn_buf found;
    size_t found_at;
};

/* `scan` is borrowed until the close.  RN_GONE if the range is not alive, or
 * never was. */
enum rn_code rn_feed_open(struct rn_feed *f, struct rn_snapshot *r,
                          const struct rn_feed_scan *scan,
                          struct rn_err *err) RN_CHECK;
/* RN_NOT_FOUND at the end of the scan or of the budget. */
enum rn_code rn_feed_next(struct rn_feed *f, struct rn_change *out) RN_CHECK;
void rn_feed_close(struct rn_feed *f); /* zeroed is fine */

/* The row of a living range; RN_GONE as above. */
enum rn_code rn_feed_range(struct rn_snapshot *r, uint32_t range,
                           struct rn_row_range *out,
                           struct rn_err *err) RN_CHECK;

/* RN_GONE if the container's database was deleted: its ranges exist until they
 * are removed (drop_container.c). */
enum rn_code rn_feed_check_database(struct rn_snapshot *r,
                                    struct rn_err *err) RN_CHECK;

/* The EPK prefixes whose changes wake a waiter for this interval of EPKs. */
struct rn_epk_prefixes rn_feed_epk_prefixes(const struct rn_epk_range *epks);

/* The highest LSN before all changes of the range with this _ts or a later one;
 * `upto` if there are none. */
enum rn_code rn_feed_find_time(struct rn_snapshot *r, uint32_t range,
                               int64_t ts, uint64_t *lsn) RN_CHECK;

#endif
