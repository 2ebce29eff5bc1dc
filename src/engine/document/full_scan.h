/* full_scan.h -- full scan: all documents of a container in storage order.
 *
 * Bodies are stored in the feed, in the order of their last changes; a scan in
 * key order looks each one up.  A full scan goes through the feed and needs no
 * look-ups, for a query that reads all documents in one snapshot, in any order.
 * The order changes with every update: it is of no use for pages.
 *
 * Belongs to a snapshot, and so to one thread.
 */
#ifndef RN_ENGINE_DOCUMENT_FULL_SCAN_H
#define RN_ENGINE_DOCUMENT_FULL_SCAN_H

#include "engine/document/snapshot.h"

struct rn_full_scan {
    struct rn_snapshot *reading;
    struct rn_cursor *cursor;
};

enum rn_code rn_full_scan_open(struct rn_full_scan *w,
                               struct rn_snapshot *r) RN_CHECK;
/* The next document that has not expired, valid until the snapshot ends;
 * RN_NOT_FOUND after the last. */
enum rn_code rn_full_scan_next(struct rn_full_scan *w,
                               struct rn_view *body) RN_CHECK;
void rn_full_scan_close(struct rn_full_scan *w); /* zeroed is fine */

#endif
