/* feeds.c -- the change feed by the page: reading, parking, answering.
 *
 * A loop reads one slice (feed_page.h).  If that found nothing and there is
 * more, a worker reads on.  Each slice has a snapshot of its own and reads up
 * to the end of that snapshot, because a document that is rewritten between two
 * slices moves behind the end of the first.  So the last slice has seen, in one
 * snapshot, that nothing is left.  If the client wants to wait, the call is
 * then parked until the range changes, and reads on in the same way.  A reader
 * of a part of the range may find nothing and be parked again; its client does
 * not see this.
 *
 * The answer is 200 with the last document's LSN, or 304 with the range's.
 */
#include "rest/feed/feeds.h"

#include "rest/auth.h"
#include "rest/feed/feed_page.h"
#include "rest/feed/feed_place.h"
#include "rest/feed/feed_request.h"
#include "rest/objects.h"
#include "rest/reply.h"
#include "rest/sessions.h"

#include "base/clock.h"

#include <stdio.h>

enum {
    LOOP_ENTRIES = 4096,
    WORK_ENTRIES = 64 << 10,
    LOOP_BYTES = 4 << 20,
    WORK_BYTES = 64 << 20,
};

/* ---- waiting ------------------------------------------------------------- */

static void wake(struct rn_waiter *w)
{
    struct rn_feed_page *f = RN_CONTAINER_OF(w, struct rn_feed_page, waiter);

    f->x->call->wake(f->x->call);
}

static struct rn_waiters *waiters_of(const struct rn_feed_page *f)
{
    return rn_engine_waiters(f->x->rest->engine);
}

/* The client disconnected.  Thread: loop. */
static void on_disconnect(struct rn_call *call)
{
    struct rn_feed_page *f = ((struct rn_context *)call->state)->feed;

    if (rn_waiters_dismiss(waiters_of(f), &f->waiter))
        call->wake(call);
}

/* What wakes the waiter: changes of its part of one range, or any change if it
 * reads several ranges. */
static void set_waited(struct rn_feed_page *f)
{
    const struct rn_feed_piece *p = &f->pieces[0];

    f->waiter.range = f->piece_count > 1 ? RN_RANGE_ANY : (int64_t)p->range;
    f->waiter.prefixes = f->piece_count > 1 ? RN_EPK_PREFIXES_ALL
                                            : rn_feed_epk_prefixes(&p->epks);
}

static void arm(struct rn_feed_page *f)
{
    struct rn_call *call = f->x->call;

    if (!f->wait_s)
        return;
    f->waiter = (struct rn_waiter){
        .container = f->x->container->number,
        .deadline_ns = call->begun_ns + f->wait_s * INT64_C(1000000000),
        .wake = wake,
    };
    set_waited(f);
    call->on_disconnect = on_disconnect;
}

/* ---- the answer ---------------------------------------------------------- */

static enum rn_code add_etag(struct rn_feed_page *f,
                             const struct rn_feed_part *parts, size_t count)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    char etag[RN_ETAG_LSN_TEXT_MAX];
    enum rn_code rc = RN_OK;

    if (count == 1) {
        rn_reply_header(f->x, RN_HEADER_ETAG,
                        rn_etag_print_lsn(parts[0].lsn, etag));
        return RN_OK;
    }
    rc = rn_feed_token_print(parts, count, &text);
    if (!rc)
        rn_reply_header(f->x, RN_HEADER_ETAG, rn_buf_view(&text));
    rn_buf_release(&text);
    return rc;
}

/* The session token of all ranges read, which is also the continuation of a
 * reader that has everything. */
static enum rn_code add_session(struct rn_feed_page *f,
                                const struct rn_feed_part *parts)
{
    struct rn_buf text = RN_BUF_INIT(1 << 20);
    char part[RN_SESSION_LSN_TEXT_MAX];
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < f->piece_count; i++) {
        if (i)
            rc = rn_buf_add(&text, RN_LIT(","));
        if (!rc)
            rc = rn_buf_add(&text, rn_session_print_for(f->x, parts[i].range,
                                                        parts[i].lsn, part));
    }
    if (!rc)
        rn_reply_header(f->x, RN_HEADER_SESSION_TOKEN, rn_buf_view(&text));
    rn_buf_release(&text);
    return rc;
}

static enum rn_code add_place(struct rn_feed_page *f)
{
    struct rn_feed_part *parts;
    size_t count;
    enum rn_code rc = rn_feed_page_parts(f, &parts, &count);

    if (!rc)
        rc = add_etag(f, parts, count);
    /* Without documents the session token is never ahead of the continuation:
     * the Java client reads until both are equal. */
    for (size_t i = 0; !rc && !f->is_old && i < f->piece_count; i++)
        parts[i].lsn = f->pieces[i].upto;
    if (rc || f->piece_count > 1)
        return rc ? rc : add_session(f, parts);
    rn_reply_place(f->x, &(struct rn_document_place){ .range = parts[0].range,
                                                      .lsn = parts[0].lsn });
    return RN_OK;
}

/* Authorizes again: while the call was parked, its key or token may have become
 * invalid. */
static enum rn_code check_still(struct rn_feed_page *f)
{
    return f->parked_ns ? rn_rest_authorize(f->x) : RN_OK;
}

static enum rn_rest_step answer(struct rn_feed_page *f)
{
    struct rn_context *x = f->x;
    struct rn_buf *body = &x->call->body;
    enum rn_code rc = check_still(f);

