/* fetch.c -- the sources of a query: finding them and fetching their pages. */
#include "client/query/fetch.h"

#include "client/account/account.h"
#include "client/account/call.h"
#include "client/account/container.h"
#include "client/account/routing.h"
#include "client/http/exchange.h"
#include "client/http/pool.h"
#include "client/query/query.h"
#include "client/query/state.h"
#include "json/print.h"

#include <stdio.h>

enum {
    REROUTES_MAX = 20,
    PAGE_LIMIT = 1024, /* stands for the server's own */
};

/* ---- which --------------------------------------------------------------- */

static runnel_code insert(struct rn_client_query *q, size_t at,
                          struct rn_merge_source *s, runnel_error *error)
{
    if (q->count == q->room) {
        size_t room = q->room ? 2 * q->room : 16;
        struct rn_merge_source **more =
            rn_new(room * sizeof(struct rn_merge_source *));
        if (!more)
            return rn_error_no_memory(error);
        if (q->count)
            memcpy(more, q->sources,
                   q->count * sizeof(struct rn_merge_source *));
        rn_free(q->sources);
        q->sources = more;
        q->room = room;
    }
    memmove(&q->sources[at + 1], &q->sources[at],
            (q->count - at) * sizeof(struct rn_merge_source *));
    q->sources[at] = s;
    q->count++;
    return RUNNEL_OK;
}

static enum rn_code copy_place(const struct rn_merge_source *from,
                               struct rn_merge_source *to)
{
    enum rn_code rc;

    if (from->after) {
        to->after = rn_new_text(from->after);
        if (!to->after)
            return RN_NOMEM;
    }
    rc = rn_buf_add(&to->resume_items, rn_buf_view(&from->resume_items));
    if (!rc)
        rc = rn_buf_add(&to->resume_rid, rn_buf_view(&from->resume_rid));
    to->resume_count = from->resume_count;
    return rc;
}

/* `route` NULL: no range is named. */
static runnel_code add_source(struct rn_client_query *q, size_t at,
                              const struct rn_epk_range *interval,
                              const struct rn_range_route *route,
                              const struct rn_merge_source *from,
                              runnel_error *error)
{
    struct rn_merge_source *s = rn_merge_source_new();
    enum rn_code code = s ? RN_OK : RN_NOMEM;
    runnel_code rc;

    if (!code && from)
        code = copy_place(from, s);
    if (!code && route) {
        snprintf(s->id, sizeof(s->id), "%s", route->id);
        if (!rn_epk_range_meet(interval, &route->range, &s->range))
            s->range = *interval;
        s->is_clamped = rn_epk_compare(&s->range.min, &route->range.min) != 0 ||
                        rn_epk_compare(&s->range.max, &route->range.max) != 0;
    }
    rc = rn_error_take(error, code, NULL);
    if (!rc)
        rc = insert(q, at, s, error);
    if (rc)
        rn_merge_source_free(s);
    return rc;
}

runnel_code rn_client_query_add_sources(struct rn_client_query *q, size_t at,
                                        const struct rn_epk_range *overlap,
                                        const struct rn_epk_range *clamp,
                                        const struct rn_merge_source *from,
                                        runnel_error *error)
{
    struct rn_routing *map = NULL;
    size_t first, count;
    runnel_code rc =
        rn_client_container_route(q->container, NULL, NULL, &map, error);

    if (rc)
        return rc;
    count = rn_routing_overlap(map, overlap, &first);
    for (size_t i = 0; !rc && i < count; i++) {
        const struct rn_range_route *route = &map->routes[first + i];
        /* A plan may name several keys of one range. */
        if (!from && at > 0 && strcmp(q->sources[at - 1]->id, route->id) == 0)
            continue;
        rc = add_source(q, at, clamp, route, from, error);
        at += !rc;
    }
    rn_routing_unref(map);
    return rc;
}

runnel_code rn_client_query_set_text(struct rn_client_query *q,
                                     struct rn_view text, runnel_error *error)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&q->ask.body);

    if (text.len == 0)
        return RUNNEL_OK;
    rn_buf_clear(&q->ask.body);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("query"));
    rn_json_out_string(&o, text);
    if (q->parameters.len) {
        rn_json_out_key(&o, RN_LIT("parameters"));
        rn_json_out_raw(&o, rn_buf_view(&q->parameters));
    }
    rn_json_out_object_end(&o);
    return rn_error_take(error, rn_json_out_finish(&o), NULL);
}

