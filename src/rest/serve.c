/* serve.c -- the steps that all requests share, around the handler.
 *
 * The order makes sure that a client learns nothing without a right to it:
 * probes, Host, public paths, path, signature, rights, route, handler.
 */
#include "rest/serve.h"

#include "rest/admin/control.h"
#include "rest/admin/fault_injection.h"
#include "rest/auth.h"
#include "rest/auth_delay.h"
#include "rest/auth_unknown_path.h"
#include "rest/budget.h"
#include "rest/context.h"
#include "rest/documents.h"
#include "rest/feed/feed_page.h"
#include "rest/headers.h"
#include "rest/health.h"
#include "rest/metrics/by_container.h"
#include "rest/permissions.h"
#include "rest/query/queries.h"
#include "rest/reply.h"
#include "rest/route.h"
#include "rest/sessions.h"

#include "base/clock.h"
#include "engine/catalog/object.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

/* ---- context ------------------------------------------------------------- */

bool rn_context_is_old(const struct rn_context *x)
{
    struct rn_view version = rn_context_header(x, RN_HEADER_VERSION);

    return version.len == 10 &&
           rn_view_compare(version, RN_LIT("2018-06-18")) < 0;
}

static void undo(struct rn_call *call)
{
    struct rn_context *x = call->state;

    rn_auth_delay_end(x);
    if (x->has_written)
        rn_document_write_release(&x->write);
    rn_object_release(x->offer);
    rn_object_release(x->object);
    rn_object_release(x->user);
    rn_object_release(x->container);
    rn_object_release(x->database);
    atomic_fetch_sub(&x->rest->calls, 1);
}

static struct rn_context *context_new(struct rn_call *call)
{
    struct rn_context *x = rn_arena_alloc(&call->arena, sizeof(*x));

    if (!x)
        return NULL;
    memset(x, 0, sizeof(*x));
    x->call = call;
    x->rest = call->rest;
    call->state = x;
    call->undo = undo;
    atomic_fetch_add(&x->rest->calls, 1);
    return x;
}

/* ---- steps --------------------------------------------------------------- */

/* Is it numeric and in 127.0.0.0/8?  A name such as 127.example.org may be
 * anyone's. */
static bool is_loopback_address(struct rn_view host)
{
    for (size_t i = 0; i < host.len; i++) {
        if (host.at[i] != '.' && (host.at[i] < '0' || host.at[i] > '9'))
            return false;
    }
    return rn_view_starts(host, RN_LIT("127."));
}

static bool is_own_host(const char *own, struct rn_view host)
{
    return own && strlen(own) == host.len &&
           strncasecmp(own, host.at, host.len) == 0;
}

/* DNS rebinding: a web page can make a browser call the server under a name of
 * its own that resolves to this machine, but it cannot forge the Host
 * header. */
static enum rn_code check_host(struct rn_context *x)
{
    struct rn_view host = x->call->req->host;
    size_t len = host.len;

    if (!x->rest->opts.loopback_only || host.len == 0)
        return RN_OK;
    for (size_t i = host.len; i > 0; i--) {
        if (host.at[i - 1] == ':') {
            len = i - 1;
            break;
        }
        if (host.at[i - 1] == ']')
            break;
    }
    host.len = len;
    if ((host.len == 9 && strncasecmp(host.at, "localhost", 9) == 0) ||
        rn_view_eq(host, RN_LIT("[::1]")) || is_loopback_address(host) ||
        is_own_host(x->rest->opts.host, host))
        return RN_OK;
    return rn_fail(&x->err, RN_FORBIDDEN,
                   "the server listens on loopback only and is not called "
                   "'%.*s'",
                   RN_FMT(host));
}

/* Plain HTTP exposes requests, answers and tokens to the network.  A client on
 * this machine is exempt; it may be a proxy that terminates TLS. */
static enum rn_code check_way(struct rn_context *x)
{
    const struct rn_call *call = x->call;

    if (call->is_tls || call->is_loopback || !x->rest->opts.tls_only)
        return RN_OK;
    return rn_fail(&x->err, RN_FORBIDDEN,
                   "the server speaks HTTPS only to a network, unless it was "
                   "started with --allow-plain-http-on-network");
}

/* Parses the path.  Its errors are reported after the signature has been
 * checked. */
static enum rn_code read_path(struct rn_context *x)
{
    enum rn_code rc =
        rn_http_target_parse(x->call->req->target, RN_HTTP_QUESTION_IS_NAME,
                             &x->call->arena, &x->target, &x->err);

    if (rc)
        return rc;
    /* The path at which clients look up single replicas. */
    if (x->target.segment_count > 0 &&
        rn_view_eq(x->target.segments[0], RN_LIT("addresses"))) {
        (void)!rn_auth_unknown_path_resolve(x);
        return rn_fail(
            &x->err, RN_BAD_REQUEST,
            "This server speaks gateway mode only. Java: "
            "CosmosClientBuilder.gatewayMode(); .NET V3: "
            "CosmosClientOptions.ConnectionMode = ConnectionMode.Gateway; V2: "
            "ConnectionPolicy.ConnectionMode = ConnectionMode.Gateway");
    }
    return rn_link_parse(x->target.segments, x->target.segment_count, &x->link,
                         &x->err);
}