    if (!rc && f->count)
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
                                     enum rn_feed_end end);

/* The waiter is registered before reading, so that no change between the two is
 * missed. */
static enum rn_code read_slice(struct rn_feed_page *f, uint32_t entries,
                               size_t bytes, enum rn_feed_end *end)
{
    if (f->wait_s && f->waiter.state == RN_WAITER_IDLE)
        rn_waiters_begin(waiters_of(f), &f->waiter);
    return rn_feed_page_read(f, entries, bytes, end);
}

/* Once parked, the call may be resumed at any moment and must not be
 * touched. */
static enum rn_rest_step wait_for_more(struct rn_feed_page *f)
{
    struct rn_call *call = f->x->call;

    f->parked_ns = rn_mono_ns(f->x->rest->opts.env);
    call->note.waited_for = "change";
    call->next = look_again;
    switch (rn_waiters_park(waiters_of(f), &f->waiter)) {
    case RN_PARKED:
        return RN_REST_PENDING;
    case RN_PARK_MOVED:
        call->wake(call); /* through the loop's queue: others wait there */
        return RN_REST_PENDING;
    case RN_PARK_OVER:
        break;
    }
    return answer(f);
}

/* The container's ranges have changed, which a reader that names no range need
 * not notice: starts over, with the ranges in the catalog. */
static enum rn_rest_step start_again(struct rn_call *call)
{
    struct rn_feed_page *f = ((struct rn_context *)call->state)->feed;
    enum rn_feed_end end = RN_FEED_ALL_READ;
    enum rn_code rc;

    f->piece_count = f->count = 0;
    f->is_begun = false;
    rn_buf_clear(&call->body);
    rc = rn_feed_page_scope(f);
    if (!rc && f->wait_s)
        set_waited(f);
    if (!rc)
        rc = read_slice(f, LOOP_ENTRIES, LOOP_BYTES, &end);
    return after_slice(f, rc, end);
}

/* May the request be read with other ranges?  RN_GONE for a named range is true
 * only once the catalog has the change: the whole container may be gone. */
static bool may_start_again(const struct rn_feed_page *f)
{
    const struct rn_container *c = f->x->container->container;

    return !rn_context_header(f->x, RN_HEADER_RANGE_ID).len ||
           (f->piece_count && rn_container_range(c, f->pieces[0].range));
}

/* A range is gone, or all of them with their container. */
static enum rn_rest_step after_change(struct rn_feed_page *f)
{
    enum rn_code rc = rn_context_refresh(f->x);

    if (rc || !may_start_again(f))
        return rn_reply_fail(f->x, rc ? rc : RN_GONE);
    f->x->call->next = start_again;
    f->x->call->wake(f->x->call);
    return RN_REST_PENDING;
}

static enum rn_rest_step after_slice(struct rn_feed_page *f, enum rn_code rc,
                                     enum rn_feed_end end)
{
    bool is_looking = f->waiter.state == RN_WAITER_LOOKING;

    if (!rc && f->count == 0 && end == RN_FEED_BUDGET_SPENT) {
        f->x->call->next = go_on;
        return RN_REST_WORK; /* clients take an empty page for the end */
    }
    if (!rc && f->count == 0 && is_looking)
        return wait_for_more(f);
    if (is_looking)
        rn_waiters_end(waiters_of(f), &f->waiter);
    return rc == RN_GONE ? after_change(f)
           : rc          ? rn_reply_fail(f->x, rc)
                         : answer(f);
}

/* Thread: worker. */
static enum rn_rest_step go_on(struct rn_call *call)
{
    struct rn_feed_page *f = ((struct rn_context *)call->state)->feed;
    enum rn_feed_end end;
    enum rn_code rc = read_slice(f, WORK_ENTRIES, WORK_BYTES, &end);

    return after_slice(f, rc, end);
}

/* The range changed, or the wait timed out. */
static enum rn_rest_step look_again(struct rn_call *call)
{
    struct rn_feed_page *f = ((struct rn_context *)call->state)->feed;
    enum rn_feed_end end;
    enum rn_code rc;

    call->note.idle_ns += rn_mono_ns(f->x->rest->opts.env) - f->parked_ns;
    rc = read_slice(f, LOOP_ENTRIES, LOOP_BYTES, &end);
    return after_slice(f, rc, end);
}

enum rn_rest_step rn_rest_feed_read(struct rn_context *x)
{
    struct rn_feed_page *f = rn_arena_alloc(&x->call->arena, sizeof(*f));
    enum rn_feed_end end = RN_FEED_ALL_READ;
    enum rn_code rc;

    if (!f)
        return rn_reply_fail(x, RN_NOMEM);
    memset(f, 0, sizeof(*f));
    f->x = x;
    x->feed = f;
    rc = rn_feed_page_ask(f);
    if (!rc) {
        arm(f);
        rc = read_slice(f, LOOP_ENTRIES, LOOP_BYTES, &end);
    }
    return after_slice(f, rc, end);
}

/* A query of the feed is refused: to ignore A-IM would return all documents
 * instead of the changed ones. */
enum rn_rest_step rn_rest_feed_query(struct rn_context *x)
{
    return rn_reply_fail(x, rn_fail(&x->err, RN_BAD_REQUEST,
                                    "A query of the change feed is not "
                                    "supported: read the feed with GET and "
                                    "choose among its documents, or leave out "
                                    "A-IM"));
}
