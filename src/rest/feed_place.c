/* feed_place.c -- where a page of the change feed begins and ends.
 *
 * In the first snapshot each piece gets the LSN to go on from, by the token or
 * the time that was sent, and the one to stop at, which is the range's.  A
 * place that is not one of this feed, or no longer, is refused: what a reader
 * would be moved past it would never learn of.
 */
#include "rest/feed_page.h"

#include "engine/bug.h"

/* A place beyond the end is of another life of the data; to go on from it
 * would pass over whatever comes until then. */
static enum rn_code refuse_future(struct rn_feed_page *f, uint32_t range,
                                  uint64_t lsn, uint64_t end)
{
    return rn_fail(&f->x->err, RN_BAD_REQUEST,
                   "If-None-Match is at LSN %llu of range %u, which has come "
                   "only to %llu: it is not a place of this feed, start again "
                   "from an older one or from the beginning",
                   (unsigned long long)lsn, range, (unsigned long long)end);
}

/* Did one range hold all that is read? */
static enum rn_code was_one(struct rn_feed_page *f, struct rn_reading *r,
                            bool *out)
{
    const struct rn_feed_piece *first = f->pieces;
    const struct rn_feed_piece *last = f->pieces + f->piece_count - 1;
    const struct rn_range_span *span =
        rn_container_range(r->container, first->range);
    struct rn_row_range row;
    enum rn_code rc = RN_OK;

    *out = false;
    for (size_t i = 0; !rc && !*out && i < span->ancestor_count; i++) {
        rc = rn_range_read(r->txn, r->container, span->ancestors[i], &row);
        *out = !rc && rn_epk_compare(&row.epks.min, &first->epks.min) <= 0 &&
               rn_epk_compare(&last->epks.max, &row.epks.max) <= 0;
    }
    return rc;
}

/* One LSN for several ranges is right if they come from one. */
static enum rn_code check_single(struct rn_feed_page *f, struct rn_reading *r)
{
    bool is_one = f->piece_count == 1;
    enum rn_code rc = is_one ? RN_OK : was_one(f, r, &is_one);

    if (!rc && !is_one) {
        rc = rn_fail(&f->x->err, RN_BAD_REQUEST,
                     "If-None-Match has the place of one range, but the "
                     "request reads %zu of them: name the range",
                     f->piece_count);
    }
    return rc;
}

/* Of several parts that a range has taken over the earliest counts: what is
 * given twice does less harm than what is passed over. */
static enum rn_code place_by_parts(struct rn_feed_page *f, struct rn_reading *r)
{
    bool *placed =
        rn_arena_alloc(&f->x->call->arena, f->piece_count * sizeof(*placed));
    struct rn_epk_range both;

    if (!placed)
        return RN_NOMEM;
    memset(placed, 0, f->piece_count * sizeof(*placed));
    for (size_t i = 0; i < f->token.count; i++) {
        const struct rn_feed_part *part = &f->token.parts[i];
        struct rn_row_range row;
        enum rn_code rc =
            rn_range_read(r->txn, r->container, part->range, &row);

        if (rc == RN_NOT_FOUND) {
            return rn_fail(&f->x->err, RN_BAD_REQUEST,
                           "If-None-Match names the range %u, which the "
                           "container never had",
                           part->range);
        }
        if (rc)
            return rc;
        if (part->lsn > row.lsn)
            return refuse_future(f, part->range, part->lsn, row.lsn);
        for (size_t k = 0; k < f->piece_count; k++) {
            struct rn_feed_piece *p = &f->pieces[k];
            if (rn_epk_range_meet(&p->epks, &row.epks, &both) &&
                (!placed[k] || part->lsn < p->after)) {
                p->after = part->lsn;
                placed[k] = true;
            }
        }
    }
    return RN_OK;
}

/* All versions start where there is a place to start from, or from the oldest
 * that a container keeps for ever. */
