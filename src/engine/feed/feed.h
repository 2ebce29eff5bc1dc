/* feed.h -- the change feed: a range's documents in the order of their last
 * changes.
 *
 * Rows under 'f' lie in that order already (key.h), so reading it is a scan.
 * There may be several: after a split or a merge the entries of a range lie
 * where they were written, under its ancestors, until they are brought home.
 * They are read together, merged by (LSN, range, n), and of each only what
 * belongs to the reader's interval of EPKs is given.
 *
 * A reader of one key, or of any part of a range, would walk past all that is
 * not his.  So beside the feed the keys of that part ('d') are walked too; if
 * they come to their end first, the changes are given from them, sorted.  The
 * cost is that of the shorter walk, twice at most.
 *
 * Of all versions, the rows under 'v' are read in the same way; there is no
 * shorter walk to them.
 *
 * What always holds:
 *   - given in the order of LSNs; nothing above `upto`, nothing up to `after`
 *   - all with LSNs up to `seen` has been given, or is not there any more
 *   - the scan ends for want of budget only between two LSNs, and after one
 *     at least
 *
 * A feed belongs to a reading, and so to one thread.
 */
#ifndef RN_ENGINE_FEED_FEED_H
#define RN_ENGINE_FEED_FEED_H

#include "engine/document/document.h"
#include "engine/feed/history.h"
#include "waiters/waiters.h"

/* The reader has every change of this interval up to this LSN, as the
 * continuation of that range says. */
struct rn_feed_floor {
    struct rn_epk_range epks;
    uint64_t lsn;
    uint32_t range;
};

struct rn_feed_scan {
    uint32_t range;           /* alive */
    struct rn_epk_range epks; /* a part of it, or all */
    const struct rn_pk *pk;   /* only documents of this whole key; NULL: all */
    uint64_t after, upto;     /* LSNs */
    /* Disjoint, in the order of their intervals; nothing up to its floor is
     * given. */
    const struct rn_feed_floor *floors;
    size_t floor_count;
    int64_t since;        /* only with this _ts or a later one, */
    uint64_t since_upto;  /* of what has an LSN up to this */
    bool all_versions;    /* the history (history.h), not the documents */
    uint32_t entries_max; /* how much may be looked at */
    size_t bytes_max;
};

struct rn_change {
    struct rn_row_document place; /* but for the rid */
    int64_t ts;
    struct rn_view json;           /* until the reading ends */
    struct rn_row_history version; /* of all versions; likewise */
};

struct rn_feed {
    struct rn_snapshot *reading;
    const struct rn_feed_scan *scan;
    uint64_t seen; /* once next has come to an end */

    /* Its own. */
    size_t source_count;
    struct rn_feed_source *sources;
    struct rn_row_document last; /* the place given last */
    uint64_t looked;             /* the LSN looked at last */
    uint32_t entries;
    size_t bytes;
    bool is_part, is_listed;
    struct rn_documents keys; /* the other walk, and what it found */
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

/* The row of a range that is alive; RN_GONE as above. */
enum rn_code rn_feed_range(struct rn_snapshot *r, uint32_t range,
                           struct rn_row_range *out,
                           struct rn_err *err) RN_CHECK;

/* RN_GONE if the database of the container has been deleted: its ranges are
 * there until they are removed (drop_container.c). */
enum rn_code rn_feed_check_database(struct rn_snapshot *r,
                                    struct rn_err *err) RN_CHECK;

/* What of its range moves a reader of this interval. */
struct rn_stretch rn_feed_stretch(const struct rn_epk_range *epks);

/* The highest LSN before all changes of the range with this _ts or a later one;
 * `upto` if there are none. */
enum rn_code rn_feed_find_time(struct rn_snapshot *r, uint32_t range,
                               int64_t ts, uint64_t *lsn) RN_CHECK;

#endif
