/* ranges.c -- a container's partition key ranges.
 *
 * Clients read them as an incremental feed and go on until they are told that
 * nothing is new, so the second read must be told just that.
 */
#include "rest/own.h"

#include "json/print.h"

#include <stdio.h>

static void print_range(struct rn_json_out *o, const struct rn_container *c,
                        const struct rn_range_span *span)
{
    struct rn_rid rid = rn_rid_child(c->rid, RN_KIND_RANGE, span->id + 1);
    char id[16], text[RN_RID_TEXT_MAX], self[RN_RID_SELF_MAX];
    char min[RN_EPK_TEXT_MAX], max[RN_EPK_TEXT_MAX];

    snprintf(id, sizeof(id), "%u", span->id);
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("_rid"));
    rn_json_out_string(o, rn_rid_print(rid, text));
    rn_json_out_key(o, RN_LIT("id"));
    rn_json_out_string(o, rn_view_text(id));
    rn_json_out_key(o, RN_LIT("_etag"));
    rn_json_out_string(o, RN_LIT("\"00000000-0000-0000-0000-000000000000\""));
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
    rn_json_out_array_begin(o);
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("_ts"));
    rn_json_out_uint(o, 0);
    rn_json_out_object_end(o);
}

enum rn_rest_step rn_rest_range_list(struct rn_context *x)
{
    struct rn_view seen = rn_context_header(x, RN_HEADER_IF_NONE_MATCH);
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    const struct rn_container *c;
    char rid[RN_RID_TEXT_MAX], etag[32];
    enum rn_code rc = rn_context_find_container(x);

    if (rc)
        return rn_reply_fail(x, rc);
    c = x->container->container;
    snprintf(etag, sizeof(etag), "\"%zu\"", c->range_count);
    rn_reply_owner(x);
    rn_reply_text(x, RN_HEADER_ETAG, etag);
    if (seen.len && rn_etag_matches(seen, rn_view_text(etag))) {
        rn_reply_number(x, RN_HEADER_ITEM_COUNT, 0);
        return rn_reply_fail(x, RN_NOT_MODIFIED);
    }
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("_rid"));
    rn_json_out_string(&o, rn_rid_print(c->rid, rid));
    rn_json_out_key(&o, RN_LIT("PartitionKeyRanges"));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < c->range_count; i++)
        print_range(&o, c, &c->ranges[i]);
    rn_json_out_array_end(&o);
    rn_json_out_key(&o, RN_LIT("_count"));
    rn_json_out_uint(&o, c->range_count);
    rn_json_out_object_end(&o);
    if (rn_json_out_finish(&o))
        return rn_reply_fail(x, RN_NOMEM);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, c->range_count);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, RN_STATUS_OK);
}
