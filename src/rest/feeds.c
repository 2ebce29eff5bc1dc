/* feeds.c -- the change feed, by the page.
 *
 * A request names a part of the container (a range, a key, an interval of EPKs,
 * or nothing: all of it) and a place to go on from.  The part lies in one
 * range, and the place is an LSN of it; or in several, which are read one after
 * the other, and the place is an LSN of each.
 *
 *   read_request    headers -> struct rn_feed_page
 *   begin_pieces    in the first snapshot: how far each range goes, and whether
 *                   the place is one of it
 *   read_slice      documents until the page is full, the budget spent, or all
 *                   is read.  A loop reads one slice; if that found nothing and
 *                   there is more, a worker reads on, a snapshot for each slice
 *                   and never beyond what the first one saw
 *   wait_for_more   nothing was found and the client would wait: the call is
 *                   parked until the range moves, and then reads from where it
 *                   got to.  Of a part of the range it may find nothing again,
 *                   and waits again; its client sees none of this
 *   answer          200 with the last document's LSN, or 304 with the range's
 */
#include "rest/own.h"

#include "base/clock.h"
#include "base/decimal.h"
#include "base/queue.h"
#include "cosmos/feed_token.h"
#include "cosmos/prefer.h"
#include "engine/bug.h"
#include "engine/feed.h"
#include "feed/waiters.h"

#include <stdio.h>
#include <strings.h>

enum {
    PAGE_BYTES = 4 << 20,
    LOOP_ENTRIES = 4096,
    WORK_ENTRIES = 64 << 10,
    LOOP_BYTES = 4 << 20,
    WORK_BYTES = 64 << 20,
    WAIT_MAX_S = 300,
    TAIL_MAX = 160, /* what we add to a document */
};

/* A range that is read, or the part of it that is asked for. */
struct piece {
    uint32_t range;
    struct rn_epk_range epks;
    uint64_t after; /* where reading goes on */
    uint64_t upto;  /* where it ends: the range's LSN when it began */
    uint64_t given; /* the place that the answer tells */
};

enum mode { LATEST, ALL_VERSIONS };

struct rn_feed_page {
    struct rn_context *x;
    enum mode mode;
    bool is_wrapped; /* each document in an envelope */
    bool is_scoped, is_old, is_begun, is_again;
    size_t max, count;
    bool has_since;
    int64_t since;
    const struct rn_pk *pk;
    struct rn_feed_token token;
    struct piece *pieces;
    size_t piece_count, at;
    uint32_t wait_s;   /* 0: it does not wait */
    int64_t parked_ns; /* when */
    struct rn_waiter waiter;
};

/* ---- the request --------------------------------------------------------- */

static bool is_word(struct rn_view v, const char *word)
{
    return v.len == strlen(word) && strncasecmp(v.at, word, v.len) == 0;
}

static enum rn_code check_policy(struct rn_feed_page *f)
{
    if (f->x->container->container->history.seconds != RN_HISTORY_OFF)
        return RN_OK;
    return rn_fail(&f->x->err, RN_BAD_REQUEST,
                   "Change Feed 'All Versions and Deletes' mode must be "
                   "enabled: give the container a changeFeedPolicy with a "
                   "retentionDuration in minutes");
}

static enum rn_code read_mode(struct rn_feed_page *f)
{
    struct rn_view im = rn_context_header(f->x, RN_HEADER_A_IM);

    f->mode = LATEST;
    if (is_word(im, "incremental feed"))
        return RN_OK;
    f->mode = ALL_VERSIONS;
    if (is_word(im, "full-fidelity feed"))
        return check_policy(f);
    return rn_fail(&f->x->err, RN_BAD_REQUEST,
                   "A-IM '%.*s' is neither 'Incremental Feed' nor "
                   "'Full-Fidelity Feed'",
                   (int)(im.len < 64 ? im.len : 64), im.at);
}

/* Clients of the first versions ask for a place by time and read from there. */
static bool is_old_version(const struct rn_context *x)
{
    struct rn_view version = rn_context_header(x, RN_HEADER_VERSION);

    return version.len == 10 &&
           rn_view_compare(version, RN_LIT("2018-06-18")) < 0;
}

