/* lists.c -- lists of documents by the page: in rid order if they are few, else
 * in key order.
 *
 * The continuation is, in base64, the container's number in 8 bytes,
 * complemented if the order is by rid, and the position or place of the last
 * document.  It stays valid whatever is written meanwhile.
 */
#include "rest/lists.h"

#include "rest/context.h"
#include "rest/objects.h"
#include "rest/reply.h"
#include "rest/sessions.h"

#include "access/access_path.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "engine/document/snapshot.h"
#include "json/print.h"

#include <stdlib.h>

enum {
    PAGE_DEFAULT = 100,
    PAGE_MAX = 1000,
    PAGE_BYTES = 4 << 20,
    TAIL_BYTES = 64, /* behind the last document */
    OWNER_BYTES = 8,
};

enum rn_code rn_context_count(struct rn_context *x, size_t *out)
{
    struct rn_view text = rn_context_header(x, RN_HEADER_MAX_ITEM_COUNT);
    size_t n = 0;

    *out = PAGE_DEFAULT;
    if (!text.len || rn_view_eq(text, RN_LIT("-1")))
        return RN_OK;
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9' || n > INT32_MAX)
            return rn_fail(&x->err, RN_BAD_REQUEST,
                           "x-ms-max-item-count is not a number of items");
        n = n * 10 + (size_t)(text.at[i] - '0');
    }
    if (n == 0 && x->call->req->method == RN_HTTP_GET)
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "x-ms-max-item-count is not a number of items");
    if (n > 0) /* the Java client sends TOP 0 with pages of 0 */
        *out = n < PAGE_MAX ? n : PAGE_MAX;
    return RN_OK;
}

/* A rid before the range's id must be that of this container. */
static enum rn_code check_rid(struct rn_context *x, struct rn_view rid)
{
    char text[RN_RID_TEXT_MAX];

    if (rn_view_eq(rid, rn_rid_print(x->container->rid, text)))
        return RN_OK;
    return rn_fail_reason(&x->err, RN_REASON_NAME_STALE,
                          "the partition key range is one of another "
                          "container, '%.*s'",
                          RN_FMT(rid));
}

/* Finds a range by its id, `0` or `{rid},0`. */
enum rn_code rn_context_range(struct rn_context *x,
                              const struct rn_range_span **out)
{
    struct rn_view text = rn_context_header(x, RN_HEADER_RANGE_ID);
    const char *comma = text.len ? memchr(text.at, ',', text.len) : NULL;
    enum rn_code rc = RN_OK;
    uint32_t id = 0;
    bool good = true;

    *out = NULL;
    if (!text.len)
        return RN_OK;
    if (comma) {
        size_t rid = (size_t)(comma - text.at);
        rc = check_rid(x, rn_view_of(text.at, rid));
        text = rn_view_of(comma + 1, text.len - rid - 1);
    }
    for (size_t i = 0; i < text.len; i++) {
        good = good && text.at[i] >= '0' && text.at[i] <= '9' && i < 9;
        id = id * 10 + (uint32_t)(text.at[i] - '0');
    }
    if (!rc && good && text.len)
        *out = rn_container_range(x->container->container, id);
    if (!rc && !*out) {
        rc = rn_fail(&x->err, RN_GONE,
                     "PartitionKeyRange with id '%.*s' in the container "
                     "doesn't exist: read the ranges again",
                     (int)(text.len < 32 ? text.len : 32), text.at);
    }
    return rc;
}

static void narrow(struct rn_epk_range *epks, const struct rn_epk_range *to)
{
    if (!rn_epk_range_meet(epks, to, epks))
        epks->max = epks->min; /* the intersection is empty */
}

enum rn_code rn_context_epks(struct rn_context *x, struct rn_epk_range *out,
                             bool *found)
{
    struct rn_view start = rn_context_header(x, RN_HEADER_START_EPK);
    struct rn_view end = rn_context_header(x, RN_HEADER_END_EPK);
    enum rn_code rc = RN_OK;

    *found = start.at || end.at;
    *out = rn_epk_all;
    if (start.at)
        rc = rn_epk_parse(start, &out->min, &x->err);
    if (!rc && end.len)
        rc = rn_epk_parse(end, &out->max, &x->err);
    if (!rc && rn_epk_compare(&out->max, &out->min) < 0)
        rc = rn_fail(&x->err, RN_BAD_REQUEST,
                     "x-ms-end-epk lies before x-ms-start-epk");
    return rc;
}

static enum rn_code read_epks(struct rn_context *x, struct rn_epk_range *epks)
{
    struct rn_epk_range given;
    bool found;
    enum rn_code rc = rn_context_epks(x, &given, &found);

    if (!rc && found)
        narrow(epks, &given);
    return rc;
}

/* The part of the container that is requested: the intersection of what the
 * headers say. */
enum rn_code rn_context_scope(struct rn_context *x,
                              struct rn_documents_scan *scan)
{
    const struct rn_pkdef *def = &x->container->container->pkdef;
    const struct rn_range_span *span = NULL;
    struct rn_epk_range given;
    enum rn_code rc = rn_context_range(x, &span);

