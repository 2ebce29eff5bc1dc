/* feed_page.h -- one page of the change feed, while it is put together.
 *
 * A request names a part of the container (a range, a key, an interval of EPKs,
 * or nothing: all of it) and a place to go on from.  The part lies in one
 * range, and the place is an LSN of it; or in several, which are read one after
 * the other, and the place is an LSN of each.
 *
 *   feed_request.c  headers -> struct rn_feed_page
 *   feed_place.c    in the first snapshot: how far each range goes, and whether
 *                   the place is one of it
 *   feed_page.c     documents until the page is full, the budget spent, or all
 *                   is read
 *   feeds.c         whose turn it is to read on, who waits, and the answer
 *
 * Thread: the one that has the call.
 */
#ifndef RN_REST_FEED_FEED_PAGE_H
#define RN_REST_FEED_FEED_PAGE_H

#include "rest/context.h"

#include "cosmos/feed_token.h"
#include "engine/feed/feed.h"
#include "waiters/waiters.h"

/* A range that is read, or the part of it that is asked for. */
struct rn_feed_piece {
    uint32_t range;
    struct rn_epk_range epks;
    uint64_t after;      /* where reading goes on */
    uint64_t upto;       /* where it ends: the range's LSN in the snapshot */
    uint64_t given;      /* the place that the answer tells */
    uint64_t since_upto; /* up to this LSN the start time counts */
    /* What the token says of parts of the range; see feed_place.c. */
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
    uint32_t wait_s;   /* 0: it does not wait */
    int64_t parked_ns; /* when */
    struct rn_waiter waiter;
};

/* ---- feed_request.c ------------------------------------------------------ */

/* All that the headers say; of waiting, how long. */
enum rn_code rn_feed_page_ask(struct rn_feed_page *f) RN_CHECK;
/* The pieces alone, from the ranges that the catalog has now. */
enum rn_code rn_feed_page_scope(struct rn_feed_page *f) RN_CHECK;

/* ---- feed_place.c -------------------------------------------------------- */

enum rn_code rn_feed_page_begin(struct rn_feed_page *f,
                                struct rn_snapshot *r) RN_CHECK;
/* In a later snapshot: on from where reading has come to, up to where the
 * ranges are now. */
enum rn_code rn_feed_page_extend(struct rn_feed_page *f,
                                 struct rn_snapshot *r) RN_CHECK;
/* The continuation after this page: the place in each range that is read, and
 * whatever else the token said that is still needed.  In the arena. */
enum rn_code rn_feed_page_parts(struct rn_feed_page *f,
                                struct rn_feed_part **parts,
                                size_t *count) RN_CHECK;
/* Versions are kept from some LSN on, and nobody is moved past one that is
 * not. */
enum rn_code rn_feed_page_check_history(struct rn_feed_page *f,
                                        struct rn_snapshot *r,
                                        const struct rn_feed_piece *p) RN_CHECK;

/* ---- feed_page.c --------------------------------------------------------- */

enum rn_feed_end { RN_FEED_PAGE_FULL, RN_FEED_BUDGET_SPENT, RN_FEED_ALL_READ };

/* In one snapshot, from where reading has come to: at most so many entries and
 * bytes looked at. */
enum rn_code rn_feed_page_read(struct rn_feed_page *f, uint32_t entries,
                               size_t bytes, enum rn_feed_end *end) RN_CHECK;

#endif
