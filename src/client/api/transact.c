/* transact.c -- all or none of several operations on one partition key. */
#include "client/account/call.h"
#include "client/api/container.h"
#include "client/api/key.h"
#include "client/api/operations.h"
#include "client/http/exchange.h"
#include "client/query/source.h"

#include <assert.h>

static runnel_code print_body(const runnel_operation *operations, size_t count,
                              struct rn_buf *out, bool *only_reads,
                              runnel_error *error)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_json item;
    runnel_code rc = RUNNEL_OK;

    rn_json_init(&item, NULL);
    *only_reads = true;
    rn_json_out_array_begin(&o);
    for (size_t i = 0; !rc && i < count; i++) {
        rc = rn_operation_check(&operations[i], &item, error);
        if (!rc)
            rn_operation_print(&operations[i], &item, RN_LIT(""), &o);
        *only_reads = *only_reads && operations[i].kind == RUNNEL_READ;
    }
    rn_json_out_array_end(&o);
    rn_json_release(&item);
    return rc ? rc : rn_error_take(error, rn_json_out_finish(&o), NULL);
}

static runnel_code unreadable(runnel_error *error)
{
    return rn_error_set(error, RUNNEL_UNCERTAIN,
                        "the server's answer to the batch cannot be read");
}

static runnel_code take_results(const struct rn_exchange *x, size_t count,
                                runnel_results **out, runnel_error *error)
{
    struct rn_operation_answer a;
    runnel_results *r = NULL;
    struct rn_json j;
    runnel_code rc;

    rn_json_init(&j, &rn_page_limits);
    rc = rn_results_new(count, &r, error);
    if (!rc &&
        (rn_json_parse(&j, rn_buf_view(&x->answer), NULL) != RN_OK ||
         rn_json_kind(&j, 0) != RN_JSON_ARRAY || rn_json_count(&j, 0) != count))
        rc = unreadable(error);
    for (size_t i = 0; !rc && i < count; i++) {
        if (!rn_operation_parse(&j, (uint32_t)i, &r->arena, &a))
            rc = unreadable(error);
        else
            rc = rn_error_take(error, rn_results_set(r, i, &a), NULL);
    }
    rn_json_release(&j);
    if (rc)
        runnel_results_close(r);
    else
        *out = r;
    return rc;
}

/* The code of the operation that was refused, if one was. */
static runnel_code find_refusal(const runnel_results *r, runnel_error *error)
{
    for (size_t i = 0; i < r->count; i++) {
        const runnel_result *one = &r->of[i];
        if (one->code == RUNNEL_OK || one->code == RUNNEL_CANCELLED)
            continue;
        rn_error_set(error, one->code, "operation %zu was refused: %s", i,
                     runnel_code_name(one->code));
        if (error) {
            error->http_status = one->http_status;
            error->sub_status = one->sub_status;
        }
        return one->code;
    }
    return RUNNEL_OK;
}

static runnel_code add_headers(struct rn_client_call *call, const char *key,
                               runnel_error *error)
{
    struct rn_headers *h = &call->request.headers;
    struct rn_buf text = RN_BUF_INIT(RN_KEY_TEXT_MAX);
    runnel_code rc = rn_key_print(call->request.container, key, &text, error);

    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_PARTITION_KEY, rn_buf_view(&text),
                            error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_BATCH, RN_LIT("True"), error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_BATCH_ATOMIC, RN_LIT("True"), error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_BATCH_ORDERED, RN_LIT("True"), error);
    rn_buf_release(&text);
    return rc;
}

runnel_code runnel_items_transact(runnel_container *container,
                                  const char *partition_key,
                                  const runnel_operation *operations,
                                  size_t count, runnel_results **out,
                                  runnel_error *error)
{
    struct rn_link link =
        rn_client_container_list(container->inner, RN_KIND_DOCUMENT);
    struct rn_buf body = RN_BUF_INIT(RN_BATCH_BYTES_MAX);
    runnel_results *results = NULL;
    bool only_reads = false;
    struct rn_client_call call;
    runnel_code rc;

    if (count == 0 || count > RN_BATCH_OPERATIONS_MAX) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "a transaction has 1 to %d operations",
                            RN_BATCH_OPERATIONS_MAX);
    }
    rc = print_body(operations, count, &body, &only_reads, error);
    rn_client_call_init(&call, rn_client_container_account(container->inner),
                        "POST", only_reads ? RN_EFFECT_READ : RN_EFFECT_WRITE,
                        &link);
    call.request.container = container->inner;
    call.request.body = rn_buf_view(&body);
    if (!rc)
        rc = add_headers(&call, partition_key, error);
    if (!rc)
        rc = rn_client_call_run(&call, error);
    if (!rc)
        rc = rn_client_call_unkept(
            &call, take_results(&call.exchange, count, &results, error), error);
    rn_client_call_release(&call);
    rn_buf_release(&body);
    if (rc)
        return rc;
    assert(results);
    rc = find_refusal(results, error);
    if (out)
        *out = results;
    else
        runnel_results_close(results);
    return rc;
}