static enum rn_code place_history(struct rn_feed_page *f, struct rn_reading *r,
                                  struct rn_feed_piece *p)
{
    if (f->token.kind != RN_FEED_TOKEN_NONE)
        return RN_OK;
    if (!f->has_since && r->container->history.seconds == RN_HISTORY_FOR_EVER)
        return rn_history_lost(r, p->range, &p->epks, &p->after);
    return rn_fail(&f->x->err, RN_BAD_REQUEST,
                   "You must read the change feed from within the retention "
                   "period. Full-Fidelity Feed must have a valid If-None-Match "
                   "header: it starts from now (*) or from a continuation, not "
                   "from the beginning or a time");
}

enum rn_code rn_feed_page_check_history(struct rn_feed_page *f,
                                        struct rn_reading *r,
                                        const struct rn_feed_piece *p)
{
    uint64_t lost = 0;
    enum rn_code rc = RN_OK;

    if (f->mode == RN_FEED_ALL_VERSIONS)
        rc = rn_history_lost(r, p->range, &p->epks, &lost);
    if (!rc && p->after < lost) {
        rc = rn_fail(&f->x->err, RN_BAD_REQUEST,
                     "You must read the change feed from within the retention "
                     "period. The continuation is at LSN %llu of range %u, and "
                     "all versions are retained only after LSN %llu: start "
                     "again from now (*)",
                     (unsigned long long)p->after, p->range,
                     (unsigned long long)lost);
    }
    return rc;
}

static enum rn_code place_piece(struct rn_feed_page *f, struct rn_reading *r,
                                struct rn_feed_piece *p)
{
    switch (f->token.kind) {
    case RN_FEED_TOKEN_NOW:
        p->after = p->upto;
        return RN_OK;
    case RN_FEED_TOKEN_LSN:
        p->after = f->token.lsn;
        return p->after > p->upto
                   ? refuse_future(f, p->range, p->after, p->upto)
                   : RN_OK;
    case RN_FEED_TOKEN_NONE:
        return f->has_since
                   ? rn_feed_find_time(r, p->range, f->since, &p->after)
                   : RN_OK;
    case RN_FEED_TOKEN_PARTS:
        break;
    }
    return RN_OK;
}

/* Beside a place a time has nothing to say, but where a merge has mixed what is
 * before it with what is after it. */
static uint64_t timed_upto(const struct rn_feed_page *f,
                           const struct rn_row_range *row)
{
    return f->token.kind == RN_FEED_TOKEN_NONE ? UINT64_MAX : row->mixed;
}

enum rn_code rn_feed_page_begin(struct rn_feed_page *f, struct rn_reading *r)
{
    enum rn_code rc = RN_OK;

    if (f->token.kind == RN_FEED_TOKEN_LSN)
        rc = check_single(f, r);
    if (!rc && f->token.kind == RN_FEED_TOKEN_PARTS)
        rc = place_by_parts(f, r);
    for (size_t i = 0; !rc && i < f->piece_count; i++) {
        struct rn_feed_piece *p = &f->pieces[i];
        struct rn_row_range row;

        rc = rn_feed_range(r, p->range, &row, &f->x->err);
        if (rc)
            break;
        p->upto = row.lsn;
        p->since_upto = timed_upto(f, &row);
        rc = rn_session_check_range(f->x, r, p->range);
        if (!rc)
            rc = place_piece(f, r, p);
        if (!rc && f->mode == RN_FEED_ALL_VERSIONS)
            rc = place_history(f, r, p);
        p->given = p->after;
    }
    f->is_begun = !rc;
    return rc;
}

enum rn_code rn_feed_page_extend(struct rn_feed_page *f, struct rn_reading *r)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < f->piece_count; i++) {
        struct rn_row_range row;

        rc = rn_feed_range(r, f->pieces[i].range, &row, &f->x->err);
        if (!rc)
            f->pieces[i].upto = row.lsn;
        if (RN_BUG(WAIT_SKIPS))
            f->pieces[i].after = row.lsn;
    }
    return rc;
}