static enum rn_code check_rights(struct rn_context *x)
{
    unsigned need =
        x->route->traits & RN_ROUTE_WRITES ? RN_MAY_WRITE : RN_MAY_READ;

    if (x->is_granted)
        return rn_permission_check(x);
    if (x->rights & need)
        return RN_OK;
    if (x->rights & RN_MAY_WRITE_DATA) {
        return x->link.kind == RN_KIND_DOCUMENT || x->link.is_key_delete
                   ? RN_OK
                   : rn_fail_reason(&x->err, RN_REASON_DATA_ONLY,
                                    "A Microsoft Entra token allows "
                                    "operations on documents only; use an "
                                    "account key.");
    }
    return rn_fail(&x->err, RN_FORBIDDEN,
                   "The given request requires a read-write key");
}

static enum rn_code read_key(struct rn_context *x)
{
    struct rn_view text = rn_context_header(x, RN_HEADER_PARTITION_KEY);

    if (!text.at)
        return RN_OK;
    x->has_pk = true;
    return rn_pk_parse(text, &x->call->arena, &x->pk, &x->err);
}

/* The proxy before the service's older gateway refuses control characters in a
 * path, with a message of its own. */
static bool is_strictly_refused(struct rn_context *x)
{
    const struct rn_link *l = &x->link;

    if (!x->rest->opts.strict || l->kind != RN_KIND_DOCUMENT || l->is_list)
        return false;
    for (size_t i = 0; i < l->ids[l->depth - 1].len; i++) {
        if (iscntrl((uint8_t)l->ids[l->depth - 1].at[i]))
            return true;
    }
    return false;
}

static enum rn_rest_step refuse_url(struct rn_context *x)
{
    static const char page[] =
        "<HTML><HEAD><TITLE>Bad Request</TITLE></HEAD><BODY>"
        "<h2>Bad Request - Invalid URL</h2><hr>"
        "<p>HTTP Error 400. The request URL is invalid.</p></BODY></HTML>";

    x->err.code = rn_fail(&x->err, RN_BAD_REQUEST,
                          "the id has a control character (--strict)");
    x->call->res.status = rn_status_of(RN_BAD_REQUEST, RN_REASON_NONE)->http;
    x->call->res.body = rn_view_text(page);
    rn_reply_text(x, RN_HEADER_CONTENT_TYPE, "text/html; charset=us-ascii");
    return RN_REST_DONE;
}

/* An unauthenticated client gets 401 whatever the path is. */
static enum rn_rest_step refuse_path(struct rn_context *x, enum rn_code why)
{
    struct rn_err before = x->err;
    enum rn_code rc;

    x->is_stray = true;
    rc = rn_rest_authorize(x);
    if (rc)
        return rn_reply_fail(x, rc);
    x->err = before;
    return rn_reply_fail(x, why);
}

static enum rn_rest_step begin(struct rn_context *x)
{
    enum rn_rest_step step;
    enum rn_code path, rc;

    rn_reply_common(x);
    if (rn_rest_probe(x))
        return RN_REST_DONE;
    rc = check_host(x);
    if (!rc)
        rc = check_way(x);
    if (rc)
        return rn_reply_fail(x, rc);
    if (rn_rest_public(x))
        return RN_REST_DONE;
    if (rn_control_is(x))
        return rn_rest_control(x);
    path = read_path(x);
    if (path)
        return refuse_path(x, path);
    rc = rn_rest_authorize(x);
    if (!rc && is_strictly_refused(x))
        return refuse_url(x);
    if (!rc)
        rc = read_key(x);
    if (rc)
        return rn_reply_fail(x, rc);
    x->route = rn_route_find(x);
    if (!x->route) {
        return rn_reply_fail(
            x, rn_fail_reason(&x->err, RN_REASON_METHOD,
                              "Operation is not allowed on this resource"));
    }
    rc = check_rights(x);
    if (!rc)
        rc = rn_headers_check(x);
    if (!rc)
        rc = rn_session_check_level(x);
    if (!rc && !(x->route->traits & RN_ROUTE_PAYS))
        rc = rn_budget_check(x);
    if (!rc)
        rc = rn_context_mend_body(x);
    if (rc)
        return rn_reply_fail(x, rc);
    return rn_injected_fault_strike(x, &step) ? step : x->route->run(x);
}

static void count_feed(const struct rn_context *x)
{
    int status = x->call->res.status;
    enum rn_feed_result result = status == RN_STATUS_OK ? RN_FEED_PAGE
                                 : x->err.code == RN_NOT_MODIFIED
                                     ? RN_FEED_NOTHING
                                 : x->err.code == RN_GONE ? RN_FEED_GONE
                                                          : RN_FEED_ERROR;

    rn_rest_counters_feed(x->rest->counters, result,
                          result == RN_FEED_PAGE ? x->feed->count : 0,
                          x->call->note.idle_ns);
}