static runnel_code get_plan(struct rn_client_query *q, double *charge,
                            runnel_error *error)
{
    struct rn_client_call call;
    struct rn_headers *h = &call.request.headers;
    runnel_code rc;

    rn_client_call_init(&call, q->ask.account, "POST", RN_EFFECT_READ,
                        &q->ask.link);
    call.request.container = q->container;
    call.request.body = rn_buf_view(&q->ask.body);
    rc = rn_headers_add(h, RN_HEADER_IS_QUERY_PLAN, RN_LIT("True"), error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_QUERY_FEATURES,
                            rn_view_text(rn_merge_plan_features), error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_QUERY_VERSION, RN_LIT("1.4"), error);
    if (!rc)
        rc = rn_headers_add(h, RN_HEADER_CONTENT_TYPE,
                            RN_LIT("application/query+json"), error);
    if (!rc)
        rc = rn_client_call_run(&call, error);
    if (!rc) {
        *charge += rn_headers_charge(&call.exchange.answer_headers);
        rc = rn_merge_plan_parse(&q->plan, rn_buf_view(&call.exchange.answer),
                                 error);
        q->has_plan = !rc;
    }
    rn_client_call_release(&call);
    return rc;
}

/* A server that cannot make a plan, or not for this query, may still answer the
 * query itself if there is a single range; if the text is not a query, the
 * server says so. */
static runnel_code plan(struct rn_client_query *q, double *charge,
                        runnel_error *error)
{
    struct rn_routing *map = NULL;
    runnel_error refused;
    runnel_code rc = get_plan(q, charge, &refused), other;

    if (rc == RUNNEL_OK || rc == RUNNEL_CANCELLED || rc == RUNNEL_NO_MEMORY) {
        if (rc && error)
            *error = refused;
        return rc;
    }
    other = rn_client_container_route(q->container, NULL, NULL, &map, error);
    if (other)
        return other;
    if ((rc == RUNNEL_UNSUPPORTED || rc == RUNNEL_BAD_REQUEST) &&
        map->count == 1)
        rc = RUNNEL_OK;
    else if (error)
        *error = refused;
    rn_routing_unref(map);
    return rc;
}

static void set_counts(struct rn_client_query *q)
{
    q->to_skip = q->has_plan && q->plan.offset > 0 ? q->plan.offset : 0;
    q->to_take = -1;
    if (!q->has_plan)
        return;
    q->to_take = q->plan.top;
    if (q->plan.limit >= 0 && (q->to_take < 0 || q->plan.limit < q->to_take))
        q->to_take = q->plan.limit;
}

runnel_code rn_client_query_open_ranges(struct rn_client_query *q,
                                        bool everywhere, runnel_error *error)
{
    const struct rn_epk_range *ranges = &rn_epk_all, *clamp = &rn_epk_all;
    size_t count = 1;
    runnel_code rc = RUNNEL_OK;

    if (q->has_plan && !everywhere) {
        ranges = q->plan.ranges;
        count = q->plan.range_count;
    }
    if (q->has_interval && !everywhere)
        clamp = &q->interval;
    for (size_t i = 0; !rc && i < count; i++) {
        struct rn_epk_range one = ranges[i];
        if (clamp == &q->interval &&
            !rn_epk_range_meet(&ranges[i], clamp, &one))
            continue;
        rc = rn_client_query_add_sources(q, q->count, &one, clamp, NULL, error);
    }
    return rc;
}

/* ORDER BY RANK asks one query after another, each of its own ranges. */
static runnel_code open_first(struct rn_client_query *q, runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    if (q->has_plan && q->plan.is_ranked)
        return RUNNEL_OK;
    if (q->has_plan)
        rc = rn_client_query_set_text(q, q->plan.text, error);
    if (!rc && rn_client_query_is_alone(q))
        return add_source(q, 0, &rn_epk_all, NULL, NULL, error);
    return rc ? rc : rn_client_query_open_ranges(q, false, error);
}

runnel_code rn_client_query_open_sources(struct rn_client_query *q,
                                         double *charge, runnel_error *error)
{
    runnel_code rc = rn_client_query_set_text(q, rn_buf_view(&q->text), error);

    if (!rc && q->container && q->ask.key.len == 0 && q->text.len)
        rc = plan(q, charge, error);
    if (!rc)
        rc = open_first(q, error);
    set_counts(q);
    q->is_open = !rc;
    if (rc) { /* the next call begins anew */
        rn_client_query_drop_sources(q);
        if (q->has_plan)
            rn_merge_plan_release(&q->plan);
        q->has_plan = false;
    }
    return rc;
}

/* ---- their pages --------------------------------------------------------- */

/* The calls in progress, and the results of finished ones. */
struct round {
    struct rn_client_query *q;
    struct rn_transport *t;
    double *charge;
    size_t next, busy;
    bool gone;       /* a range is gone; its source still wants its page */
    bool is_reduced; /* a page was too large; its source still wants it */
    runnel_code rc;
    runnel_error *error;
};

static void start_some(struct round *r)
{
    struct rn_client_query *q = r->q;

    for (; !r->rc && r->next < q->count && r->busy < q->parallel; r->next++) {
        if (!q->sources[r->next]->wants_page)
            continue;
        rn_merge_source_ask(q->sources[r->next], &q->ask, r->t);
        r->busy++;
    }
}

/* A page that exceeds what an answer may have is asked for with half the
 * rows. */
