/* full_scan.h -- all documents of a container, in the order in which they lie.
 *
 * Bodies lie in the feed, in the order of their last changes; whoever goes by
 * keys looks each up.  Who wants all of them in one reading, in any order, goes
 * through the feed and looks up nothing.  The order changes with every update:
 * it is of no use for pages.
 *
 * Belongs to a reading, and so to one thread.
 */
#ifndef RN_ENGINE_DOCUMENT_FULL_SCAN_H
#define RN_ENGINE_DOCUMENT_FULL_SCAN_H

#include "engine/document/document.h"

struct rn_full_scan {
    struct rn_snapshot *reading;
    struct rn_cursor *cursor;
};

enum rn_code rn_full_scan_open(struct rn_full_scan *w,
                               struct rn_snapshot *r) RN_CHECK;
/* The next that has not expired, valid until the reading ends; RN_NOT_FOUND
 * after the last. */
enum rn_code rn_full_scan_next(struct rn_full_scan *w,
                               struct rn_view *body) RN_CHECK;
void rn_full_scan_close(struct rn_full_scan *w); /* zeroed is fine */

#endif
