/* explain.c -- control routes about indexes.
 *
 *   POST /_runnel/explain  {"container": "dbs/a/colls/b", "query": "...",
 *                           "parameters": [...]}
 *   POST /_runnel/index    {"container": "dbs/a/colls/b", "paths": ["/a"],
 *                           "drop": true}       in test mode
 *
 * The first runs a page of the query and returns its access path, its cost and
 * the index that it misses; the headers that narrow a query narrow this one.
 * The second builds or drops an index now.  A path may have a direction
 * appended: "/b DESC".
 */
#include "rest/query/explain.h"

#include "access/access_path.h"
#include "rest/admin/control.h"
#include "rest/lists.h"
#include "rest/query/plans.h"
#include "rest/query/request.h"
#include "rest/reply.h"

#include "access/index_advisor.h"
#include "engine/document/snapshot.h"
#include "engine/index/index_change.h"
#include "json/print.h"

#include <stdio.h>

enum {
    ROWS = 100,
    STEPS_MAX = 400 * 1000 * 1000,
    PLAN_MAX = 1 << 20,
    PAGE_NS = 1000000000
};

struct explained {
    struct rn_query_request request;
    struct rn_snapshot reading;
    struct rn_documents_scan scan;
    struct rn_access access;
    struct rn_query_stats stats;
    struct rn_context *x;
    uint64_t rows;
    bool gave_up;
};

/* ---- running ------------------------------------------------------------- */

static enum rn_code next(void *context, struct rn_view *document,
                         struct rn_err *err)
{
    struct explained *e = context;
    enum rn_code rc = rn_access_next(&e->access, document);

    if (rc && rc != RN_NOT_FOUND)
        return rn_fail(err, rc, "%s", rn_txn_why(e->reading.txn, rc));
    return rc;
}

static enum rn_code count_row(void *context, struct rn_view json,
                              const struct rn_query_place *place, bool *is_full,
                              struct rn_err *err)
{
    struct explained *e = context;

    (void)json;
    (void)place;
    (void)err;
    *is_full = ++e->rows >= ROWS;
    return RN_OK;
}

/* A page of a scan ends by time; a query that must see everything does not. */
static bool is_late(void *clock)
{
    const struct explained *e = clock;

    return rn_mono_ns(e->x->rest->opts.env) - e->x->call->begun_ns > PAGE_NS;
}

static enum rn_code run_once(struct explained *e, bool no_order)
{
    struct rn_context *x = e->x;
    struct rn_source source = { e, next };
    struct rn_sink sink = { e, count_row };
    struct rn_query_limits limits = {
        .steps = STEPS_MAX,
        .now_us = rn_engine_now_us(x->rest->engine),
        .resume = e->request.resume,
        .is_late = is_late,
        .clock = e,
    };
    struct rn_access_ask ask = { .scope = e->scan,
                                 .query = e->request.query,
                                 .resume = e->request.resume,
                                 .no_order = no_order,
                                 .matched = &e->stats.matched };
    enum rn_code rc =
        rn_access_open(&e->access, &e->reading, &ask, &x->call->arena);

    if (rc)
        return rc;
    if (e->access.kind == RN_ACCESS_ORDER)
        limits.group = &e->access.group;
    e->rows = 0;
    return rn_query_run(e->request.query, &source, &sink, &limits, &e->stats,
                        &x->err);
}

static enum rn_code run_query(struct explained *e)
{
    struct rn_context *x = e->x;
    enum rn_code rc = rn_query_request_read(&e->request, x);

    if (!rc)
        rc = rn_context_scope(x, &e->scan);
    if (!rc)
        rc = rn_snapshot_begin(&e->reading, x->rest->engine,
                               x->container->container, &x->err);
    if (!rc)
        rc = run_once(e, false);
    e->gave_up = !rc && e->access.has_given_up;
    if (e->gave_up) {
        rn_access_close(&e->access);
        rc = run_once(e, true);
    }
    return rc;
}

/* ---- printing ------------------------------------------------------------ */

static void print_key(struct rn_json_out *o, const struct rn_index_key *key)
{
    struct rn_buf text = RN_BUF_INIT(64 << 10);

    if (!rn_json_path_print(&key->path, &text)) {
        (void)!rn_buf_add(&text, key->is_descending ? RN_LIT(" DESC")
                                                    : RN_LIT(" ASC"));
    }
    rn_json_out_string(o, rn_buf_view(&text));
    rn_buf_release(&text);
}

