/* feed_request.c -- parses the request headers of the change feed.
 *
 * They say which feed is read, how much of it at a time, of which part of the
 * container, from where on, and whether to wait.  Nothing is read from the
 * store here.
 */
#include "rest/feed/feed_request.h"

#include "rest/feed/feed_page.h"
#include "rest/lists.h"
#include "rest/objects.h"
#include "rest/serve.h"

#include "base/clock.h"
#include "cosmos/prefer.h"

#include <strings.h>

enum { WAIT_MAX_S = 300 };

static bool is_word(struct rn_view v, const char *word)
{
    return v.len == strlen(word) && strncasecmp(v.at, word, v.len) == 0;
}

/* With two continuations either could be meant, and one of them would skip
 * changes. */
static enum rn_code check_once(struct rn_feed_page *f)
{
    static const char *const names[] = {
        RN_HEADER_A_IM,          RN_HEADER_IF_NONE_MATCH,
        RN_HEADER_RANGE_ID,      RN_HEADER_IF_MODIFIED_SINCE,
        RN_HEADER_PARTITION_KEY, RN_HEADER_MAX_ITEM_COUNT,
        RN_HEADER_START_EPK,     RN_HEADER_END_EPK,
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (rn_http_header_repeats(f->x->call->req, rn_view_text(names[i])))
            return rn_fail(&f->x->err, RN_BAD_REQUEST,
                           "The header %s is there more than once", names[i]);
    }
    return RN_OK;
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

    f->mode = RN_FEED_LATEST;
    if (is_word(im, "incremental feed"))
        return RN_OK;
    f->mode = RN_FEED_ALL_VERSIONS;
    if (is_word(im, "full-fidelity feed"))
        return check_policy(f);
    return rn_fail(&f->x->err, RN_BAD_REQUEST,
                   "A-IM '%.*s' is neither 'Incremental Feed' nor "
                   "'Full-Fidelity Feed'",
                   (int)(im.len < 64 ? im.len : 64), im.at);
}

/* A start time alone is exclusive, as in the service; with a continuation it is
 * inclusive.  Clients of the first versions look up a continuation by time and
 * read from there. */
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
    if (!rc && f->has_since && f->token.kind == RN_FEED_TOKEN_NONE)
        f->since++;
    f->is_old = f->has_since && f->token.kind == RN_FEED_TOKEN_NONE &&
                rn_context_is_old(x);
    return rc;
}

/* The ranges that the requested part lies in.  An empty part lies in a range
 * too: its reader gets that range's LSN. */
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
        struct rn_feed_piece p = { .range = c->ranges[i].id };
        if (rn_epk_range_meet(&c->ranges[i].epks, epks, &p.epks))
            f->pieces[f->piece_count++] = p;
    }
    if (f->piece_count)
        return RN_OK;
    if (!span)
        span = rn_container_range_of(c, rn_epk_view(&epks->min));
    f->pieces[f->piece_count++] =
        (struct rn_feed_piece){ .range = span->id, .epks = *epks };
    return RN_OK;
}

static bool names_key(const struct rn_feed_page *f)
{
    return f->pk && f->pk->count == f->x->container->container->pkdef.count;
}

enum rn_code rn_feed_page_scope(struct rn_feed_page *f)
{
    struct rn_documents_scan scan = { 0 };
    const struct rn_range_span *span = NULL;
    enum rn_code rc = rn_context_range(f->x, &span);

    if (!rc)
        rc = rn_context_scope(f->x, &scan);
    if (rc)
        return rc;
    f->pk = scan.pk;
    if (f->token.kind == RN_FEED_TOKEN_PARTS && (span || names_key(f))) {
        return rn_fail(&f->x->err, RN_BAD_REQUEST,
                       "If-None-Match has a place in each of several ranges, "
                       "but what the request names lies in one");
    }
    return cut_pieces(f, span, &scan.epks);
}

/* A request for the current position, or for the position at a time, does not
 * wait.  Preferences may be in one header or in several. */
static void read_wait(struct rn_feed_page *f)
{
    const struct rn_http_request *req = f->x->call->req;

    if (f->token.kind == RN_FEED_TOKEN_NOW || f->is_old)
        return;
    for (unsigned i = 0; !f->wait_s && i < req->field_count; i++) {
        if (is_word(rn_http_field_name(req, i), RN_HEADER_PREFER))
            f->wait_s = rn_prefer_wait(rn_http_field_value(req, i));
    }
    if (f->wait_s > WAIT_MAX_S)
        f->wait_s = WAIT_MAX_S;
}

enum rn_code rn_feed_page_ask(struct rn_feed_page *f)
{
    enum rn_code rc = rn_context_find_container(f->x);

    f->is_wrapped = rn_context_header(f->x, RN_HEADER_WIRE_FORMAT).len > 0;
    if (!rc)
        rc = check_once(f);
    if (!rc)
        rc = read_mode(f);
    if (!rc)
        rc = rn_context_count(f->x, &f->max);
    if (!rc)
        rc = read_place(f);
    if (!rc)
        rc = rn_feed_page_scope(f);
    if (!rc)
        read_wait(f);
    return rc;
}