static enum rn_code read_place(struct rn_feed_page *f)
{
    struct rn_context *x = f->x;
    struct rn_view since = rn_context_header(x, RN_HEADER_IF_MODIFIED_SINCE);
    enum rn_code rc =
        rn_feed_token_parse(rn_context_header(x, RN_HEADER_IF_NONE_MATCH),
                            &x->call->arena, &f->token, &x->err);

    f->since = INT64_MIN;
    f->has_since = since.len > 0;
    if (!rc && f->has_since)
        rc = rn_date_parse(since, &f->since, &x->err);
    f->is_old = f->has_since && f->token.kind == RN_FEED_TOKEN_NONE &&
                is_old_version(x);
    return rc;
}

/* The ranges that the asked part lies in.  A part of nothing lies somewhere,
 * too: its reader learns how far that range goes. */
static enum rn_code cut_pieces(struct rn_feed_page *f,
                               const struct rn_range_span *span,
                               const struct rn_epk_range *epks)
{
    const struct rn_container *c = f->x->container->container;
    size_t room = span ? 1 : c->range_count;

    f->pieces = rn_arena_alloc(&f->x->call->arena, room * sizeof(*f->pieces));
    if (!f->pieces)
        return RN_NOMEM;
    for (size_t i = 0; !span && i < c->range_count; i++) {
        struct piece p = { .range = c->ranges[i].id };
        if (rn_epk_range_meet(&c->ranges[i].epks, epks, &p.epks))
            f->pieces[f->piece_count++] = p;
    }
    if (f->piece_count)
        return RN_OK;
    if (!span)
        span = rn_container_range_of(c, rn_epk_view(&epks->min));
    f->pieces[f->piece_count++] =
        (struct piece){ .range = span->id, .epks = *epks };
    return RN_OK;
}

static enum rn_code read_scope(struct rn_feed_page *f)
{
    struct rn_documents_scan scan = { 0 };
    const struct rn_range_span *span = NULL;
    enum rn_code rc = rn_context_range(f->x, &span);

    if (!rc)
        rc = rn_context_scope(f->x, &scan);
    if (rc)
        return rc;
    f->pk = scan.pk;
    f->is_scoped = span || f->x->has_pk ||
                   rn_context_header(f->x, RN_HEADER_START_EPK).at ||
                   rn_context_header(f->x, RN_HEADER_END_EPK).at;
    if (f->is_scoped && f->token.kind == RN_FEED_TOKEN_PARTS) {
        return rn_fail(&f->x->err, RN_BAD_REQUEST,
                       "If-None-Match has the place of a reader of the whole "
                       "container, but the request names a part of it");
    }
    return cut_pieces(f, span, &scan.epks);
}

static void wake(struct rn_waiter *w)
{
    struct rn_feed_page *f = RN_QUEUED(w, struct rn_feed_page, waiter);

    f->x->call->wake(f->x->call);
}

static struct rn_waiters *waiters_of(const struct rn_feed_page *f)
{
    return rn_engine_waiters(f->x->rest->engine);
}

/* The client is gone.  Thread: loop. */
static void gone(struct rn_call *call)
{
    struct rn_feed_page *f = ((struct rn_context *)call->state)->feed;

    if (rn_waiters_dismiss(waiters_of(f), &f->waiter))
        call->wake(call);
}

/* What moves it: its part of its range, or of several ranges anything. */
static void set_waited(struct rn_feed_page *f)
{
    const struct piece *p = &f->pieces[0];

    f->waiter.range = f->piece_count > 1 ? RN_RANGE_ANY : (int64_t)p->range;
    f->waiter.stretch =
        f->piece_count > 1 ? RN_STRETCH_ALL : rn_feed_stretch(&p->epks);
}

static void read_wait(struct rn_feed_page *f)
{
    struct rn_call *call = f->x->call;

    f->wait_s = rn_prefer_wait(rn_context_header(f->x, RN_HEADER_PREFER));
    if (!f->wait_s)
        return;
    if (f->wait_s > WAIT_MAX_S)
        f->wait_s = WAIT_MAX_S;
    f->waiter = (struct rn_waiter){
        .container = f->x->container->number,
        .deadline_ns = call->begun_ns + f->wait_s * INT64_C(1000000000),
        .wake = wake,
    };
    set_waited(f);
    call->gone = gone;
}