static void print_keys(struct rn_json_out *o, const char *name,
                       const struct rn_index_key *keys, uint32_t count)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < count; i++)
        print_key(o, &keys[i]);
    rn_json_out_array_end(o);
}

static void print_number(struct rn_json_out *o, const char *name, uint64_t n)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_uint(o, n);
}

static void print_index(struct rn_json_out *o, const struct rn_index *x)
{
    rn_json_out_object_begin(o);
    print_number(o, "number", x->number);
    print_keys(o, "paths", x->keys, x->count);
    rn_json_out_key(o, RN_LIT("state"));
    rn_json_out_string(o, rn_view_text(rn_index_state_name(x->state)));
    print_number(o, "documentsAdded", x->documents);
    rn_json_out_object_end(o);
}

static void print_access(struct rn_json_out *o, const struct explained *e)
{
    const struct rn_access *a = &e->access;

    rn_json_out_key(o, RN_LIT("access"));
    rn_json_out_string(o, rn_view_text(rn_access_name(a->kind)));
    rn_json_out_key(o, RN_LIT("index"));
    if (a->index)
        print_index(o, a->index);
    else
        rn_json_out_null(o);
    rn_json_out_key(o, RN_LIT("gaveUpOrder"));
    rn_json_out_bool(o, e->gave_up);
    rn_json_out_key(o, RN_LIT("indexes"));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < a->indexes.count; i++)
        print_index(o, &a->indexes.list[i]);
    rn_json_out_array_end(o);
}

static void print_missed(struct rn_json_out *o, const struct explained *e)
{
    struct rn_index_advisor m = { .access = &e->access,
                                  .query = e->request.query,
                                  .policy = &e->request.policy,
                                  .stats = &e->stats };
    struct rn_index_key keys[RN_INDEX_KEYS_MAX];
    uint32_t count = 0;

    if (rn_index_advisor_find(&m, &e->x->call->arena, keys, &count))
        count = 0;
    print_keys(o, "missedIndex", keys, count);
}

static void print_plan(struct rn_json_out *o, struct explained *e)
{
    struct rn_buf plan = RN_BUF_INIT(PLAN_MAX);
    enum rn_code rc = rn_query_request_plan(&e->request, e->x, &plan);

    rn_json_out_key(o, RN_LIT("plan"));
    if (rc)
        rn_json_out_null(o); /* cannot be merged from several ranges */
    else
        rn_json_out_raw(o, rn_buf_view(&plan));
    rn_buf_release(&plan);
}

static enum rn_code print(struct explained *e)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&e->x->call->body);
    const struct rn_query_stats *s = &e->stats;

    rn_json_out_object_begin(&o);
    print_access(&o, e);
    print_missed(&o, e);
    print_number(&o, "documentsExamined", s->documents);
    print_number(&o, "indexRowsExamined", e->access.examined);
    print_number(&o, "documentsMatched", s->matched);
    print_number(&o, "rows", s->rows);
    rn_json_out_key(&o, RN_LIT("isDone"));
    rn_json_out_bool(&o, s->is_done);
    print_plan(&o, e);
    rn_json_out_object_end(&o);
    return rn_json_out_finish(&o);
}

static enum rn_rest_step explain(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct explained *e = rn_arena_alloc(&call->arena, sizeof(*e));
    enum rn_code rc;

    if (!e)
        return rn_reply_fail(x, RN_NOMEM);
    memset(e, 0, sizeof(*e));
    e->x = x;
    rc = run_query(e);
    if (!rc)
        rc = print(e);
    rn_access_close(&e->access);
    rn_snapshot_end(&e->reading);
    if (rc)
        return rn_query_request_refuse(&e->request, x, rc);
    rn_query_request_release(&e->request);
    return rn_reply_json(x, RN_STATUS_OK);
}

enum rn_rest_step rn_rest_explain(struct rn_context *x)
{
    static const char *const known[] = { "container", "query", "parameters",
                                         NULL };
    struct rn_json j;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_control_body(x, &j, known);
    if (!rc)
        rc = rn_control_container(x, &j);
    rn_json_release(&j);
    if (rc)
        return rn_reply_fail(x, rc);
    x->link.kind = RN_KIND_DOCUMENT; /* it is a query of documents */
    x->call->next = explain;
    return RN_REST_WORK;
}

/* ---- making and dropping ------------------------------------------------- */

static enum rn_rest_step changed(struct rn_call *call)
{
    struct rn_context *x = call->state;

