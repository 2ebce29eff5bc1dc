/* ranges.c -- the list of a container's partition key ranges.
 *
 * Clients read it as an incremental feed (A-IM) until the answer is 304, so the
 * second read must be answered 304.  Ids are assigned in ascending order and
 * never reused, so the etag is the next id: a client that sends it back gets
 * the living ranges from that id on, which name their parents.
 *
 * A request without a maximum item count gets all ranges: several clients take
 * the first answer for the whole.  A page holds the lowest ids that are left,
 * so that a split between two pages loses nothing: the children have higher ids
 * than any that was read, and name their parent.
 *
 * The answer is never older than the rows: a client that was sent here because
 * its range is gone must find the children.
 */
#include "rest/ranges.h"

#include "rest/context.h"
#include "rest/lists.h"
#include "rest/objects.h"
#include "rest/reply.h"

#include "engine/document/snapshot.h"
#include "engine/feed/feed.h"
#include "json/print.h"

#include <stdio.h>
#include <stdlib.h>

/* The requested ids: from `from` up to, not including, `to`. */
struct page {
    uint32_t from, to;
    bool is_new; /* from an etag, else from a continuation */
    size_t count;
};

static void print_parents(struct rn_json_out *o,
                          const struct rn_range_span *span)
{
    char id[16];

    rn_json_out_array_begin(o);
    for (size_t i = 0; i < span->ancestor_count; i++) {
        snprintf(id, sizeof(id), "%u", span->ancestors[i]);
        rn_json_out_string(o, rn_view_text(id));
    }
    rn_json_out_array_end(o);
}

void rn_range_print(struct rn_json_out *o, const struct rn_object *object,
                    const struct rn_range_span *span, uint64_t lsn)
{
    const struct rn_container *c = object->container;
    struct rn_rid rid = rn_rid_child(c->rid, RN_KIND_RANGE, span->id + 1);
    char id[16], text[RN_RID_TEXT_MAX], self[RN_RID_SELF_MAX];
    char min[RN_EPK_TEXT_MAX], max[RN_EPK_TEXT_MAX], etag[48];

    snprintf(id, sizeof(id), "%u", span->id);
    snprintf(etag, sizeof(etag), "\"%08x-0000-0000-0000-%08x0000\"",
             span->id + 1, (unsigned)object->ts);
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("_rid"));
    rn_json_out_string(o, rn_rid_print(rid, text));
    rn_json_out_key(o, RN_LIT("id"));
    rn_json_out_string(o, rn_view_text(id));
    rn_json_out_key(o, RN_LIT("_etag"));
    rn_json_out_string(o, rn_view_text(etag));
    rn_json_out_key(o, RN_LIT("minInclusive"));
    rn_json_out_string(o, rn_epk_print(&span->epks.min, min));
    rn_json_out_key(o, RN_LIT("maxExclusive"));
    rn_json_out_string(o, rn_epk_print(&span->epks.max, max));
    rn_json_out_key(o, RN_LIT("ridPrefix"));
    rn_json_out_uint(o, span->id);
    rn_json_out_key(o, RN_LIT("_self"));
    rn_json_out_string(o, rn_rid_print_self(rid, self));
    rn_json_out_key(o, RN_LIT("throughputFraction"));
    rn_json_out_double(o, 1.0 / (double)c->range_count);
    rn_json_out_key(o, RN_LIT("status"));
    rn_json_out_string(o, RN_LIT("online"));
    rn_json_out_key(o, RN_LIT("parents"));
    print_parents(o, span);
    rn_json_out_key(o, RN_LIT("ownedArchivalPKRangeIds"));
    rn_json_out_array_begin(o);
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("_ts"));
    rn_json_out_int(o, object->ts);
    rn_json_out_key(o, RN_LIT("lsn"));
    rn_json_out_uint(o, lsn);
    rn_json_out_key(o, RN_LIT("_lsn"));
    rn_json_out_uint(o, lsn);
    rn_json_out_object_end(o);
}

/* ---- pages --------------------------------------------------------------- */

/* The first id that the client does not know yet. */
static uint32_t known_to(const struct rn_context *x)
{
    struct rn_view seen = rn_context_header(x, RN_HEADER_IF_NONE_MATCH);
    uint32_t next = x->container->container->next_range;
    uint64_t id = 0;

    if (!seen.len || rn_etag_parse_lsn(seen, &id, NULL) || id > next)
        return 0;
    return (uint32_t)id;
}

