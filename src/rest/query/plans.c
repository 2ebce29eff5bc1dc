/* plans.c -- query plans for clients that run a query over several ranges. */
#include "rest/query/plans.h"

#include "rest/objects.h"
#include "rest/query/request.h"
#include "rest/reply.h"

#include "access/key_predicates.h"
#include "query/client_plan/client_plan.h"
#include "json/print.h"

static enum rn_code place(void *context, const struct rn_value *values,
                          uint32_t count, struct rn_buf *min,
                          struct rn_buf *max)
{
    const struct rn_pkdef *def = context;
    char text[RN_EPK_TEXT_MAX];
    struct rn_epk_range range;
    struct rn_pk pk = { .count = count };
    bool is_key;
    enum rn_code rc;

    for (uint32_t i = 0; i < count; i++)
        pk.values[i] = rn_access_key_of(&values[i], &is_key);
    if (count == def->count) {
        rn_epk_of(def, &pk, &range.min);
        range.max = range.min;
    } else {
        rn_epk_range_of(def, &pk, &range);
    }
    rc = rn_buf_add(min, rn_epk_print(&range.min, text));
    return rc ? rc : rn_buf_add(max, rn_epk_print(&range.max, text));
}

enum rn_code rn_query_request_plan(struct rn_query_request *a,
                                   struct rn_context *x, struct rn_buf *out)
{
    const struct rn_pkdef *def = &x->container->container->pkdef;
    struct rn_plan_keys keys = {
        .place = place,
        .paths = def->paths,
        .count = (uint32_t)def->count,
        .is_hierarchical = def->kind == RN_PKDEF_MULTIHASH,
        .features = rn_context_header(x, RN_HEADER_QUERY_FEATURES),
        .context = (void *)def,
    };

    return rn_query_plan_print(a->query, &keys, &a->faults, out, &x->err);
}

enum rn_rest_step rn_query_request_give_plan(struct rn_query_request *a,
                                             struct rn_context *x)
{
    const struct rn_status *status =
        rn_status_of(RN_BAD_REQUEST, RN_REASON_CROSS_PARTITION);
    struct rn_buf plan = RN_BUF_INIT(16 << 20);
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    enum rn_code rc = rn_query_request_plan(a, x, &plan);

    if (rc) {
        rn_buf_release(&plan);
        return rn_query_request_refuse(a, x, rc);
    }
    rn_buf_clear(&x->call->body);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("code"));
    rn_json_out_string(&o, rn_view_text(status->word));
    rn_json_out_key(&o, RN_LIT("message"));
    rn_json_out_string(&o, rn_view_text(status->text));
    rn_json_out_key(&o, RN_LIT("additionalErrorInfo"));
    rn_json_out_string(&o, rn_buf_view(&plan));
    rn_json_out_object_end(&o);
    (void)!rn_json_out_finish(&o);
    rn_buf_release(&plan);
    rn_query_request_release(a);
    rn_reply_number(x, RN_HEADER_SUB_STATUS, (uint64_t)status->sub);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    rn_fail_reason(&x->err, RN_REASON_CROSS_PARTITION, "%s", status->text);
    return rn_reply_json(x, status->http);
}

enum rn_rest_step rn_rest_query_plan(struct rn_context *x)
{
    struct rn_query_request request;
    enum rn_code rc = rn_context_find_container(x);

    if (rc)
        return rn_reply_fail(x, rc);
    rc = rn_query_request_read(&request, x);
    if (!rc)
        rc = rn_query_request_plan(&request, x, &x->call->body);
    if (rc)
        return rn_query_request_refuse(&request, x, rc);
    rn_query_request_release(&request);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, RN_STATUS_OK);
}
