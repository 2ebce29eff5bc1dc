/* feed_token.h -- the continuation of a change feed, as a client stores it.
 *
 * It is sent as the etag of an answer and returned in If-None-Match:
 *
 *   "42"                  an LSN of the one range that is read; Java parses the
 *                         number, and every client keeps the quotes
 *   "0:-1#12,1:-1#40"     an LSN for each of several ranges that are read one
 *                         after the other, as in a session token.  After a
 *                         merge it names dead ranges beside the living one,
 *                         until the reader has passed their LSNs
 *   *                     now: only changes after this request
 *
 * Quotes and a W/ before them are optional on input; but a quoted * is an
 * ordinary entity tag, which no answer has had.
 *
 * Values only; any thread.
 */
#ifndef RN_COSMOS_FEED_TOKEN_H
#define RN_COSMOS_FEED_TOKEN_H

#include "base/mem.h"

enum rn_feed_token_kind {
    RN_FEED_TOKEN_NONE, /* from the start */
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

/* Empty text means from the start.  RN_BAD_REQUEST for text that is not a
 * token, or that names a range twice. */
enum rn_code rn_feed_token_parse(struct rn_view text, struct rn_arena *arena,
                                 struct rn_feed_token *out,
                                 struct rn_err *err) RN_CHECK;

/* Appends the etag of several ranges, with its quotes. */
enum rn_code rn_feed_token_print(const struct rn_feed_part *parts, size_t count,
                                 struct rn_buf *out) RN_CHECK;

#endif
