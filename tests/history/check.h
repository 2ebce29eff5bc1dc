/* check.h -- is a history one that a correct server can have given?
 *
 * Every answer tells the LSN its range had when the request was decided, its
 * point.  So the order of everything is known and nothing has to be searched:
 *
 *   order    what was answered before another was sent is not after it: among
 *            requests to one key, and to one range.  As each client sends one
 *            after another, this covers read-your-writes, monotonic reads and
 *            the other promises of a session
 *   content  a request saw the latest version not after its point, and its
 *            success or refusal (404, 409, 412) follows from that version
 *   unique   no two writes have one LSN
 *   phantom  nothing is seen that nobody wrote, nor under another LSN
 *   feed     of a range or of a key.  A page's items rise, lie in its interval
 * and are what was written; what is missing in it was replaced or deleted; a
 * reader goes on where it was told to; 304 is a read whose point is its token
 *
 * Ranges may be split and merged meanwhile: along the ranges that a key has
 * been in LSNs rise, so what is said of keys holds; feeds of ranges are then
 * not read, only those of keys.
 *
 * A write without an answer counts if somebody saw it.  If nobody did, it may
 * excuse what would be wrong without it, never what would be wrong with it.
 */
#ifndef RN_TEST_CHECK_H
#define RN_TEST_CHECK_H

#include "history/history.h"

#include <stdio.h>

struct history_verdict {
    size_t order, content, unique, phantom, feed;
    size_t reads, writes, refused, unknown, pages,
        items; /* that were checked */
};

/* Tells the first of each kind on `out`, unless NULL.  Entries are reordered
 * and unknown writes completed.  -1 without memory. */
int history_check(struct history_entry *e, size_t count, FILE *out,
                  struct history_verdict *v);
size_t history_violations(const struct history_verdict *v);

#endif