static enum rn_code read_request(struct rn_feed_page *f)
{
    enum rn_code rc = rn_context_find_container(f->x);

    f->is_wrapped = rn_context_header(f->x, RN_HEADER_WIRE_FORMAT).len > 0;
    if (!rc)
        rc = read_mode(f);
    if (!rc)
        rc = rn_context_count(f->x, &f->max);
    if (!rc)
        rc = read_place(f);
    if (!rc)
        rc = read_scope(f);
    if (!rc && f->token.kind != RN_FEED_TOKEN_NOW && !f->is_old)
        read_wait(f);
    return rc;
}

/* ---- where to begin ------------------------------------------------------ */

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

/* One LSN for several ranges is right if they all come from one that held the
 * whole container. */
static enum rn_code check_single(struct rn_feed_page *f, struct rn_reading *r)
{
    struct rn_row_range row;
    enum rn_code rc;

    if (f->piece_count < 2)
        return RN_OK;
    rc = rn_range_read(r->txn, r->container, 0, &row);
    if (!rc && (rn_epk_compare(&row.epks.min, &rn_epk_all.min) != 0 ||
                rn_epk_compare(&row.epks.max, &rn_epk_all.max) != 0)) {
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
            struct piece *p = &f->pieces[k];
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
                                  struct piece *p)
{
    if (f->token.kind != RN_FEED_TOKEN_NONE)
        return RN_OK;
    if (!f->has_since && r->container->history.seconds == RN_HISTORY_FOR_EVER)
        return rn_history_lost(r, p->range, &p->after);
    return rn_fail(&f->x->err, RN_BAD_REQUEST,
                   "You must read the change feed from within the retention "
                   "period. Full-Fidelity Feed must have a valid If-None-Match "
                   "header: it starts from now (*) or from a continuation, not "
                   "from the beginning or a time");
}

/* Versions are kept from some LSN on, and nobody is moved past one that is
 * not. */
static enum rn_code check_history(struct rn_feed_page *f, struct rn_reading *r,
                                  const struct piece *p)
{
    uint64_t lost = 0;
    enum rn_code rc = RN_OK;

    if (f->mode == ALL_VERSIONS)
        rc = rn_history_lost(r, p->range, &lost);
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
                                struct piece *p)
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

static enum rn_code begin_pieces(struct rn_feed_page *f, struct rn_reading *r)
{
    enum rn_code rc = RN_OK;

    if (f->token.kind == RN_FEED_TOKEN_LSN)
        rc = check_single(f, r);
    if (!rc && f->token.kind == RN_FEED_TOKEN_PARTS)
        rc = place_by_parts(f, r);
    for (size_t i = 0; !rc && i < f->piece_count; i++) {
        struct piece *p = &f->pieces[i];
        struct rn_row_range row;

        rc = rn_feed_range(r, p->range, &row, &f->x->err);
        if (rc)
            break;
        p->upto = row.lsn;
        rc = rn_session_check_range(f->x, r, p->range);
        if (!rc)
            rc = place_piece(f, r, p);
        if (!rc && f->mode == ALL_VERSIONS)
            rc = place_history(f, r, p);
        p->given = p->after;
    }
    f->is_begun = !rc;
    return rc;
}

/* After a wait: as before, but up to where the ranges are now. */
static enum rn_code extend_pieces(struct rn_feed_page *f, struct rn_reading *r)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < f->piece_count; i++) {
        struct rn_row_range row;

        rc = rn_feed_range(r, f->pieces[i].range, &row, &f->x->err);
        f->pieces[i].after = f->pieces[i].upto;
        if (!rc)
            f->pieces[i].upto = row.lsn;
        if (RN_BUG(WAIT_SKIPS))
            f->pieces[i].after = row.lsn;
    }
    f->at = 0;
    f->is_again = false;
    return rc;
}

/* ---- the page ------------------------------------------------------------ */

static enum rn_code begin_page(struct rn_feed_page *f)
{
    char rid[RN_RID_TEXT_MAX];
    struct rn_view text = rn_rid_print(f->x->container->rid, rid);

