/* map.c -- the routing map of the source, read without blocking. */
#include "client/processor/own.h"

enum { MAP_RETRY_MS = 500, MAP_INCOMPLETE_MS = 50 };

void rn_engine_want_map(struct rn_engine *e)
{
    e->wants_map = true;
}

static void end_call(struct rn_engine *e)
{
    rn_call_release(e->map_call);
    rn_free(e->map_call);
    e->map_call = NULL;
}

void rn_engine_forget_map(struct rn_engine *e)
{
    if (e->map_call)
        end_call(e);
    rn_routing_unref(e->map);
    rn_routing_unref(e->map_next);
    e->map = e->map_next = NULL;
}

/* Asks for what is new since the last answer. */
static void start(struct rn_engine *e, int64_t now_ns)
{
    struct rn_container *source = e->config.at.source;
    struct rn_link link = rn_container_list(source, RN_KIND_RANGE);
    const struct rn_routing *base = e->map_next ? e->map_next : e->map;
    struct rn_headers *h;
    runnel_code rc;

    e->map_call = rn_new(sizeof(*e->map_call));
    if (!e->map_call) {
        e->map_due_ns = now_ns + (int64_t)MAP_RETRY_MS * 1000000;
        return;
    }
    rn_call_init(e->map_call, e->account, "GET", RN_EFFECT_READ, &link);
    h = &e->map_call->request.headers;
    rc = rn_headers_add(h, RN_HEADER_A_IM, RN_LIT("Incremental feed"), NULL);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_MAX_ITEM_COUNT, RN_LIT("-1"), NULL);
    if (!rc && base && base->etag[0])
        rc = rn_headers_add(h, RN_HEADER_IF_NONE_MATCH,
                            rn_view_text(base->etag), NULL);
    if (rc) {
        end_call(e);
        e->map_due_ns = now_ns + (int64_t)MAP_RETRY_MS * 1000000;
        return;
    }
    rn_call_begin(e->map_call, e->transport);
}

static void retry(struct rn_engine *e, int64_t now_ns, int64_t pause_ms,
                  const runnel_error *error)
{
    rn_routing_unref(e->map_next);
    e->map_next = NULL;
    e->map_due_ns = now_ns + pause_ms * 1000000;
    if (error)
        rn_engine_tell(e, RUNNEL_EVENT_TROUBLE, RUNNEL_SEVERITY_ERROR, NULL,
                       error, "the ranges cannot be read: %s", error->message);
}

/* Nothing is newer: what was gathered is the map. */
static void finish(struct rn_engine *e, int64_t now_ns)
{
    struct rn_routing *map = e->map_next ? e->map_next : e->map;

    if (!map || !rn_routing_is_complete(map)) {
        retry(e, now_ns, MAP_INCOMPLETE_MS, NULL);
        return;
    }
    if (e->map_next) {
        rn_routing_unref(e->map);
        e->map = e->map_next;
        e->map_next = NULL;
    }
    e->map_version++;
    e->wants_map = false;
}

static void take_answer(struct rn_engine *e, int64_t now_ns)
{
    struct rn_call *call = e->map_call;
    struct rn_view body = rn_buf_view(&call->exchange.answer);
    const struct rn_routing *base = e->map_next ? e->map_next : e->map;
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
        rn_routing_unref(e->map_next);
        e->map_next = next;
    }
    end_call(e);
    if (rc)
        retry(e, now_ns, MAP_RETRY_MS, &error);
    else if (next && is_more)
        start(e, now_ns);
    else
        finish(e, now_ns);
}

int64_t rn_engine_step_map(struct rn_engine *e, int64_t now_ns)
{
    int64_t next;

    if (e->map_call) {
        next = rn_call_step(e->map_call);
        if (!e->map_call->is_over)
            return next;
        take_answer(e, now_ns);
        return RN_TASK_NOW;
    }
    if (!e->wants_map || !e->definition)
        return RN_TASK_IDLE;
    if (e->map_due_ns > now_ns)
        return e->map_due_ns - now_ns;
    start(e, now_ns);
    return RN_TASK_NOW;
}