static bool reduce_page(struct round *r, const struct rn_client_call *call)
{
    int64_t *limit = &r->q->ask.page_limit;

    if (call->code != RUNNEL_TOO_LARGE || call->error.http_status ||
        *limit == 1)
        return false;
    if (!r->is_reduced)
        *limit = (*limit > 0 ? *limit : PAGE_LIMIT) / 2;
    return true;
}

static void finish_one(struct round *r, struct rn_merge_source *s)
{
    if (s->call.code == RUNNEL_GONE) {
        r->gone = true;
    } else if (!r->rc && reduce_page(r, &s->call)) {
        r->is_reduced = true;
    } else if (!r->rc && s->call.code) {
        r->rc = s->call.code;
        if (r->error)
            *r->error = s->call.error;
    } else if (!r->rc) {
        r->rc = rn_merge_source_take(s, &r->q->ask, r->charge, r->error);
        r->q->is_broken = r->rc != RUNNEL_OK;
    }
    rn_client_call_release(&s->call);
    s->has_call = false;
    r->busy--;
}

/* The time to wait for the next answer; 0: do not wait. */
static int64_t step_all(struct round *r)
{
    int64_t wait_ns = RN_TASK_IDLE;

    for (size_t i = 0; i < r->next; i++) {
        struct rn_merge_source *s = r->q->sources[i];
        int64_t due_ns;

        if (!s->has_call)
            continue;
        if (r->rc)
            rn_client_call_cancel(&s->call);
        due_ns = rn_client_call_step(&s->call);
        if (s->call.is_over) {
            finish_one(r, s);
            due_ns = 0;
        }
        wait_ns = due_ns < wait_ns ? due_ns : wait_ns;
    }
    return wait_ns;
}

static void run_round(struct round *r, const struct rn_cancel *cancel)
{
    do {
        int64_t wait_ns;

        start_some(r);
        wait_ns = step_all(r);
        if (!r->rc && rn_cancel_is_set(cancel)) {
            r->rc = rn_error_set(r->error, RUNNEL_CANCELLED,
                                 "the query was cancelled");
        } else if (r->busy > 0 && wait_ns > 0) {
            r->t->ops->wait(r->t, wait_ns);
        }
    } while (r->busy > 0 || (!r->rc && r->next < r->q->count));
}

static void remove_sources(struct rn_client_query *q, size_t at, size_t count)
{
    for (size_t i = at; i < at + count; i++)
        rn_merge_source_free(q->sources[i]);
    memmove(&q->sources[at], &q->sources[at + count],
            (q->count - at - count) * sizeof(struct rn_merge_source *));
    q->count -= count;
}

/* Replaces a source by those of the ranges that succeed its own, whose number
 * is added to `*at`.  It stays if they cannot be had, for the next call. */
static runnel_code replace_source(struct rn_client_query *q, size_t *at,
                                  runnel_error *error)
{
    struct rn_merge_source *s = q->sources[*at];
    size_t before = q->count, added;
    runnel_code rc =
        rn_client_query_add_sources(q, *at + 1, &s->range, &s->range, s, error);

    added = q->count - before;
    if (rc) {
        remove_sources(q, *at + 1, added);
        return rc;
    }
    remove_sources(q, *at, 1);
    for (; added > 0; added--)
        q->sources[(*at)++]->wants_page = true;
    return RUNNEL_OK;
}

/* The sources that still want a page are those of ranges that are gone. */
static runnel_code reroute(struct rn_client_query *q, runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    for (size_t i = 0; !rc && i < q->count;) {
        if (q->sources[i]->wants_page)
            rc = replace_source(q, &i, error);
        else
            i++;
    }
    return rc;
}

/* One round, on a transport that is returned before ranges are read. */
static runnel_code fetch_round(struct rn_client_query *q, double *charge,
                               bool *gone, bool *is_reduced,
                               runnel_error *error)
{
    const struct rn_cancel *cancel =
        q->container ? rn_client_container_cancel(q->container)
                     : rn_account_cancel(q->ask.account);
    struct rn_pool *pool = rn_account_pool(q->ask.account);
    struct round r = { .q = q, .charge = charge, .error = error };

    r.rc = rn_account_prepare(q->ask.account, cancel, error);
    if (!r.rc)
        r.rc = rn_pool_take(pool, cancel, &r.t, error);
    if (r.rc)
        return r.rc;
    run_round(&r, cancel);
    rn_pool_give(pool, r.t);
    *gone = r.gone;
    *is_reduced = r.is_reduced;
    return r.rc;
}

runnel_code rn_client_query_fetch(struct rn_client_query *q, double *charge,
                                  runnel_error *error)
{
    bool gone = true, is_reduced = false;
    runnel_code rc = RUNNEL_OK;

    for (int i = 0; !rc && (gone || is_reduced); i += gone) {
        rc = fetch_round(q, charge, &gone, &is_reduced, error);
        if (!rc && gone) {
            rc = i < REROUTES_MAX
                     ? reroute(q, error)
                     : rn_error_set(error, RUNNEL_BUSY,
                                    "the ranges of the container change "
                                    "faster than they are read");
        }
    }
    return rc;
}
