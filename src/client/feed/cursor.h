/* cursor.h -- the pull model: the change feed of a whole scope, page by page.
 *
 * A cursor tiles its scope with parts, one reader each (reader.h), and keeps
 * them on one transport of its own, on the thread of its caller.  Parts take
 * turns.  After a split or a merge a part is replaced by one for each range
 * that overlaps it, at the same position.
 *
 *   catching up   at most `parallel` requests are in progress
 *   caught up     every part asks the server to hold its request until there is
 *                 a change (Prefer: wait), at most WAITS_MAX of them; the
 *                 others, and all of them where the server cannot, are polled
 *
 * Requests may stay in progress between two calls of next; a page that arrived
 * and was not returned is not in the token.
 *
 * A start of "now" is fixed for all parts by the first next, before any change
 * is returned.
 *
 * One thread, except rn_feed_cursor_cancel.
 */
#ifndef RN_CLIENT_FEED_CURSOR_H
#define RN_CLIENT_FEED_CURSOR_H

#include "client/account/container.h"
#include "client/feed/batch.h"

struct rn_feed_cursor;

/* Checks and copies the options; does not go to the network. */
runnel_code rn_feed_cursor_open(struct rn_client_container *container,
                                const runnel_feed_options *options,
                                struct rn_feed_cursor **out,
                                runnel_error *error) RUNNEL_CHECK;
/* As runnel_feed_next. */
runnel_code rn_feed_cursor_next(struct rn_feed_cursor *c, uint32_t wait_ms,
                                runnel_batch **out,
                                runnel_error *error) RUNNEL_CHECK;
/* As runnel_feed_token. */
const char *rn_feed_cursor_token(const struct rn_feed_cursor *c);
void rn_feed_cursor_cancel(struct rn_feed_cursor *c); /* any thread */
void rn_feed_cursor_close(struct rn_feed_cursor *c);  /* NULL is fine */

#endif
