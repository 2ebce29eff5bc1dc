/* feed_place.h -- the LSNs at which a page of the change feed begins and ends.
 */
#ifndef RN_REST_FEED_FEED_PLACE_H
#define RN_REST_FEED_FEED_PLACE_H

#include "rest/feed/feed_page.h"

enum rn_code rn_feed_page_begin(struct rn_feed_page *f,
                                struct rn_snapshot *r) RN_CHECK;
/* In a later snapshot: continues where reading stopped, up to the ranges'
 * current LSNs. */
enum rn_code rn_feed_page_extend(struct rn_feed_page *f,
                                 struct rn_snapshot *r) RN_CHECK;
/* The continuation after this page: the LSN of each range that is read, and the
 * other parts of the token that are still needed.  In the arena. */
enum rn_code rn_feed_page_parts(struct rn_feed_page *f,
                                struct rn_feed_part **parts,
                                size_t *count) RN_CHECK;
/* All versions are retained from some LSN on.  Fails if the reader would skip a
 * version that is no longer retained. */
enum rn_code rn_feed_page_check_history(struct rn_feed_page *f,
                                        struct rn_snapshot *r,
                                        const struct rn_feed_piece *p) RN_CHECK;

#endif
