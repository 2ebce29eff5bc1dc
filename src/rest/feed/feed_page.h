/* feed_page.h -- one page of the change feed while it is assembled.
 *
 * A request names a part of the container (a range, a key, an interval of EPKs,
 * or nothing: all of it) and a continuation.  If the part lies in one range,
 * the continuation is an LSN of that range.  If it lies in several, these are
 * read one after the other, and the continuation has an LSN for each.
 *
 *   feed_request.c  headers -> struct rn_feed_page
 *   feed_place.c    in the first snapshot: the LSNs at which reading of each
 *                   range begins and ends; validates the continuation
 *   feed_page.c     documents until the page is full, the budget is spent, or
 *                   everything is read
 *   feeds.c         loop or worker, parking of waiters, and the answer
 *
 * Thread: the one that owns the call.
 */
#ifndef RN_REST_FEED_FEED_PAGE_H
#define RN_REST_FEED_FEED_PAGE_H

#include "rest/context.h"

#include "cosmos/feed_token.h"
#include "engine/feed/feed.h"
#include "waiters/waiters.h"

/* A range that is read, or the requested part of it. */
struct rn_feed_piece {
    uint32_t range;
    struct rn_epk_range epks;
    uint64_t after;      /* the LSN after which reading continues */
    uint64_t upto;       /* the last LSN to read: the range's in the snapshot */
    uint64_t given;      /* the LSN that the answer's continuation has */
    uint64_t since_upto; /* the start time filters entries up to this LSN */
    /* The token's LSNs for parts of the range; see feed_place.c. */
    struct rn_feed_floor *floors;
    size_t floor_count;
};

enum rn_feed_mode { RN_FEED_LATEST, RN_FEED_ALL_VERSIONS };

struct rn_feed_page {
    struct rn_context *x;
    enum rn_feed_mode mode;
    bool is_wrapped; /* each document in an envelope */
    bool is_old, is_begun;
    size_t max, count;
    bool has_since;
    int64_t since;
    const struct rn_pk *pk;
    struct rn_feed_token token;
    struct rn_feed_piece *pieces;
    size_t piece_count;
    uint32_t wait_s;   /* 0: do not wait */
    int64_t parked_ns; /* when it was parked */
    struct rn_waiter waiter;
};

enum rn_feed_end { RN_FEED_PAGE_FULL, RN_FEED_BUDGET_SPENT, RN_FEED_ALL_READ };

/* Reads on in one snapshot, examining at most so many entries and bytes. */
enum rn_code rn_feed_page_read(struct rn_feed_page *f, uint32_t entries,
                               size_t bytes, enum rn_feed_end *end) RN_CHECK;

#endif
