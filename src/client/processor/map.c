/* map.c -- the routing map of the source, read without blocking. */
#include "client/processor/map.h"

#include "client/account/call.h"
#include "client/account/container.h"
#include "client/account/routing.h"
#include "client/http/exchange.h"
#include "client/processor/host.h"
#include "client/processor/state.h"

enum { MAP_RETRY_MS = 500, MAP_INCOMPLETE_MS = 50 };

void rn_host_want_map(struct rn_host *h)
{
    h->wants_map = true;
}

void rn_host_distrust_map(struct rn_host *h)
{
    h->is_map_doubted = true;
}

/* What the next answer adds to; NULL: it is all there is. */
static const struct rn_routing *base_of(const struct rn_host *h)
{
    if (h->map_next)
        return h->map_next;
    return h->is_map_doubted ? NULL : h->map;
}

static void end_call(struct rn_host *h)
{
    rn_client_call_release(h->map_call);
    rn_free(h->map_call);
    h->map_call = NULL;
}

void rn_host_forget_map(struct rn_host *h)
{
    if (h->map_call)
        end_call(h);
    rn_routing_unref(h->map);
    rn_routing_unref(h->map_next);
    h->map = h->map_next = NULL;
}

/* Asks for what is new since the last answer. */
static void start(struct rn_host *h, int64_t now_ns)
{
    struct rn_client_container *source = h->config.at.source;
    struct rn_link link = rn_client_container_list(source, RN_KIND_RANGE);
    const struct rn_routing *base = base_of(h);
    struct rn_headers *headers;
    runnel_code rc;

    h->map_call = rn_new(sizeof(*h->map_call));
    if (!h->map_call) {
        h->map_due_ns = now_ns + (int64_t)MAP_RETRY_MS * 1000000;
        return;
    }
    rn_client_call_init(h->map_call, h->account, "GET", RN_EFFECT_READ, &link);
    headers = &h->map_call->request.headers;
    rc = rn_headers_add(headers, RN_HEADER_A_IM, RN_LIT("Incremental feed"),
                        NULL);
    if (!rc)
        rc = rn_headers_add(headers, RN_HEADER_MAX_ITEM_COUNT, RN_LIT("-1"),
                            NULL);
    if (!rc && base && base->etag[0])
        rc = rn_headers_add(headers, RN_HEADER_IF_NONE_MATCH,
                            rn_view_text(base->etag), NULL);
    if (rc) {
        end_call(h);
        h->map_due_ns = now_ns + (int64_t)MAP_RETRY_MS * 1000000;
        return;
    }
    rn_client_call_begin(h->map_call, h->transport);
}

static void retry(struct rn_host *h, int64_t now_ns, int64_t pause_ms,
                  const runnel_error *error)
{
    rn_routing_unref(h->map_next);
    h->map_next = NULL;
    h->map_due_ns = now_ns + pause_ms * 1000000;
    if (error)
        rn_host_tell_failure(h, NULL, error, "the ranges cannot be read");
}

/* Nothing is newer: what was gathered is the map. */
static void finish(struct rn_host *h, int64_t now_ns)
{
    struct rn_routing *map = h->map_next ? h->map_next : h->map;

    if (!map || !rn_routing_is_complete(map)) {
        retry(h, now_ns, MAP_INCOMPLETE_MS, NULL);
        return;
    }
    if (h->map_next) {
        rn_routing_unref(h->map);
        h->map = h->map_next;
        h->map_next = NULL;
    }
    h->map_version++;
    h->wants_map = h->is_map_doubted = false;
}

static void take_answer(struct rn_host *h, int64_t now_ns)
{
    struct rn_client_call *call = h->map_call;
    struct rn_view body = rn_buf_view(&call->exchange.answer);
    const struct rn_routing *base = base_of(h);
    struct rn_routing *next = NULL;
    runnel_error error = call->error;
    runnel_code rc = call->code;
    struct rn_view etag =
        rn_headers_find(&call->exchange.answer_headers, RN_HEADER_ETAG);
    bool is_more =
        etag.at && !(base && rn_view_eq(rn_view_text(base->etag), etag));

    if (!rc && body.len > 0)
        rc = rn_routing_apply(base, body, etag.at ? etag : RN_LIT(""), &next,
                              &error);
    if (next) {
        rn_routing_unref(h->map_next);
        h->map_next = next;
    }
    end_call(h);
    if (rc)
        retry(h, now_ns, MAP_RETRY_MS, &error);
    else if (next && is_more)
        start(h, now_ns);
    else
        finish(h, now_ns);
}

int64_t rn_host_step_map(struct rn_host *h, int64_t now_ns)
{
    int64_t next;

    if (h->map_call) {
        next = rn_client_call_step(h->map_call);
        if (!h->map_call->is_over)
            return next;
        take_answer(h, now_ns);
        return RN_TASK_NOW;
    }
    if (!h->wants_map || !h->definition)
        return RN_TASK_IDLE;
    if (h->map_due_ns > now_ns)
        return h->map_due_ns - now_ns;
    start(h, now_ns);
    return RN_TASK_NOW;
}
