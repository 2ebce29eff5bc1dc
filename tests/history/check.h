/* check.h -- is a history one that a correct server can have given?
 *
 * Every answer has the LSN its range had when the request was decided, its
 * point.  So the order of everything is known and nothing has to be searched:
 *
 *   order    what was answered before another was sent is not after it: among
 *            requests to one key, and to one range
 *   content  a request saw the latest version not after its point, and its
 *            success or refusal (404, 409, 412) follows from that version; a
 *            patch counts one more than it found
 *   session  a request with the session token of all earlier answers succeeds,
 *            a read not from before it, a write above it, and the token rises.
 *            A token of what has not been yet is refused, and no other
 *   unique   no two writes have one LSN
 *   phantom  nothing is seen that nobody wrote, nor under another LSN
 *   feed     a page is of an interval of keys.  Its items do not fall, lie in
 *            its interval, are of its keys, are what was written and what is
 *            there, each once; what is missing in it was replaced or deleted,
 *            so that no transaction is divided; there are no more of them than
 *            asked for, but for the last transaction.  A reader goes on at
 *            its token, in whatever ranges its keys are by then; 304 is a
 *            read whose point is its token
 *   restore  a backup has what was answered before it began and nothing that
 *            was sent after its end; what came between it and the restore is
 *            not there any more, for readers above the restore's LSN
 *
 * Ranges may be split and merged meanwhile: along the ranges that a key has
 * been in LSNs rise, so what is said of keys holds.
 *
 * A write without an answer has happened before the server's next start, or
 * never.  It counts if somebody saw it.  If nobody did, it may excuse what
 * would be wrong without it, if it fits in between all that was answered before
 * it was sent and after that start: what is answered first from then on
 * decides.
 */
#ifndef RN_TEST_CHECK_H
#define RN_TEST_CHECK_H

#include "history/history.h"

#include <stdio.h>

struct history_verdict {
    size_t order, content, unique, phantom, feed, restore, session;
    /* That were checked. */
    size_t reads, writes, refused, unknown, pages, items, starts;
    size_t absent;    /* reads that found nothing */
    size_t excused;   /* answers that only a lost write explains */
    size_t blind;     /* guesses that were too many to be looked at */
    size_t sessions;  /* requests with a session token */
    size_t ahead;     /* of these, of what had not been yet */
    size_t undone;    /* writes, by a restore */
    size_t unmoved;   /* pages with 304 */
    size_t tied;      /* pages of one that hold equal LSNs of several ranges */
    size_t waits;     /* pages that came because of a change */
    uint64_t late_ns; /* how long after its answer at most */
};

/* Prints the first of each kind on `out`, unless NULL.  Entries are reordered
 * and unknown writes completed.  -1 without memory. */
int history_check(struct history_entry *e, size_t count, FILE *out,
                  struct history_verdict *v);
size_t history_violations(const struct history_verdict *v);

#endif
