/* call.c -- a request with its retries; see call.h. */
#include "client/account/call.h"

#include "client/account/container.h"

#define NS_PER_MS INT64_C(1000000)

void rn_client_call_init(struct rn_client_call *c, struct rn_account *account,
                         const char *method, enum rn_effect effect,
                         const struct rn_link *link)
{
    *c = (struct rn_client_call){ .account = account };
    rn_request_init(&c->request, method, effect, link);
    rn_exchange_init(&c->exchange, RN_ANSWER_MAX);
}

static void end(struct rn_client_call *c, runnel_code code)
{
    c->code = c->error.code = rn_retry_outcome(&c->retry, code);
    c->is_over = true;
    c->due_ns = 0;
}

static void exchange_done(struct rn_exchange *x)
{
    struct rn_client_call *c = x->context;

    c->has_ended = true;
}

static void send_attempt(struct rn_client_call *c)
{
    runnel_code rc =
        rn_request_build(c->account, &c->request, &c->exchange, &c->error);

    c->due_ns = 0;
    if (rc) {
        end(c, rc);
        return;
    }
    c->exchange.done = exchange_done;
    c->exchange.context = c;
    c->transport->ops->start(c->transport, &c->exchange);
}

void rn_client_call_begin(struct rn_client_call *c, struct rn_transport *t)
{
    c->transport = t;
    c->is_over = c->has_ended = false;
    rn_retry_init(&c->retry, rn_account_retry(c->account));
    c->retry.has_new_token =
        !rn_credential_has_callback(rn_account_credential(c->account));
    send_attempt(c);
}

/* ---- after an attempt ---------------------------------------------------- */

/* Stores the session token of an answer, with the container's rid if the answer
 * has it.  A lost write may be missing from the token, which is harmless. */
static runnel_code note_session(struct rn_client_call *c)
{
    const struct rn_headers *h = &c->exchange.answer_headers;
    struct rn_view token = rn_headers_find(h, RN_HEADER_SESSION_TOKEN);
    struct rn_view rid = rn_headers_find(h, RN_HEADER_CONTENT_PATH);
    struct rn_client_container *container = c->request.container;

    if (!container || token.len == 0 || !rn_account_has_session(c->account))
        return RUNNEL_OK;
    return rn_error_take(&c->error,
                         rn_sessions_note(rn_account_sessions(c->account),
                                          rn_client_container_path(container),
                                          rid, token),
                         NULL);
}

runnel_code rn_client_call_unkept(const struct rn_client_call *c,
                                  runnel_code rc, runnel_error *error)
{
    if (rc != RUNNEL_NO_MEMORY || c->request.effect == RN_EFFECT_READ)
        return rc;
    return rn_error_set(error, RUNNEL_UNCERTAIN,
                        "there is no memory for the answer to a write");
}

static void heed(struct rn_client_call *c, const struct rn_retry_verdict *v)
{
    struct rn_view url = rn_buf_view(&c->exchange.url);

    if (v->wants_region)
        rn_regions_fail(rn_account_regions(c->account), url,
                        rn_mono_ns(rn_account_env(c->account)));
    if (v->wants_clock)
        rn_account_set_clock(c->account, &c->exchange);
    if (v->wants_token)
        rn_credential_renew(rn_account_credential(c->account));
    if (v->wants_ranges && c->request.container)
        rn_client_container_reroute(c->request.container);
    if (v->wants_definition && c->request.container)
        rn_client_container_forget(c->request.container);
}

static void judge(struct rn_client_call *c)
{
    struct rn_retry_verdict v;
    runnel_code rc;

    c->has_ended = false;
    v = rn_retry_judge(&c->retry, &c->exchange,
                       rn_account_is_clock_off(c->account, &c->exchange),
                       &c->error);
    heed(c, &v);
    rc = rn_client_call_unkept(c, note_session(c), &c->error);
    if (v.act == RN_RETRY_OVER)
        end(c, v.code ? v.code : rc);
    else
        c->due_ns = rn_mono_ns(rn_account_env(c->account)) +
                    (int64_t)v.pause_ms * NS_PER_MS + 1;
}

int64_t rn_client_call_step(struct rn_client_call *c)
{
    int64_t now;

    if (c->is_over)
        return RN_TASK_IDLE;
    if (c->has_ended)
        judge(c);
    if (c->is_over || !c->due_ns)
        return RN_TASK_IDLE;
    now = rn_mono_ns(rn_account_env(c->account));
    if (now < c->due_ns - 1)
        return c->due_ns - 1 - now;
    send_attempt(c);
    return RN_TASK_IDLE;
}

void rn_client_call_cancel(struct rn_client_call *c)
{
    bool is_write = c->request.effect != RN_EFFECT_READ;
    bool is_open;

    if (c->is_over)
        return;
    if (c->exchange.running)
        c->transport->ops->cancel(c->transport, &c->exchange);
    is_open = is_write && c->exchange.was_sent && !c->due_ns;
    if (is_open || c->retry.was_lost) {
        end(c, rn_error_set(&c->error, RUNNEL_UNCERTAIN,
                            "the call was cancelled after its request was "
                            "sent"));
    } else {
        end(c, rn_error_set(&c->error, RUNNEL_CANCELLED,
                            "the call was cancelled"));
    }
}

void rn_client_call_release(struct rn_client_call *c)
{
    if (c->account && !c->is_over && c->transport)
        rn_client_call_cancel(c);
    rn_request_release(&c->request);
    rn_exchange_release(&c->exchange);
}

/* ---- the whole ----------------------------------------------------------- */

static void run(struct rn_client_call *c)
{
    rn_client_call_begin(c, c->transport);
    while (!c->is_over) {
        int64_t wait_ns = rn_client_call_step(c);
        if (c->is_over)
            break;
        if (rn_cancel_is_set(c->cancel)) {
            rn_client_call_cancel(c);
            break;
        }
        c->transport->ops->wait(c->transport, wait_ns);
    }
}

runnel_code rn_client_call_run(struct rn_client_call *c, runnel_error *error)
{
    struct rn_pool *pool = rn_account_pool(c->account);
    runnel_code rc;

    if (!c->cancel) {
        c->cancel = c->request.container
                        ? rn_client_container_cancel(c->request.container)
                        : rn_account_cancel(c->account);
    }
    rc = rn_account_prepare(c->account, c->cancel, error);
    if (!rc)
        rc = rn_pool_take(pool, c->cancel, &c->transport, error);
    if (rc)
        return rc;
    run(c);
    rn_pool_give(pool, c->transport);
    c->transport = NULL;
    if (c->code && error)
        *error = c->error;
    return c->code;
}