    return rn_buf_printf(&f->x->call->body,
                         "{\"_rid\":\"%.*s\",\"Documents\":[", RN_FMT(text));
}

static void add(struct rn_buf *b, struct rn_view v)
{
    memcpy(b->at + b->len, v.at, v.len);
    b->len += v.len;
}

static void add_number(struct rn_buf *b, struct rn_view before, uint64_t number)
{
    char digits[RN_DECIMAL_MAX];

    add(b, before);
    add(b, rn_decimal_print(number, digits + sizeof(digits)));
}

static enum rn_code add_version(struct rn_feed_page *f,
                                const struct rn_change *c)
{
    struct rn_buf *b = &f->x->call->body;
    enum rn_code rc = f->count ? rn_buf_add(b, RN_LIT(",")) : begin_page(f);

    f->count++;
    return rc ? rc
              : rn_history_print(&c->version, c->place.lsn,
                                 &f->x->container->container->pkdef, b);
}

/* The document is JSON as it lies; only its end is ours. */
static enum rn_code add_change(struct rn_feed_page *f,
                               const struct rn_change *c)
{
    struct rn_buf *b = &f->x->call->body;
    enum rn_code rc = f->count ? RN_OK : begin_page(f);

    if (!rc)
        rc = rn_buf_reserve(b, c->json.len + TAIL_MAX);
    if (rc)
        return rc;
    if (f->count++)
        b->at[b->len++] = ',';
    if (f->is_wrapped) {
        add(b, RN_LIT("{\"current\":"));
        add(b, c->json);
        add_number(b, RN_LIT(",\"metadata\":{\"lsn\":"), c->place.lsn);
        add_number(b, RN_LIT(",\"crts\":"), (uint64_t)c->ts);
        add(b, RN_LIT("}}"));
    } else {
        add(b, rn_view_of(c->json.at, c->json.len - 1));
        add_number(b, RN_LIT(",\"_lsn\":"), c->place.lsn);
        b->at[b->len++] = '}';
    }
    return RN_OK;
}

static bool is_full(const struct rn_feed_page *f)
{
    return f->count >= f->max || f->x->call->body.len >= PAGE_BYTES;
}

enum end { PAGE_FULL, BUDGET_SPENT, ALL_READ };

/* Documents of one LSN are never divided. */
static enum rn_code read_piece(struct rn_feed_page *f, struct rn_feed *feed,
                               struct piece *p, enum end *end)
{
    struct rn_change change;
    size_t before = f->count;
    enum rn_code rc;

    *end = PAGE_FULL;
    while (!(rc = rn_feed_next(feed, &change))) {
        if (is_full(f) && (f->count == before || change.place.lsn != p->given ||
                           RN_BUG(LSN_DIVIDED)))
            return RN_OK;
        rc = f->mode == ALL_VERSIONS ? add_version(f, &change)
                                     : add_change(f, &change);
        if (rc)
            return rc;
        p->given = change.place.lsn;
    }
    if (rc != RN_NOT_FOUND)
        return rc;
    p->after = feed->seen;
    *end = p->after >= p->upto ? ALL_READ : BUDGET_SPENT;
    return RN_OK;
}

static enum rn_code read_pieces(struct rn_feed_page *f, struct rn_reading *r,
                                uint32_t entries, size_t bytes, enum end *end)
{
    enum rn_code rc = RN_OK;

    *end = ALL_READ;
    for (; f->at < f->piece_count; f->at++) {
        struct piece *p = &f->pieces[f->at];
        struct rn_feed_scan scan = {
            .range = p->range,
            .epks = p->epks,
            .pk = f->pk,
            .after = p->after,
            .upto = p->upto,
            .since = f->since,
            .all_versions = f->mode == ALL_VERSIONS,
            .entries_max = entries,
            .bytes_max = bytes,
        };
        struct rn_feed feed = { 0 };

        rc = check_history(f, r, p);
        if (!rc)
            rc = rn_feed_open(&feed, r, &scan, &f->x->err);
        if (!rc)
            rc = read_piece(f, &feed, p, end);
        rn_feed_close(&feed);
        if (rc || *end != ALL_READ)
            break;
        if (is_full(f) && f->at + 1 < f->piece_count) {
            *end = PAGE_FULL;
            break;
        }
    }
    return rc;
}

