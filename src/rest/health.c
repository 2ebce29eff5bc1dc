/* health.c -- endpoints without authentication: liveness, readiness, metrics,
 * the CA certificate.
 *
 * Paths are matched exactly, and none takes input.
 */
#include "rest/health.h"

#include "rest/context.h"
#include "rest/metrics/metrics.h"
#include "rest/reply.h"

#include "json/print.h"

#include <stdio.h>
#include <unistd.h>

enum { WAIT_TOLD_MS = 2000 }; /* reports longer waits for store space */

const char *const rn_insecure_names[RN_INSECURE] = {
    "well_known_key", "plain_http", "root", "test_mode", "admin",
};

void rn_insecure_find(struct rn_rest *r, bool out[RN_INSECURE])
{
    bool exposed = !r->opts.loopback_only;

    out[0] = exposed && r->opts.well_known_key;
    out[1] = exposed && !r->opts.tls_only;
    out[2] = exposed && geteuid() == 0;
    out[3] = r->opts.clock != NULL;
    out[4] = exposed && r->opts.admin;
}

/* Insecure settings do not affect readiness: the operator set them by name. */
static void print_insecure(struct rn_rest *r, struct rn_json_out *o)
{
    bool found[RN_INSECURE], any = false;

    rn_insecure_find(r, found);
    for (size_t i = 0; i < RN_INSECURE; i++) {
        if (!found[i])
            continue;
        if (!any) {
            rn_json_out_key(o, RN_LIT("insecure"));
            rn_json_out_array_begin(o);
        }
        rn_json_out_string(o, rn_view_text(rn_insecure_names[i]));
        any = true;
    }
    if (any)
        rn_json_out_array_end(o);
}

/* Whether writes are accepted.  `*why` says why not, or why they wait.  The
 * endpoint is public, so the text of a fault, which names files, is left
 * out. */
static bool is_ready(struct rn_context *x, const struct rn_store_status *s,
                     const char **why)
{
    bool stopping = atomic_load(&x->rest->stopping);
    bool refuses = s->full || s->stalled;

    *why = s->read_only ? "read-only after a fault of the disk"
           : refuses    ? s->reason
           : stopping   ? "stopping"
           : s->no_room_ms >= WAIT_TOLD_MS ? s->reason
                                           : NULL;
    return !s->read_only && !refuses && !stopping;
}

static void answer_ready(struct rn_context *x)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&x->call->body);
    struct rn_store_status s;
    const char *why;
    bool ready;

    rn_store_status(rn_engine_store(x->rest->engine), &s);
    ready = is_ready(x, &s, &why);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("ready"));
    rn_json_out_bool(&o, ready);
    if (why) {
        rn_json_out_key(&o, RN_LIT("reason"));
        rn_json_out_string(&o, rn_view_text(why));
    }
    print_insecure(x->rest, &o);
    rn_json_out_object_end(&o);
    (void)!rn_json_out_finish(&o);
    rn_reply_json(x, ready ? RN_STATUS_OK
                           : rn_status_of(RN_READ_ONLY, RN_REASON_NONE)->http);
}

static void answer_metrics(struct rn_context *x)
{
    if (rn_metrics_print(x->rest, &x->call->body)) {
        rn_reply_fail(x, RN_NOMEM);
        return;
    }
    x->call->res.status = RN_STATUS_OK;
    x->call->res.body = rn_buf_view(&x->call->body);
    rn_reply_text(x, RN_HEADER_CONTENT_TYPE, "text/plain; version=0.0.4");
}

static void answer_alive(struct rn_context *x)
{
    (void)!rn_buf_add(&x->call->body, RN_LIT("{\"alive\":true}"));
    rn_reply_json(x, RN_STATUS_OK);
}

/* The path is the emulators'. The certificate is public. */
static void answer_authority(struct rn_context *x)
{
    struct rn_rest *r = x->rest;
    enum rn_code rc;

    pthread_mutex_lock(&r->lock);
    rc = rn_buf_add(&x->call->body, rn_buf_view(&r->authority));
    pthread_mutex_unlock(&r->lock);
    if (rc || !x->call->body.len) {
        rn_reply_fail(x, rn_fail(&x->err, rc ? rc : RN_NOT_FOUND,
                                 "This server has no authority of its own; "
                                 "see 'runnel tls init'"));
        return;
    }
    x->call->res.status = RN_STATUS_OK;
    x->call->res.body = rn_buf_view(&x->call->body);
    rn_reply_text(x, RN_HEADER_CONTENT_TYPE, "application/x-pem-file");
}

/* Metrics reveal who uses a server, and when. */
static bool may_see_metrics(struct rn_context *x)
{
    struct rn_view sent = rn_context_header(x, RN_HEADER_AUTHORIZATION);
    struct rn_view word = RN_LIT("Bearer ");
    struct rn_rest *r = x->rest;
    struct rn_view token;
    bool may;

    if (x->call->is_loopback)
        return true;
    if (!rn_view_starts(sent, word))
        return false;
    sent = rn_view_of(sent.at + word.len, sent.len - word.len);
    pthread_mutex_lock(&r->lock);
    token = rn_view_text(r->keys->metrics_token);
    may = token.len && rn_equal_secret(sent, token);
    pthread_mutex_unlock(&r->lock);
    x->is_suspect = !may;
    return may;
}

/* Load balancers probe with HEAD. */
static bool is_look(const struct rn_context *x)
{
    enum rn_http_method method = x->call->req->method;

    return method == RN_HTTP_GET || method == RN_HTTP_HEAD;
}

bool rn_rest_probe(struct rn_context *x)
{
    struct rn_view target = x->call->req->target;

    if (!is_look(x))
        return false;
    if (rn_view_eq(target, RN_LIT("/healthz")) ||
        rn_view_eq(target, RN_LIT("/livez")))
        answer_alive(x);
    else if (rn_view_eq(target, RN_LIT("/readyz")))
        answer_ready(x);
    else
        return false;
    return true;
}

bool rn_rest_public(struct rn_context *x)
{
    struct rn_view target = x->call->req->target;

    if (!is_look(x))
        return false;
    if (rn_view_eq(target, RN_LIT("/metrics")) && may_see_metrics(x))
        answer_metrics(x);
    else if (rn_view_eq(target, RN_LIT("/_explorer/emulator.pem")))
        answer_authority(x);
    else
        return false;
    return true;
}