/* The container that the request is counted under. */
static uint64_t container_of(const struct rn_context *x)
{
    const struct rn_object *o = x->container ? x->container : x->object;

    return o && o->kind == RN_KIND_CONTAINER ? rn_by_container_number(o->rid)
                                             : 0;
}

static void count_query(const struct rn_context *x)
{
    const struct rn_call_note *n = &x->call->note;

    rn_rest_counters_query(x->rest->counters, n->ns, &n->query);
    if (n->code == RN_TIMEOUT)
        rn_rest_counters_abort(x->rest->counters, RN_ABORT_STEPS);
    else if (n->code == RN_TOO_LARGE)
        rn_rest_counters_abort(x->rest->counters, RN_ABORT_MEMORY);
}

/* Records the result for the request log and the metrics. */
static void take_note(struct rn_context *x)
{
    struct rn_call *call = x->call;
    struct rn_call_note *n = &call->note;
    struct rn_env *env = x->rest->opts.env;
    int64_t now_ns = rn_mono_ns(env);
    struct rn_rest_counters_request r = {
        .method = call->req->method,
        .kind = x->route ? x->link.kind : RN_KINDS,
        .status = call->res.status,
        .ns = now_ns - call->begun_ns - n->idle_ns,
        .bytes_in = call->req->body.len,
        .bytes_out = call->res.body.len,
        .units = n->charge,
        .container = container_of(x),
    };

    n->ns = r.ns;
    rn_reply_duration(x, r.ns);
    n->resource = x->route ? rn_kind_word(x->link.kind) : RN_LIT("none");
    n->code = x->err.code;
    n->err = x->err.text;
    n->jump_ms = rn_clock_jumps_note(&x->rest->jumps, rn_wall_ms(env), now_ns);
    if (n->code)
        n->sub = rn_status_of(n->code, (enum rn_reason)x->err.reason)->sub;
    rn_rest_counters_request(x->rest->counters, &r);
    if (x->feed)
        count_feed(x);
    if (x->route && x->route->run == rn_rest_query)
        count_query(x);
}

/* The steps that all requests share after the handler. */
static enum rn_rest_step finish(struct rn_call *call, enum rn_rest_step step)
{
    if (step == RN_REST_DONE) {
        rn_injected_fault_strike_after(call->state);
        rn_headers_finish(call->state);
        take_note(call->state);
    } else if (step == RN_REST_WORK) {
        call->note.waited_for = "worker";
    } /* another thread may own a pending call by now */
    return step;
}

enum rn_rest_step rn_rest_serve(struct rn_call *call)
{
    struct rn_context *x = context_new(call);
    enum rn_rest_step step;

    if (!x) {
        rn_rest_reject(call->rest, RN_REJECT_MALFORMED);
        rn_rest_refuse(call, rn_status_of(RN_NOMEM, RN_REASON_NONE)->http,
                       "out of memory");
        return RN_REST_DONE;
    }
    call->note.waited_for = NULL;
    step = begin(x);
    if (step == RN_REST_DONE && x->is_suspect)
        rn_auth_delay_begin(x);
    step = finish(call, step);
    if (step == RN_REST_PENDING && !call->note.waited_for)
        call->note.waited_for = "commit"; /* it returns to this thread */
    return step;
}

enum rn_rest_step rn_rest_resume(struct rn_call *call)
{
    assert(call->next);
    return finish(call, call->next(call));
}

enum rn_rest_step rn_rest_shed(struct rn_call *call)
{
    return finish(call,
                  rn_reply_fail(call->state, rn_budget_shed(call->state)));
}

void rn_rest_refuse(struct rn_call *call, int status, const char *why)
{
    const struct rn_status *row = rn_status_read(status, 0);
    struct rn_env *env = call->rest->opts.env;
    char date[RN_DATE_TEXT_MAX];
    struct rn_view id = rn_uuid_print(rn_uuid_random(env), call->note.activity);

    call->note.err = why;
    rn_http_response_init(&call->res, call->req);
    call->res.status = status;
    call->res.keep_alive = false;
    rn_reply_print_error(call, row->word,
                         row->code == RN_TOO_LARGE ? row->text : why);
    call->res.body = rn_buf_view(&call->body);
    rn_http_response_add(&call->res, RN_LIT(RN_HEADER_CONTENT_TYPE),
                         RN_LIT("application/json"));
    rn_http_response_add(&call->res, RN_LIT(RN_HEADER_SERVER),
                         RN_LIT("runnel"));
    rn_http_response_add(&call->res, RN_LIT(RN_HEADER_GATEWAY_VERSION),
                         RN_LIT(RN_GATEWAY_VERSION));
    rn_http_response_add(&call->res, RN_LIT(RN_HEADER_CHARGE), RN_LIT("0"));
    rn_http_response_add(&call->res, RN_LIT(RN_HEADER_ACTIVITY_ID), id);
    rn_http_response_add(&call->res, RN_LIT(RN_HEADER_DATE),
                         rn_date_print(rn_wall_ms(env) / 1000, date));
}