static enum rn_code read_slice(struct rn_feed_page *f, uint32_t entries,
                               size_t bytes, enum end *end)
{
    struct rn_reading r = { 0 };
    enum rn_code rc;

    if (f->wait_s && f->waiter.state == RN_WAITER_IDLE)
        rn_waiters_begin(waiters_of(f), &f->waiter);
    rc = rn_reading_begin(&r, f->x->rest->engine, f->x->container->container,
                          &f->x->err);
    *end = ALL_READ;
    if (!rc && !f->is_begun)
        rc = begin_pieces(f, &r);
    else if (!rc && f->is_again)
        rc = extend_pieces(f, &r);
    if (!rc && f->token.kind != RN_FEED_TOKEN_NOW && !f->is_old)
        rc = read_pieces(f, &r, entries, bytes, end);
    rn_reading_end(&r);
    return rc;
}

/* ---- the answer ---------------------------------------------------------- */

static enum rn_code add_etag(struct rn_feed_page *f,
                             const struct rn_feed_part *parts)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    char etag[RN_ETAG_LSN_TEXT_MAX];
    enum rn_code rc = RN_OK;

    if (f->piece_count == 1) {
        rn_reply_header(f->x, RN_HEADER_ETAG,
                        rn_etag_print_lsn(parts[0].lsn, etag));
        return RN_OK;
    }
    rc = rn_feed_token_print(parts, f->piece_count, &text);
    if (!rc)
        rn_reply_header(f->x, RN_HEADER_ETAG, rn_buf_view(&text));
    rn_buf_release(&text);
    return rc;
}

/* The session token of all ranges read, which is the place of a reader that has
 * all. */
static enum rn_code add_session(struct rn_feed_page *f,
                                const struct rn_feed_part *parts)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    enum rn_code rc = rn_feed_token_print(parts, f->piece_count, &text);

    if (!rc)
        rn_reply_header(f->x, RN_HEADER_SESSION_TOKEN,
                        rn_view_of(text.at + 1, text.len - 2));
    rn_buf_release(&text);
    return rc;
}

static enum rn_code add_place(struct rn_feed_page *f)
{
    size_t size = f->piece_count * sizeof(struct rn_feed_part);
    struct rn_feed_part *parts = rn_arena_alloc(&f->x->call->arena, size);
    bool is_end = f->count == 0 && !f->is_old;
    enum rn_code rc;

    if (!parts)
        return RN_NOMEM;
    for (size_t i = 0; i < f->piece_count; i++) {
        const struct piece *p = &f->pieces[i];
        parts[i] = (struct rn_feed_part){ .range = p->range,
                                          .lsn = is_end ? p->upto : p->given };
    }
    rc = add_etag(f, parts);
    for (size_t i = 0; i < f->piece_count; i++)
        parts[i].lsn = f->pieces[i].upto;
    if (rc || f->piece_count > 1)
        return rc ? rc : add_session(f, parts);
    rn_reply_place(f->x, &(struct rn_document_place){ .range = parts[0].range,
                                                      .lsn = parts[0].lsn });
    return RN_OK;
}

static enum rn_rest_step answer(struct rn_feed_page *f)
{
    struct rn_context *x = f->x;
    struct rn_buf *body = &x->call->body;
    enum rn_code rc = RN_OK;

    if (f->count)
        rc = rn_buf_printf(body, "],\"_count\":%zu}", f->count);
    if (!rc)
        rc = add_place(f);
    if (rc)
        return rn_reply_fail(x, rc);
    rn_reply_owner(x);
    if (f->wait_s) {
        char text[32];
        snprintf(text, sizeof(text), "wait=%u", f->wait_s);
        rn_reply_text(x, RN_HEADER_PREFERENCE_APPLIED, text);
    }
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, f->count);
    if (!f->count)
        return rn_reply_fail(x, RN_NOT_MODIFIED);
    rn_reply_charge(x, rn_charge_page(body->len));
    return rn_reply_json(x, RN_STATUS_OK);
}

