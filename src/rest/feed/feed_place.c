/* feed_place.c -- the LSNs at which a page of the change feed begins and ends.
 *
 * In the first snapshot each piece gets the LSN to continue from, by the
 * continuation or the start time that was sent, and the LSN to stop at, which
 * is the range's.  A continuation that is not of this feed, or no longer valid,
 * is refused: the reader would otherwise skip changes without notice.
 */
#include "rest/feed/feed_place.h"

#include "rest/feed/feed_page.h"
#include "rest/sessions.h"

#include "engine/bug.h"

#include <stdlib.h>

/* An LSN beyond the end is from another history of the data; continuing from it
 * would skip all changes up to it.  The service does that: with --strict the
 * answer is that nothing is new. */
static enum rn_code check_future(struct rn_feed_page *f, uint32_t range,
                                 uint64_t lsn, uint64_t end)
{
    if (lsn <= end || f->x->rest->opts.strict)
        return RN_OK;
    return rn_fail(&f->x->err, RN_BAD_REQUEST,
                   "If-None-Match is at LSN %llu of range %u, which has come "
                   "only to %llu: it is not a place of this feed, start again "
                   "from an older one or from the beginning",
                   (unsigned long long)lsn, range, (unsigned long long)end);
}

/* Did a single range once hold all that is read? */
static enum rn_code was_one(struct rn_feed_page *f, struct rn_snapshot *r,
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

/* One LSN for several ranges is valid if they come from one range; 0 is the
 * beginning of every range. */
static enum rn_code check_single(struct rn_feed_page *f, struct rn_snapshot *r)
{
    bool is_one = f->piece_count == 1 || f->token.lsn == 0;
    enum rn_code rc = is_one ? RN_OK : was_one(f, r, &is_one);

    if (!rc && !is_one) {
        rc = rn_fail(&f->x->err, RN_BAD_REQUEST,
                     "If-None-Match has the place of one range, but the "
                     "request reads %zu of them: name the range",
                     f->piece_count);
    }
    return rc;
}

/* ---- floors --------------------------------------------------------------
 *
 * A part of a token says that its reader has every change of a range, as far as
 * the request reads it, up to an LSN.  That stays true when the range is split
 * or merged.  So the interval of a range that is read is cut at the bounds of
 * all ranges that the token names, and for each cut the highest LSN counts: its
 * floor.  Merged ranges had reached different LSNs; the merged range is read
 * from the lowest floor on, and changes at or below the floor of their own
 * interval are left out.  The parts of dead ranges stay in the token until the
 * reader has passed them in each range that succeeded them.
 *
 * The interval of a range that a restore has skipped is unknown.  Where nothing
 * else is known, the lowest LSN of such ranges counts.
 */
struct told {
    struct rn_feed_floor *parts;
    size_t count;
    bool has_lost;
    uint64_t lost; /* the lowest LSN of ranges that a restore skipped */
};

static bool is_passed_over(const struct rn_row_range *row)
{
    return row->state != RN_RANGE_ALIVE && !row->child_count;
}

/* Reads one part of the token, with the interval that its range has or had. */
static enum rn_code read_part(struct rn_feed_page *f, struct rn_snapshot *r,
                              const struct rn_feed_part *part, struct told *out)
{
    struct rn_row_range row;
    enum rn_code rc = rn_range_read(r->txn, r->container, part->range, &row);

    if (rc == RN_NOT_FOUND) {
        return rn_fail(&f->x->err, RN_BAD_REQUEST,
                       "If-None-Match names the range %u, which the "
                       "container never had",
                       part->range);
    }
    if (!rc)
        rc = check_future(f, part->range, part->lsn, row.lsn);
    if (rc)
        return rc;
    if (!is_passed_over(&row)) {
        out->parts[out->count++] = (struct rn_feed_floor){
            .epks = row.epks, .lsn = part->lsn, .range = part->range
        };
        return RN_OK;
    }
    if (!out->has_lost || part->lsn < out->lost)
        out->lost = part->lsn;
    out->has_lost = true;
    return RN_OK;
}

static int order_of_bounds(const void *a, const void *b)
{
    return rn_epk_compare(*(const struct rn_epk *const *)a,
                          *(const struct rn_epk *const *)b);
}

static void add_bound(const struct rn_feed_piece *p, const struct rn_epk *bound,
                      const struct rn_epk **bounds, size_t *count)
{
    if (rn_epk_compare(&p->epks.min, bound) < 0 &&
        rn_epk_compare(bound, &p->epks.max) < 0)
        bounds[(*count)++] = bound;
}

/* The floor at an EPK: the highest LSN of all parts that contain it. */
static struct rn_feed_floor floor_at(const struct told *told,
                                     const struct rn_epk *at, uint32_t range)
{
    struct rn_feed_floor best = { .range = range, .lsn = told->lost };
    bool is_known = false;

    for (size_t i = 0; i < told->count; i++) {
        const struct rn_feed_floor *part = &told->parts[i];

        if ((!is_known || part->lsn > best.lsn) &&
            rn_epk_range_has(&part->epks, rn_epk_view(at))) {
            best.lsn = part->lsn;
            best.range = part->range;
            is_known = true;
        }
    }
    best.epks.min = *at;
    return best;
}

/* `told` has the parts that meet the piece.  There is room for two bounds, and
 * so two floors, of each part, and one more. */
static void cut_floors(struct rn_feed_piece *p, const struct told *told,
                       const struct rn_epk **bounds)
{
    size_t bound_count = 0;

    bounds[bound_count++] = &p->epks.min;
    for (size_t i = 0; i < told->count; i++) {
        add_bound(p, &told->parts[i].epks.min, bounds, &bound_count);
        add_bound(p, &told->parts[i].epks.max, bounds, &bound_count);
    }
    qsort(bounds, bound_count, sizeof(const struct rn_epk *), order_of_bounds);
    p->after = UINT64_MAX;
    for (size_t i = 0; i < bound_count; i++) {
        struct rn_feed_floor *last = p->floors + p->floor_count - 1;
        struct rn_feed_floor next = floor_at(told, bounds[i], p->range);

        next.epks.max = i + 1 < bound_count ? *bounds[i + 1] : p->epks.max;
        if (p->floor_count && last->range == next.range)
            last->epks.max = next.epks.max;
        else
            p->floors[p->floor_count++] = next;
        if (next.lsn < p->after)
            p->after = next.lsn;
    }
}

/* `met` has room for all of `told`. */
static enum rn_code place_floors(struct rn_feed_page *f,
                                 struct rn_feed_piece *p,
                                 const struct told *told, struct told *met)
{
    struct rn_arena *arena = &f->x->call->arena;
    const struct rn_epk **bounds;

    met->count = 0;
    for (size_t i = 0; i < told->count; i++) {
        const struct rn_feed_floor *part = &told->parts[i];

        if (rn_epk_compare(&part->epks.min, &p->epks.max) < 0 &&
            rn_epk_compare(&p->epks.min, &part->epks.max) < 0)
            met->parts[met->count++] = *part;
    }
    bounds = rn_arena_alloc(arena, (2 * met->count + 1) *
                                       sizeof(const struct rn_epk *));
    p->floors =
        rn_arena_alloc(arena, (2 * met->count + 1) * sizeof(*p->floors));
    if (!bounds || !p->floors)
        return RN_NOMEM;
    cut_floors(p, met, bounds);
    return RN_OK;
}

static enum rn_code place_by_parts(struct rn_feed_page *f,
                                   struct rn_snapshot *r)
{
    size_t size = f->token.count * sizeof(struct rn_feed_floor);
    struct told told = { .parts = rn_arena_alloc(&f->x->call->arena, size) };
    struct told met = { .parts = rn_arena_alloc(&f->x->call->arena, size) };
    enum rn_code rc = told.parts && met.parts ? RN_OK : RN_NOMEM;

    for (size_t i = 0; !rc && i < f->token.count; i++)
        rc = read_part(f, r, &f->token.parts[i], &told);
    met.lost = told.lost;
    for (size_t i = 0; !rc && i < f->piece_count; i++)
        rc = place_floors(f, &f->pieces[i], &told, &met);
    return rc;
}

/* Adds a part once, though it may be the floor of several intervals. */
static void add_part(struct rn_feed_part *parts, size_t *count, size_t from,
                     const struct rn_feed_floor *floor)
{
    for (size_t i = from; i < *count; i++) {
        if (parts[i].range == floor->range)
            return;
    }
    parts[(*count)++] =
        (struct rn_feed_part){ .range = floor->range, .lsn = floor->lsn };
}

static uint64_t end_of(const struct rn_feed_piece *p)
{
    return p->after > p->upto ? p->after : p->upto;
}

enum rn_code rn_feed_page_parts(struct rn_feed_page *f,
                                struct rn_feed_part **parts, size_t *count)
{
    bool is_end = f->count == 0 && !f->is_old;
    size_t room = f->piece_count;

    for (size_t i = 0; i < f->piece_count; i++)
        room += f->pieces[i].floor_count;
    *parts = rn_arena_alloc(&f->x->call->arena, room * sizeof(**parts));
    *count = 0;
    if (!*parts)
        return RN_NOMEM;
    for (size_t i = 0; i < f->piece_count; i++) {
        const struct rn_feed_piece *p = &f->pieces[i];

        (*parts)[(*count)++] =
            (struct rn_feed_part){ .range = p->range,
                                   .lsn = is_end ? end_of(p) : p->given };
    }
    for (size_t i = 0; i < f->piece_count; i++) {
        const struct rn_feed_piece *p = &f->pieces[i];

        for (size_t k = 0; k < p->floor_count; k++) {
            if (p->floors[k].range != p->range &&
                p->floors[k].lsn > (*parts)[i].lsn)
                add_part(*parts, count, f->piece_count, &p->floors[k]);
        }
    }
    return RN_OK;
}

/* ---- history ------------------------------------------------------------- */

/* All-versions reads start at a continuation, or at the oldest version if the
 * container keeps versions for ever. */
static enum rn_code place_history(struct rn_feed_page *f, struct rn_snapshot *r,
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

static enum rn_code refuse_lost(struct rn_feed_page *f, uint32_t range,
                                uint64_t after, uint64_t lost)
{
    return rn_fail(&f->x->err, RN_BAD_REQUEST,
                   "You must read the change feed from within the retention "
                   "period. The continuation is at LSN %llu of range %u, and "
                   "all versions are retained only after LSN %llu: start "
                   "again from now (*)",
                   (unsigned long long)after, range, (unsigned long long)lost);
}

/* Usually everything of the piece is retained from its lowest floor on; if not,
 * each of its intervals is checked by itself. */
enum rn_code rn_feed_page_check_history(struct rn_feed_page *f,
                                        struct rn_snapshot *r,
                                        const struct rn_feed_piece *p)
{
    uint64_t lost = 0;
    enum rn_code rc = RN_OK;

    if (f->mode == RN_FEED_ALL_VERSIONS)
        rc = rn_history_lost(r, p->range, &p->epks, &lost);
    if (rc || p->after >= lost)
        return rc;
    if (!p->floor_count)
        return refuse_lost(f, p->range, p->after, lost);
    for (size_t i = 0; !rc && i < p->floor_count; i++) {
        const struct rn_feed_floor *floor = &p->floors[i];
        uint64_t after = floor->lsn > p->after ? floor->lsn : p->after;

        rc = rn_history_lost(r, p->range, &floor->epks, &lost);
        if (!rc && after < lost)
            rc = refuse_lost(f, floor->range, after, lost);
    }
    return rc;
}

/* ---- where to begin ------------------------------------------------------ */

static enum rn_code place_piece(struct rn_feed_page *f, struct rn_snapshot *r,
                                struct rn_feed_piece *p)
{
    switch (f->token.kind) {
    case RN_FEED_TOKEN_NOW:
        p->after = p->upto;
        return RN_OK;
    case RN_FEED_TOKEN_LSN:
        p->after = f->token.lsn;
        return check_future(f, p->range, p->after, p->upto);
    case RN_FEED_TOKEN_NONE:
        return f->has_since
                   ? rn_feed_find_time(r, p->range, f->since, &p->after)
                   : RN_OK;
    case RN_FEED_TOKEN_PARTS:
        break;
    }
    return RN_OK;
}

/* With a continuation the start time has no effect, except where a merge has
 * mixed entries from before and after that time. */
static uint64_t timed_upto(const struct rn_feed_page *f,
                           const struct rn_row_range *row)
{
    return f->token.kind == RN_FEED_TOKEN_NONE ? UINT64_MAX : row->mixed;
}

enum rn_code rn_feed_page_begin(struct rn_feed_page *f, struct rn_snapshot *r)
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

enum rn_code rn_feed_page_extend(struct rn_feed_page *f, struct rn_snapshot *r)
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