/* A continuation is the rid of the last range that was sent. */
static enum rn_code read_continuation(struct rn_context *x, uint32_t *out)
{
    struct rn_view token = rn_context_header(x, RN_HEADER_CONTINUATION);
    const struct rn_container *c = x->container->container;
    struct rn_rid rid;

    *out = 0;
    if (!token.len)
        return RN_OK;
    if (!rn_rid_parse(token, &rid) || rid.kind != RN_KIND_RANGE ||
        !rn_rid_eq(rn_rid_owner(rid), c->rid) || rid.number > c->next_range)
        return rn_fail(&x->err, RN_BAD_REQUEST, "Invalid Continuation Token");
    *out = (uint32_t)rid.number;
    return RN_OK;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

    return (one > other) - (one < other);
}

/* Where a page of `size` ends. */
static uint32_t end_of(const struct rn_container *c, uint32_t from, size_t size)
{
    uint32_t ids[RN_RANGES_MAX];
    size_t left = 0;

    for (size_t i = 0; i < c->range_count; i++) {
        if (c->ranges[i].id >= from)
            ids[left++] = c->ranges[i].id;
    }
    if (left <= size)
        return c->next_range;
    qsort(ids, left, sizeof(*ids), compare_ids);
    return ids[size - 1] + 1;
}

static enum rn_code read_page(struct rn_context *x, struct page *out)
{
    struct rn_view most = rn_context_header(x, RN_HEADER_MAX_ITEM_COUNT);
    size_t size = 0;
    enum rn_code rc = rn_context_count(x, &size);

    *out = (struct page){ .is_new = rn_context_header(x, RN_HEADER_A_IM).len };
    if (!most.len || rn_view_eq(most, RN_LIT("-1")))
        size = RN_RANGES_MAX;
    if (!rc && out->is_new)
        out->from = known_to(x);
    else if (!rc)
        rc = read_continuation(x, &out->from);
    if (!rc)
        out->to = end_of(x->container->container, out->from, size);
    return rc;
}

/* RN_GONE if the catalog does not have a recent split or merge yet. */
static enum rn_code print_ranges(struct rn_context *x, struct page *page)
{
    const struct rn_container *c = x->container->container;
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    struct rn_snapshot r = { 0 };
    char rid[RN_RID_TEXT_MAX];
    enum rn_code rc = rn_snapshot_begin(&r, x->rest->engine, c, &x->err);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, rn_rid_print(c->rid, rid));
    rn_json_out_key(&o, RN_LIT("PartitionKeyRanges"));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; !rc && i < c->range_count; i++) {
        struct rn_row_range row;

        rc = rn_feed_range(&r, c->ranges[i].id, &row, &x->err);
        if (rc || c->ranges[i].id < page->from || c->ranges[i].id >= page->to)
            continue;
        rn_range_print(&o, x->container, &c->ranges[i], row.lsn);
        page->count++;
    }
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, page->count);
    rn_json_out_object_end(&o);
    rn_snapshot_end(&r);
    return rc ? rc : rn_json_out_finish(&o);
}

static void tell_place(struct rn_context *x, const struct page *page)
{
    const struct rn_container *c = x->container->container;
    char etag[RN_ETAG_LSN_TEXT_MAX], rid[RN_RID_TEXT_MAX];

    rn_reply_header(x, RN_HEADER_ETAG, rn_etag_print_lsn(page->to, etag));
    if (page->is_new || page->to == c->next_range)
        return;
    rn_reply_header(
        x, RN_HEADER_CONTINUATION,
        rn_rid_print(rn_rid_child(c->rid, RN_KIND_RANGE, page->to), rid));
}

static enum rn_rest_step list(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct page page;
    enum rn_code rc = read_page(x, &page);

    rn_buf_clear(&call->body);
    if (!rc)
        rc = print_ranges(x, &page);
    if (rc == RN_GONE) {
        rc = rn_context_refresh(x);
        if (!rc) {
            call->next = list;
            call->wake(call); /* by then the catalog may be up to date */
            return RN_REST_PENDING;
        }
    }
    if (rc)
        return rn_reply_fail(x, rc);
    rn_reply_owner(x);
    tell_place(x, &page);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, page.count);
    rn_reply_text(x, RN_HEADER_SCHEMA_VERSION, "1.1");
    if (page.is_new && page.from && page.from == page.to)
        return rn_reply_fail(x, RN_NOT_MODIFIED);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, RN_STATUS_OK);
}

enum rn_rest_step rn_rest_range_list(struct rn_context *x)
{
    enum rn_code rc = rn_context_find_container(x);

    return rc ? rn_reply_fail(x, rc) : list(x->call);
}