    return x->rc ? rn_reply_fail(x, x->rc)
                 : rn_reply_empty(x, RN_STATUS_NO_CONTENT);
}

/* Thread: committer. */
static void change_done(struct rn_done *done, enum rn_code rc,
                        const struct rn_err *err)
{
    struct rn_context *x = RN_CONTAINER_OF(done, struct rn_context, index.done);

    x->rc = rc;
    if (rc)
        x->err = *err;
    x->call->wake(x->call);
}

/* "/a/b", "/a/b DESC" */
static enum rn_code read_key(struct rn_context *x, const struct rn_json *j,
                             uint32_t value, struct rn_index_key *out)
{
    static const struct rn_view down = { " DESC", 5 }, up = { " ASC", 4 };
    struct rn_view text = { 0 };
    enum rn_code rc = RN_BAD_REQUEST;

    if (rn_json_kind(j, value) == RN_JSON_STRING)
        rc = rn_json_string_copy(j, value, &x->call->arena, &text);
    if (!rc) {
        struct rn_view end =
            text.len > down.len
                ? rn_view_of(text.at + text.len - down.len, down.len)
                : text;

        out->is_descending = rn_view_eq(end, down);
        if (out->is_descending)
            text.len -= down.len;
        else if (end.len == down.len &&
                 rn_view_eq(rn_view_of(end.at + 1, up.len), up))
            text.len -= up.len;
        rc = rn_json_path_parse(text, &x->call->arena, &out->path, &x->err);
    }
    return rc == RN_BAD_REQUEST
               ? rn_fail(&x->err, rc,
                         "paths are strings like \"/a/b\" or \"/a/b DESC\"")
               : rc;
}

static enum rn_code read_keys(struct rn_context *x, const struct rn_json *j)
{
    uint32_t list = rn_json_find(j, 0, RN_LIT("paths"));
    struct rn_json_walk w = rn_json_walk_begin(j, list);
    struct rn_index_key *keys = rn_arena_alloc(
        &x->call->arena, (rn_json_count(j, list) + 1) * sizeof(*keys));
    enum rn_code rc = keys ? RN_OK : RN_NOMEM;

    x->index.keys = keys;
    while (!rc && rn_json_walk_next(&w))
        rc = read_key(x, j, w.value, &keys[x->index.count++]);
    return rc;
}

/* An index that the policy does not cover would be dropped at once. */
static enum rn_code check_policy(struct rn_context *x)
{
    struct rn_policy_key wanted[RN_INDEX_KEYS_MAX];
    const struct rn_index_change *c = &x->index;
    struct rn_policy policy;
    struct rn_json j;
    bool is_good = false;
    enum rn_code rc;

    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, x->container->body, &x->err);
    if (!rc)
        rc = rn_policy_read(&j, &x->call->arena, &policy);
    for (uint32_t i = 0; i < c->count && i < RN_INDEX_KEYS_MAX; i++)
        wanted[i] =
            (struct rn_policy_key){ c->keys[i].path, c->keys[i].is_descending };
    if (!rc && c->count == 1)
        is_good = rn_policy_is_indexed(&policy, &c->keys[0].path);
    else if (!rc && c->count <= RN_INDEX_KEYS_MAX)
        is_good = rn_policy_has_composite(&policy, wanted, c->count);
    rn_json_release(&j);
    if (!rc && !is_good)
        rc = rn_fail(&x->err, RN_BAD_REQUEST,
                     "the container's indexing policy has no such index");
    return rc;
}

enum rn_rest_step rn_rest_index(struct rn_context *x)
{
    static const char *const known[] = { "container", "paths", "drop", NULL };
    struct rn_json j;
    enum rn_code rc;

    x->index = (struct rn_index_change){ .done.call = change_done };
    rn_json_init(&j, NULL);
    rc = rn_control_body(x, &j, known);
    if (!rc)
        rc = read_keys(x, &j);
    if (!rc)
        rc = rn_control_container(x, &j);
    x->index.is_drop =
        !rc &&
        rn_json_kind(&j, rn_json_find(&j, 0, RN_LIT("drop"))) == RN_JSON_TRUE;
    rn_json_release(&j);
    if (!rc && !x->index.is_drop)
        rc = check_policy(x);
    if (rc)
        return rn_reply_fail(x, rc);
    x->index.container = x->container->container;
    x->call->next = changed;
    rc = rn_index_change_start(x->rest->engine, &x->index, &x->err);
    return rc ? rn_reply_fail(x, rc) : RN_REST_PENDING;
}
