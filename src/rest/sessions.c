/* sessions.c -- consistency levels and session tokens (read your writes).
 *
 * There is one copy of the data and every read sees all writes acknowledged
 * before it, so every level is met.  What remains is to refuse a level that the
 * account does not offer, and a session token with a higher LSN than the range
 * has: such a token is from another history of the data, for example from
 * before a restore.
 */
#include "rest/sessions.h"

#include "rest/context.h"
#include "rest/reply.h"
#include "rest/route.h"
#include "rest/serve.h"

#include <strings.h>

/* ---- levels -------------------------------------------------------------- */

static enum rn_code check_strategy(struct rn_context *x,
                                   struct rn_view strategy)
{
    static const char *const names[] = { "Default", "Eventual", "Session",
                                         "LatestCommitted", "GlobalStrong" };
    enum { STRATEGIES = sizeof(names) / sizeof(names[0]) };
    size_t i = 0;

    while (i < STRATEGIES &&
           (strategy.len != strlen(names[i]) ||
            strncasecmp(strategy.at, names[i], strategy.len) != 0))
        i++;
    if (i == STRATEGIES) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "'%.*s' is not a read consistency strategy",
                       strategy.len > 40 ? 40 : (int)strategy.len, strategy.at);
    }
    if (i == STRATEGIES - 1 && x->rest->consistency != RN_CONSISTENCY_STRONG) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "The read consistency strategy GlobalStrong needs an "
                       "account whose default consistency level is Strong");
    }
    return RN_OK;
}

enum rn_code rn_session_check_level(struct rn_context *x)
{
    struct rn_view level = rn_context_header(x, RN_HEADER_CONSISTENCY);
    struct rn_view strategy = rn_context_header(x, RN_HEADER_READ_STRATEGY);
    enum rn_consistency asked;
    enum rn_code rc;

    /* The account is not read at a level either: a client that asks for a
     * stronger level than it may have reads the account first, and would take
     * the server for unavailable. */
    if (x->route->traits & RN_ROUTE_WRITES || x->link.kind == RN_KIND_ACCOUNT)
        return RN_OK;
    /* The Java client sends it beside a level with every read of a feed. */
    if (strategy.len == 7 && strncasecmp(strategy.at, "Default", 7) == 0)
        strategy.len = 0;
    if (level.len && strategy.len) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "x-ms-consistency-level and "
                       "x-ms-cosmos-read-consistency-strategy exclude each "
                       "other");
    }
    if (strategy.len)
        return check_strategy(x, strategy);
    if (!level.len)
        return RN_OK;
    rc = rn_consistency_parse(level, &asked, &x->err);
    /* Old samples ask for a stronger level than the account offers; they get
     * it. */
    if (rc || asked <= x->rest->consistency || rn_context_is_old(x))
        return rc;
    return rn_fail(&x->err, RN_BAD_REQUEST,
                   "ConsistencyLevel %s specified in the request is invalid "
                   "when service is configured with consistency level %s. "
                   "Ensure the request consistency level is not stronger than "
                   "the service consistency level.",
                   rn_consistency_name(asked),
                   rn_consistency_name(x->rest->consistency));
}

/* ---- tokens -------------------------------------------------------------- */

/* The LSN that a token demands of a range.  A token from before a split, or
 * several, names an ancestor of this range. */
static enum rn_code demand(struct rn_context *x, struct rn_view token,
                           const struct rn_container *c, uint32_t range,
                           const struct rn_row_range *row, uint64_t *out)
{
    const struct rn_range_span *span =
        row->parent_count ? rn_container_range(c, range) : NULL;
    struct rn_session_line line = {
        .range = range,
        .ancestor_count = span ? span->ancestor_count : 0,
        .ancestors = span ? span->ancestors : NULL,
    };

    return rn_session_find(token, &line, out, &x->err);
}

/* The token that was sent; some clients leave a trailing comma. */
static struct rn_view token_of(const struct rn_context *x)
{
    struct rn_view token = rn_context_header(x, RN_HEADER_SESSION_TOKEN);

    if (token.len > 1 && token.at[token.len - 1] == ',')
        token.len--;
    return token;
}

/* Has the range reached the LSN that the client has seen? */
static enum rn_code check_row(struct rn_context *x,
                              const struct rn_container *c, uint32_t range,
                              const struct rn_row_range *row)
{
    struct rn_view token = token_of(x);
    uint64_t seen = 0;
    enum rn_code rc =
        token.len ? demand(x, token, c, range, row, &seen) : RN_OK;

    if (!rc && seen > row->lsn) {
        rc = rn_fail_reason(&x->err, RN_REASON_SESSION,
                            "The read/write session is not available for the "
                            "input session token.");
    }
    return rc;
}

static enum rn_code fail_owner(struct rn_context *x)
{
    return rn_fail_reason(&x->err, RN_REASON_OWNER,
                          "Owner resource does not exist");
}

enum rn_code rn_session_check_range(struct rn_context *x, struct rn_snapshot *r,
                                    uint32_t range)
{
    struct rn_row_range row;
    enum rn_code rc;

    if (!rn_context_header(x, RN_HEADER_SESSION_TOKEN).len)
        return RN_OK;
    rc = rn_range_read(r->txn, r->container, range, &row);
    if (rc == RN_NOT_FOUND)
        return fail_owner(x);
    return rc ? rc : check_row(x, r->container, range, &row);
}

/* Goes through the ranges of the snapshot: the container may have been split
 * since it was looked up, and a dead range has no later writes. */
enum rn_code rn_session_check(struct rn_context *x, struct rn_snapshot *r,
                              const struct rn_epk_range *epks)
{
    struct rn_document_place place = { 0 };
    struct rn_row_range row = { .epks.max = epks->min };
    size_t count = 0;
    enum rn_code rc = RN_OK;

    while (!rc && rn_epk_compare(&row.epks.max, &epks->max) < 0) {
        struct rn_epk from = row.epks.max;

        rc = rn_range_find(r->txn, r->container, rn_epk_view(&from),
                           &place.range, &row);
        if (rc == RN_NOT_FOUND)
            return fail_owner(x);
        if (!rc && !rn_epk_range_has(&row.epks, rn_epk_view(&from)))
            rc = RN_CORRUPT;
        if (!rc)
            rc = check_row(x, r->container, place.range, &row);
        place.lsn = row.lsn;
        count++;
    }
    /* A client could not keep the token of several ranges: the Java client
     * takes it for a token of the first. */
    if (!rc && count == 1)
        rn_reply_place(x, &place);
    return rc;
}

struct rn_view rn_session_print_for(const struct rn_context *x, uint32_t range,
                                    uint64_t lsn,
                                    char out[RN_SESSION_LSN_TEXT_MAX])
{
    return rn_context_is_old(x) ? rn_session_print_old(range, lsn, out)
                                : rn_session_print_lsn(range, lsn, out);
}
