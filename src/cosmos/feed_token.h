/* feed_token.h -- a place in a change feed, as its reader keeps it.
 *
 * It travels as the etag of an answer and comes back in If-None-Match:
 *
 *   "42"                  an LSN of the one range that is read; Java parses the
 *                         number, and every client keeps the quotes
 *   "0:-1#12,1:-1#40"     an LSN for each of several ranges that are read one
 *                         after the other, as a session token says it.  After a
 *                         merge it names dead ranges beside the living one,
 *                         until the reader has come past their LSNs
 *   *                     now: only what comes after this request
 *
 * Quotes and a W/ before them are optional in what we read; but a quoted * is
 * an entity tag like any other, and one that no answer has had.
 *
 * Values only; any thread.
 */
#ifndef RN_COSMOS_FEED_TOKEN_H
#define RN_COSMOS_FEED_TOKEN_H

#include "base/mem.h"

enum rn_feed_token_kind {
    RN_FEED_TOKEN_NONE, /* from the beginning */
    RN_FEED_TOKEN_NOW,
    RN_FEED_TOKEN_LSN,
    RN_FEED_TOKEN_PARTS,
};

struct rn_feed_part {
    uint32_t range;
    uint64_t lsn;
};

struct rn_feed_token {
    enum rn_feed_token_kind kind;
    uint64_t lsn;               /* LSN */
    size_t count;               /* PARTS */
    struct rn_feed_part *parts; /* in the arena */
};

enum { RN_FEED_PARTS_MAX = 4096 };

/* Empty text is from the beginning.  RN_BAD_REQUEST for what is no token or
 * names a range twice. */
enum rn_code rn_feed_token_parse(struct rn_view text, struct rn_arena *arena,
                                 struct rn_feed_token *out,
                                 struct rn_err *err) RN_CHECK;

/* Appends the etag of several ranges, with its quotes. */
enum rn_code rn_feed_token_print(const struct rn_feed_part *parts, size_t count,
                                 struct rn_buf *out) RN_CHECK;

#endif
