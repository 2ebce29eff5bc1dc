/* lists.c -- documents by the page, in the order of their keys.
 *
 * The continuation is the place of the last document in key order, in base64:
 * it stays good whatever is written meanwhile.
 */
#include "rest/own.h"

#include "base/base64.h"
#include "json/print.h"

#include <stdlib.h>

enum {
    PAGE_DEFAULT = 100,
    PAGE_MAX = 1000,
    PAGE_BYTES = 4 << 20,
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
    if (n == 0)
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "x-ms-max-item-count is not a number of items");
    *out = n < PAGE_MAX ? n : PAGE_MAX;
    return RN_OK;
}

/* The range of a request: by its id, `0` or `{rid},0`. */
static enum rn_code read_range(struct rn_context *x, struct rn_view text,
                               struct rn_epk_range *out)
{
    const struct rn_range_span *span = NULL;
    uint32_t id = 0;
    bool good = true;

    for (size_t i = text.len; i > 0; i--) {
        if (text.at[i - 1] == ',') {
            text = rn_view_of(text.at + i, text.len - i);
            break;
        }
    }
    for (size_t i = 0; i < text.len; i++) {
        good = good && text.at[i] >= '0' && text.at[i] <= '9' && i < 9;
        id = id * 10 + (uint32_t)(text.at[i] - '0');
    }
    if (good && text.len)
        span = rn_container_range(x->container->container, id);
    if (!span)
        return rn_fail(&x->err, RN_GONE,
                       "there is no partition key range '%.*s'", RN_FMT(text));
    *out = span->epks;
    return RN_OK;
}

static enum rn_code read_epks(struct rn_context *x, struct rn_epk_range *epks)
{
    struct rn_view start = rn_context_header(x, RN_HEADER_START_EPK);
    struct rn_view end = rn_context_header(x, RN_HEADER_END_EPK);
    struct rn_epk_range given = rn_epk_all;
    enum rn_code rc = RN_OK;

    if (!start.at && !end.at)
        return RN_OK;
    if (start.at)
        rc = rn_epk_parse(start, &given.min, &x->err);
    if (!rc && end.len)
        rc = rn_epk_parse(end, &given.max, &x->err);
    if (!rc && !rn_epk_range_meet(epks, &given, epks))
        epks->max = epks->min; /* nothing in common */
    return rc;
}

/* What part of the container is asked for. */
enum rn_code rn_context_scope(struct rn_context *x,
                              struct rn_documents_scan *scan)
{
    struct rn_view range = rn_context_header(x, RN_HEADER_RANGE_ID);
    const struct rn_pkdef *def = &x->container->container->pkdef;
    enum rn_code rc = RN_OK;

    scan->epks = rn_epk_all;
    if (range.len)
        rc = read_range(x, range, &scan->epks);
    if (!rc && x->has_pk) {
        rc = rn_pkdef_fit_prefix(def, &x->pk, &x->err);
        if (!rc)
            rn_epk_range_of(def, &x->pk, &scan->epks);
        scan->pk = &x->pk;
    }
    return rc ? rc : read_epks(x, &scan->epks);
}

static enum rn_code read_token(struct rn_context *x,
                               struct rn_documents_scan *scan)
{
    struct rn_view token = rn_context_header(x, RN_HEADER_CONTINUATION);
    size_t len = 0, room = RN_KEY_MAX - RN_KEY_HEAD - 1;
    char *bytes;

    if (!token.len)
        return RN_OK;
    bytes = rn_arena_alloc(&x->call->arena, room);
    if (!bytes)
        return RN_NOMEM;
    if (rn_base64_decode(token, RN_BASE64_STANDARD, bytes, room, &len))
        return rn_fail(&x->err, RN_BAD_REQUEST, "Invalid Continuation Token");
    scan->after = rn_view_of(bytes, len);
    return RN_OK;
}

static void add_token(struct rn_context *x, struct rn_view at)
{
    char text[RN_BASE64_LEN(RN_PLACE_MAX)];

    rn_reply_header(x, RN_HEADER_CONTINUATION,
                    rn_base64_encode(at, RN_BASE64_STANDARD, text));
}

/* Prints a page; one document is looked for beyond it, to know whether there is
 * more. */
static enum rn_code print_page(struct rn_context *x, struct rn_documents *d,
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
        rc = rn_documents_next(d, &body);
        if (rc || *count == max || x->call->body.len > PAGE_BYTES)
            break;
        rn_json_out_raw(&o, body);
        memcpy(place, d->at.at, d->at.len);
        at = rn_view_of(place, d->at.len);
        ++*count;
    }
    *more = !rc;
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, *count);
    rn_json_out_object_end(&o);
    if (*more)
        add_token(x, at);
    if (rc && rc != RN_NOT_FOUND)
        return rc;
    return rn_json_out_finish(&o);
}

enum rn_rest_step rn_rest_document_list(struct rn_context *x)
{
    struct rn_documents_scan scan = { 0 };
    struct rn_reading reading = { 0 };
    struct rn_documents documents = { 0 };
    size_t max = 0, count = 0;
    bool more = false;
    enum rn_code rc = rn_context_find_container(x);

    if (!rc)
        rc = rn_context_count(x, &max);
    if (!rc)
        rc = rn_context_scope(x, &scan);
    if (!rc)
        rc = read_token(x, &scan);
    if (!rc)
        rc = rn_reading_begin(&reading, x->rest->engine,
                              x->container->container, &x->err);
    if (!rc)
        rc = rn_documents_open(&documents, &reading, &scan);
    if (!rc)
        rc = print_page(x, &documents, max, &count, &more);
    rn_documents_close(&documents);
    rn_reading_end(&reading);
    if (rc)
        return rn_reply_fail(x, rc);
    rn_reply_owner(x);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, count);
    rn_reply_charge(x, rn_charge_read(x->call->body.len));
    return rn_reply_json(x, RN_STATUS_OK);
}