    scan->epks = span ? span->epks : rn_epk_all;
    if (!rc && x->has_pk) {
        rc = rn_pkdef_fit_prefix(def, &x->pk, &x->err);
        if (!rc) {
            rn_epk_range_of(def, &x->pk, &given);
            narrow(&scan->epks, &given);
        }
        scan->pk = &x->pk;
    }
    return rc ? rc : read_epks(x, &scan->epks);
}

uint64_t rn_context_whose(const struct rn_context *x)
{
    const struct rn_object *owner = x->container ? x->container
                                    : x->user    ? x->user
                                                 : x->database;

    return owner ? (uint64_t)owner->rid.database << 32 | owner->rid.parent : 0;
}

static enum rn_code read_token(struct rn_context *x, struct rn_access_ask *ask)
{
    struct rn_view token = rn_context_header(x, RN_HEADER_CONTINUATION);
    size_t len = 0, room = OWNER_BYTES + RN_KEY_MAX - RN_KEY_HEAD - 1;
    uint64_t owner;
    char *bytes;

    ask->order = RN_ORDER_BY_SIZE;
    if (!token.len)
        return RN_OK;
    bytes = rn_arena_alloc(&x->call->arena, room);
    if (!bytes)
        return RN_NOMEM;
    if (rn_base64_decode(token, RN_BASE64_STANDARD, bytes, room, &len) ||
        len <= OWNER_BYTES)
        return rn_fail(&x->err, RN_BAD_REQUEST, "Invalid Continuation Token");
    owner = rn_get_u64_be(bytes);
    ask->order = owner == rn_context_whose(x) ? RN_ORDER_KEYS : RN_ORDER_RIDS;
    if (ask->order == RN_ORDER_RIDS && owner != ~rn_context_whose(x))
        return rn_fail(&x->err, RN_BAD_REQUEST, "Invalid Continuation Token");
    ask->scope.after = rn_view_of(bytes + OWNER_BYTES, len - OWNER_BYTES);
    return RN_OK;
}

static void add_token(struct rn_context *x, struct rn_view at, bool is_natural)
{
    char bytes[OWNER_BYTES + RN_PLACE_MAX];
    char text[RN_BASE64_LEN(sizeof(bytes))];
    struct rn_view whole = rn_view_of(bytes, OWNER_BYTES + at.len);

    rn_put_u64_be(bytes,
                  is_natural ? ~rn_context_whose(x) : rn_context_whose(x));
    memcpy(bytes + OWNER_BYTES, at.at, at.len);
    rn_reply_header(x, RN_HEADER_CONTINUATION,
                    rn_base64_encode(whole, RN_BASE64_STANDARD, text));
}

/* Prints a page; looks for one document beyond it, to know whether there are
 * more. */
static enum rn_code print_page(struct rn_context *x, struct rn_access *a,
                               size_t max, size_t *count, bool *more)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    char rid[RN_RID_TEXT_MAX], place[RN_PLACE_MAX];
    struct rn_view body, at = { 0 };
    enum rn_code rc = RN_OK;

    *count = 0;
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, rn_rid_print(x->container->rid, rid));
    rn_json_out_key(&o, RN_LIT("Documents"));
    rn_json_out_array_begin(&o);
    for (;;) {
        rc = rn_access_next(a, &body);
        if (rc || *count == max ||
            (*count && x->call->body.len + body.len > PAGE_BYTES - TAIL_BYTES))
            break;
        rn_json_out_raw(&o, body);
        memcpy(place, a->at.at, a->at.len);
        at = rn_view_of(place, a->at.len);
        ++*count;
    }
    *more = !rc;
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, *count);
    rn_json_out_object_end(&o);
    if (*more)
        add_token(x, at, rn_access_is_natural(a));
    if (rc && rc != RN_NOT_FOUND)
        return rc;
    return rn_json_out_finish(&o);
}

enum rn_rest_step rn_rest_document_list(struct rn_context *x)
{
    struct rn_access_ask ask = { 0 };
    struct rn_snapshot reading = { 0 };
    struct rn_access access = { 0 };
    size_t max = 0, count = 0;
    bool more = false;
    enum rn_code rc = rn_context_find_container(x);

    if (!rc)
        rc = rn_context_count(x, &max);
    if (!rc)
        rc = rn_context_scope(x, &ask.scope);
    if (!rc)
        rc = read_token(x, &ask);
    if (!rc)
        rc = rn_snapshot_begin(&reading, x->rest->engine,
                               x->container->container, &x->err);
    if (!rc)
        rc = rn_session_check(x, &reading, &ask.scope.epks);
    if (!rc)
        rc = rn_access_open(&access, &reading, &ask, &x->call->arena);
    if (rc == RN_BAD_REQUEST && !x->err.text[0])
        rn_fail(&x->err, rc, "Invalid Continuation Token");
    if (!rc)
        rc = print_page(x, &access, max, &count, &more);
    rn_reply_blame(x, &reading, rc);
    rn_access_close(&access);
    rn_snapshot_end(&reading);
    if (rc)
        return rn_reply_fail(x, rc);
    rn_reply_owner(x);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, count);
    rn_reply_charge(x, rn_charge_page(x->call->body.len));
    return rn_reply_json(x, RN_STATUS_OK);
}
