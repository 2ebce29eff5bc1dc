/* ranges.c -- a container's partition key ranges.
 *
 * Clients read them as an incremental feed (A-IM) and go on until they are told
 * that nothing is new, so the second read must be told just that.  Ids are
 * given in order and never again, so the etag is the next one: whoever brings
 * it back is given the living ranges from that id on, which name those that
 * they come from.
 *
 * The answer is never older than the rows: who was sent here because his range
 * is gone must find its children.
 */
#include "rest/own.h"

#include "engine/feed.h"
#include "json/print.h"

#include <stdio.h>

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

static void print_range(struct rn_json_out *o, const struct rn_object *object,
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

/* The ids that the client knows already end here. */
static uint32_t known_to(const struct rn_context *x)
{
    struct rn_view seen = rn_context_header(x, RN_HEADER_IF_NONE_MATCH);
    uint32_t next = x->container->container->next_range;
    uint64_t id = 0;

    if (!rn_context_header(x, RN_HEADER_A_IM).len || !seen.len ||
        rn_etag_parse_lsn(seen, &id, NULL) || id > next)
        return 0;
    return (uint32_t)id;
}

/* RN_GONE if the catalog has not yet heard of a split or a merge. */
static enum rn_code print_ranges(struct rn_context *x, uint32_t from,
                                 size_t *count)
{
    const struct rn_container *c = x->container->container;
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    struct rn_reading r = { 0 };
    char rid[RN_RID_TEXT_MAX];
    enum rn_code rc = rn_reading_begin(&r, x->rest->engine, c, &x->err);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, rn_rid_print(c->rid, rid));
    rn_json_out_key(&o, RN_LIT("PartitionKeyRanges"));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; !rc && i < c->range_count; i++) {
        struct rn_row_range row;

        rc = rn_feed_range(&r, c->ranges[i].id, &row, &x->err);
        if (rc || c->ranges[i].id < from)
            continue;
        print_range(&o, x->container, &c->ranges[i], row.lsn);
        ++*count;
    }
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, *count);
    rn_json_out_object_end(&o);
    rn_reading_end(&r);
    return rc ? rc : rn_json_out_finish(&o);
}

static enum rn_rest_step list(struct rn_call *call)
{
    struct rn_context *x = call->state;
    char etag[RN_ETAG_LSN_TEXT_MAX];
    size_t count = 0;
    uint32_t from = known_to(x);
    enum rn_code rc;

    rn_buf_clear(&call->body);
    rc = print_ranges(x, from, &count);
    if (rc == RN_GONE && rn_context_refresh(x)) {
        call->next = list;
        call->wake(call); /* by then the catalog may have heard */
        return RN_REST_PENDING;
    }
    if (rc == RN_GONE)
        rc = rn_fail_reason(&x->err, RN_REASON_OWNER,
                            "Owner resource does not exist");
    if (rc)
        return rn_reply_fail(x, rc);
    rn_reply_owner(x);
    rn_reply_header(
        x, RN_HEADER_ETAG,
        rn_etag_print_lsn(x->container->container->next_range, etag));
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, count);
    rn_reply_text(x, RN_HEADER_SCHEMA_VERSION, "1.1");
    if (from && from == x->container->container->next_range)
        return rn_reply_fail(x, RN_NOT_MODIFIED);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, RN_STATUS_OK);
}

enum rn_rest_step rn_rest_range_list(struct rn_context *x)
{
    enum rn_code rc = rn_context_find_container(x);

    /* All come in one page, so none was ever given. */
    if (!rc && rn_context_header(x, RN_HEADER_CONTINUATION).len)
        rc = rn_fail(&x->err, RN_BAD_REQUEST, "Invalid Continuation Token");
    return rc ? rn_reply_fail(x, rc) : list(x->call);
}
