/* request.c -- parses the body of a query request, and reports its errors. */
#include "rest/query/request.h"
#include "rest/reply.h"

#include "query/run/resume.h"
#include "json/print.h"

static enum rn_code read_policy(struct rn_query_request *a,
                                struct rn_context *x)
{
    enum rn_code rc =
        rn_json_parse(&a->definition, x->container->body, &x->err);

    if (!rc)
        rc = rn_policy_read(&a->definition, &x->call->arena, &a->policy);
    a->policy.is_any_order = x->rest->opts.any_order;
    return rc;
}

static enum rn_code read_resume(struct rn_query_request *a,
                                struct rn_context *x)
{
    uint32_t node = rn_json_find(&a->json, 0, RN_LIT("resumeFilter"));
    enum rn_json_kind kind = rn_json_kind(&a->json, node);

    if (kind == RN_JSON_UNDEFINED || kind == RN_JSON_NULL)
        return RN_OK;
    a->resume = rn_arena_alloc(&x->call->arena, sizeof(*a->resume));
    if (!a->resume)
        return RN_NOMEM;
    return rn_query_resume_read(a->query, &a->json, node, &x->call->arena,
                                a->resume, &x->err);
}

enum rn_code rn_query_request_read(struct rn_query_request *a,
                                   struct rn_context *x)
{
    struct rn_query_input in = { .json = &a->json };
    uint32_t text;
    enum rn_code rc;

    *a = (struct rn_query_request){ .query = NULL };
    rn_json_init(&a->json, NULL);
    rn_json_init(&a->definition, NULL);
    rc = rn_json_parse(&a->json, x->call->req->body, &x->err);
    if (!rc && x->link.kind == RN_KIND_DOCUMENT) {
        rc = read_policy(a, x);
        in.policy = &a->policy;
    }
    if (rc)
        return rc;
    text = rn_json_find(&a->json, 0, RN_LIT("query"));
    if (rn_json_kind(&a->json, text) != RN_JSON_STRING) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "The input content is invalid because the required "
                       "properties - 'query; ' - are missing");
    }
    rc = rn_json_string_get(&a->json, text, &x->call->arena, &in.text);
    if (rc)
        return rc;
    in.parameters = rn_json_find(&a->json, 0, RN_LIT("parameters"));
    if (in.parameters == RN_JSON_NONE ||
        rn_json_kind(&a->json, in.parameters) == RN_JSON_NULL)
        in.json = NULL;
    else if (rn_json_kind(&a->json, in.parameters) != RN_JSON_ARRAY) {
        return rn_fail(&x->err, RN_BAD_REQUEST,
                       "The input content is invalid: 'parameters' is not an "
                       "array");
    }
    rc = rn_query_parse(&in, &x->call->arena, &a->query, &a->faults, &x->err);
    return rc ? rc : read_resume(a, x);
}

void rn_query_request_release(struct rn_query_request *a)
{
    rn_json_release(&a->json);
    rn_json_release(&a->definition);
}

enum rn_rest_step rn_query_request_refuse(struct rn_query_request *a,
                                          struct rn_context *x, enum rn_code rc)
{
    const struct rn_status *status =
        rn_status_of(rc, (enum rn_reason)x->err.reason);
    struct rn_buf faults = RN_BUF_INIT(64 << 10);
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);

    if (a->faults.count == 0 || rn_buf_add(&faults, RN_LIT("Message: ")) ||
        rn_faults_print(&a->faults, &faults) ||
        rn_buf_printf(&faults, "\r\nActivityId: %s", x->call->note.activity)) {
        rn_buf_release(&faults);
        rn_query_request_release(a);
        return rn_reply_fail(x, rc);
    }
    rn_buf_clear(&x->call->body);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("code"));
    rn_json_out_string(&o, rn_view_text(status->word));
    rn_json_out_key(&o, RN_LIT("message"));
    rn_json_out_string(&o, rn_buf_view(&faults));
    rn_json_out_object_end(&o);
    (void)!rn_json_out_finish(&o);
    rn_buf_release(&faults);
    rn_query_request_release(a);
    if (status->sub)
        rn_reply_number(x, RN_HEADER_SUB_STATUS, (uint64_t)status->sub);
    rn_reply_charge(x, RN_CHARGE_METADATA);
    return rn_reply_json(x, status->http);
}