/* ---- steps --------------------------------------------------------------- */

static enum rn_rest_step go_on(struct rn_call *call);
static enum rn_rest_step look_again(struct rn_call *call);
static enum rn_rest_step after_slice(struct rn_feed_page *f, enum rn_code rc,
                                     enum end end);

/* Once parked, the call may be resumed at any moment: nothing is touched any
 * more. */
static enum rn_rest_step wait_for_more(struct rn_feed_page *f)
{
    struct rn_call *call = f->x->call;

    f->is_again = true;
    f->parked_ns = rn_mono_ns(f->x->rest->opts.env);
    call->note.waited_for = "change";
    call->next = look_again;
    switch (rn_waiters_park(waiters_of(f), &f->waiter)) {
    case RN_PARKED:
        return RN_REST_PENDING;
    case RN_PARK_MOVED:
        call->wake(call); /* in its turn: others use this thread too */
        return RN_REST_PENDING;
    case RN_PARK_OVER:
        break;
    }
    return answer(f);
}

/* The container's ranges are others by now, which its reader, who names none,
 * need not know: from the start again, with those that the catalog has. */
static enum rn_rest_step start_again(struct rn_call *call)
{
    struct rn_feed_page *f = ((struct rn_context *)call->state)->feed;
    enum end end = ALL_READ;
    enum rn_code rc;

    f->piece_count = f->at = f->count = 0;
    f->is_begun = f->is_again = false;
    rn_buf_clear(&call->body);
    rc = read_scope(f);
    if (!rc && f->wait_s)
        set_waited(f);
    if (!rc)
        rc = read_slice(f, LOOP_ENTRIES, LOOP_BYTES, &end);
    return after_slice(f, rc, end);
}

static bool names_no_range(const struct rn_feed_page *f)
{
    return !rn_context_header(f->x, RN_HEADER_RANGE_ID).len;
}

static enum rn_rest_step after_slice(struct rn_feed_page *f, enum rn_code rc,
                                     enum end end)
{
    bool is_looking = f->waiter.state == RN_WAITER_LOOKING;

    if (!rc && f->count == 0 && end == BUDGET_SPENT) {
        f->x->call->next = go_on;
        return RN_REST_WORK; /* clients take an empty page for the end */
    }
    if (!rc && f->count == 0 && is_looking)
        return wait_for_more(f);
    if (is_looking)
        rn_waiters_end(waiters_of(f), &f->waiter);
    if (rc == RN_GONE && names_no_range(f) && rn_context_refresh(f->x)) {
        f->x->call->next = start_again;
        f->x->call->wake(f->x->call);
        return RN_REST_PENDING;
    }
    return rc ? rn_reply_fail(f->x, rc) : answer(f);
}

/* Thread: worker. */
static enum rn_rest_step go_on(struct rn_call *call)
{
    struct rn_feed_page *f = ((struct rn_context *)call->state)->feed;
    enum end end;
    enum rn_code rc = read_slice(f, WORK_ENTRIES, WORK_BYTES, &end);

    return after_slice(f, rc, end);
}

/* Something moved, or the time is over. */
static enum rn_rest_step look_again(struct rn_call *call)
{
    struct rn_feed_page *f = ((struct rn_context *)call->state)->feed;
    enum end end;
    enum rn_code rc;

    call->note.idle_ns += rn_mono_ns(f->x->rest->opts.env) - f->parked_ns;
    rc = read_slice(f, LOOP_ENTRIES, LOOP_BYTES, &end);
    return after_slice(f, rc, end);
}

enum rn_rest_step rn_rest_feed_read(struct rn_context *x)
{
    struct rn_feed_page *f = rn_arena_alloc(&x->call->arena, sizeof(*f));
    enum end end = ALL_READ;
    enum rn_code rc;

    if (!f)
        return rn_reply_fail(x, RN_NOMEM);
    memset(f, 0, sizeof(*f));
    f->x = x;
    x->feed = f;
    rc = read_request(f);
    if (!rc)
        rc = read_slice(f, LOOP_ENTRIES, LOOP_BYTES, &end);
    return after_slice(f, rc, end);
}
