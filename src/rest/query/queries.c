/* queries.c -- executes a query over documents or catalog objects.
 *
 * It runs in a worker, because it would block a loop.  See query_page.h.
 */
#include "rest/query/queries.h"

#include "rest/documents.h"
#include "rest/lists.h"
#include "rest/objects.h"
#include "rest/query/plans.h"
#include "rest/query/query_page.h"
#include "rest/query/query_source.h"
#include "rest/query/query_token.h"
#include "rest/query/request.h"
#include "rest/reply.h"
#include "rest/sessions.h"

#include "access/index_advisor.h"
#include "engine/document/snapshot.h"
#include "query/run/seek.h"
#include "query/where/where_equalities.h"
#include "rest/query/hybrid_rank.h"
#include "rest/query/query_metrics.h"

enum {
    PAGE_MS = 1000, /* a page that can end early ends after this */
    LEFT_MS = 2000, /* a query whose client seems gone fails after this */
    RUN_MS = 30000, /* a whole query fails after this, by default */
    STEPS_MAX = 400 * 1000 * 1000,
    MEMORY_MAX = 64 << 20,
};

/* ---- the request --------------------------------------------------------- */

/* Do the headers restrict the query to a part of the container? */
static bool is_placed(const struct rn_context *x)
{
    return x->has_pk || rn_context_header(x, RN_HEADER_RANGE_ID).at ||
           rn_context_header(x, RN_HEADER_START_EPK).at ||
           rn_context_header(x, RN_HEADER_END_EPK).at;
}

/* Does WHERE leave no more than one partition key? */
static enum rn_code find_one_key(struct rn_context *x, const struct rn_query *q,
                                 bool *out)
{
    const struct rn_pkdef *def = &x->container->container->pkdef;
    enum rn_code rc = RN_OK;

    *out = true;
    for (size_t i = 0; *out && !rc && i < def->count; i++) {
        struct rn_where_equalities equal;

        rc = rn_where_equalities_find(q, &def->paths[i], &x->call->arena,
                                      &equal);
        *out = !rc && equal.is_limited && equal.count <= 1;
    }
    return rc;
}

/* A client that neither restricts the query nor enables cross-partition queries
 * has made a mistake, which the service reports. */
static enum rn_code check_cross(struct rn_context *x, const struct rn_query *q)
{
    bool is_one = false;
    enum rn_code rc = RN_OK;

    if ((x->link.kind != RN_KIND_DOCUMENT &&
         x->link.kind != RN_KIND_CONFLICT) ||
        is_placed(x) || rn_context_flag(x, RN_HEADER_CROSS_PARTITION) ||
        !rn_query_reads_documents(q))
        return RN_OK;
    if (x->link.kind == RN_KIND_DOCUMENT)
        rc = find_one_key(x, q, &is_one);
    if (rc || is_one)
        return rc;
    if (x->link.kind == RN_KIND_DOCUMENT && rn_context_means_none(x))
        return RN_OK;
    return rn_fail(
        &x->err, RN_BAD_REQUEST,
        "Cross partition query is required but disabled. Please set "
        "x-ms-documentdb-query-enablecrosspartition to true, specify "
        "x-ms-documentdb-partitionkey, or revise your query to "
        "avoid this exception.");
}

static enum rn_code read_request(struct rn_query_page *p)
{
    struct rn_context *x = p->x;
    enum rn_code rc = rn_query_request_read(&p->request, x);

    if (!rc)
        rc = check_cross(x, p->request.query);
    if (!rc)
        rc = rn_context_count(x, &p->max);
    if (!rc && x->link.kind == RN_KIND_DOCUMENT)
        rc = rn_context_scope(x, &p->scan);
    return rc ? rc : rn_query_token_read(p);
}

/* --strict: what the service does with a query that neither a header nor WHERE
 * restricts.  The client merges the rows, even of one range, and no page has
 * rows of two ranges.  WHERE does not count if a row may combine several
 * documents.  Where more than one partition key may be read, a full page is not
 * known to be the last one. */
static enum rn_code be_strict(struct rn_query_page *p, bool *is_for_client)
{
    struct rn_context *x = p->x;
    const struct rn_query *q = p->request.query;
    bool is_one = false;
    enum rn_code rc = RN_OK;

    p->is_blind = !x->has_pk && !rn_query_is_merged(q);
    if (is_placed(x))
        return RN_OK;
    if (!rn_query_is_condensed(q))
        rc = find_one_key(x, q, &is_one);
    p->is_blind = p->is_blind && !is_one;
    if (rc || is_one)
        return rc;
    *is_for_client = rn_query_is_merged(q);
    if (!rn_query_page_is_whole(p))
        rn_query_source_narrow(p);
    return RN_OK;
}

/* Is it a query whose rows clients merge by rules of their own? */
static enum rn_code find_merger(struct rn_query_page *p, bool *is_for_client)
{
    struct rn_context *x = p->x;

    *is_for_client = false;
    if (x->link.kind != RN_KIND_DOCUMENT)
        return RN_OK;
    if (rn_query_is_ranked(p->request.query))
        *is_for_client = !x->has_pk;
    else if (rn_query_is_by_vector(p->request.query))
        *is_for_client = !is_placed(x);
    else if (x->rest->opts.strict)
        return be_strict(p, is_for_client);
    return RN_OK;
}

/* ---- the page ------------------------------------------------------------ */

static int64_t age_ms(const struct rn_query_page *p)
{
    return (rn_mono_ns(p->x->rest->opts.env) - p->x->call->begun_ns) / 1000000;
}

/* The running time, without the time in which it waited. */
static int64_t run_ms(const struct rn_query_page *p)
{
    return age_ms(p) - p->x->call->queued_ns / 1000000;
}

static bool is_late(void *page)
{
    return run_ms(page) >= PAGE_MS;
}

/* Workers are few, and a client that has disconnected may have sent the query
 * again already. */
static bool is_deserted(const struct rn_query_page *p)
{
    return age_ms(p) >= LEFT_MS &&
           atomic_load_explicit(&p->x->is_half_closed, memory_order_relaxed);
}

/* The query polls this often, so it is also the point at which it yields to
 * others. */
static bool is_over(void *page)
{
    struct rn_query_page *p = page;
    uint64_t most = p->x->rest->opts.query_ms;

    if (p->x->call->pause && p->x->call->pause(p->x->call)) {
        p->is_put_off = true;
        return true;
    }
    return run_ms(p) >= (int64_t)(most ? most : RUN_MS) || is_deserted(p);
}

/* One run; there is another if an index turned out to be slower. */
static enum rn_code run_once(struct rn_query_page *p, bool no_order)
{
    struct rn_sink sink = { p, rn_query_page_take };
    struct rn_context *x = p->x;
    struct rn_source source;
    enum rn_code rc = rn_query_source_open(p, &source, no_order);

    if (rc)
        return rc;
    p->limits.group =
        p->access.kind == RN_ACCESS_ORDER ? &p->access.group : NULL;
    rn_buf_clear(&x->call->body);
    rn_query_page_begin(p);
    p->end = p->limits.from;
    return rn_query_run(p->request.query, &source, &sink, &p->limits, &p->stats,
                        &x->err);
}

/* Ranks the rows of one partition key. */
static enum rn_code rank(struct rn_query_page *p)
{
    struct rn_context *x = p->x;
    struct rn_sink sink = { p, rn_query_page_take };
    struct rn_hybrid_rank k = { .request = &p->request,
                                .x = x,
                                .reading = &p->reading,
                                .scope = &p->scan,
                                .limits = p->limits,
                                .skip = p->limits.from.rows };
    enum rn_code rc = rn_snapshot_begin(&p->reading, x->rest->engine,
                                        x->container->container, &x->err);

    if (!rc)
        rc = rn_session_check(x, &p->reading, &p->scan.epks);
    if (rc)
        return rc;
    k.limits.from = (struct rn_query_place){ 0 };
    rn_query_page_begin(p);
    p->end = p->limits.from;
    return rn_hybrid_rank_run(&k, &sink, &p->stats);
}

static enum rn_code compute_page(struct rn_query_page *p)
{
    struct rn_context *x = p->x;
    bool is_ranked = rn_query_is_ranked(p->request.query);
    enum rn_code rc;

    p->held = 0;
    p->limits.now_us = rn_engine_now_us(x->rest->engine);
    p->limits.resume = p->request.resume;
    p->limits.steps = STEPS_MAX;
    p->limits.memory_bytes = MEMORY_MAX;
    p->limits.ahead_bytes = RN_CACHED_RESULT_BYTES_MAX;
    p->limits.is_late = is_late;
    p->limits.is_over = is_over;
    p->limits.clock = p;
    rn_random(x->rest->opts.env, &p->limits.seed, sizeof(p->limits.seed));
    rc = is_ranked ? rank(p)
                   : run_once(p, rn_query_place_is_cut(p->request.query,
                                                       p->limits.from.after));
    if (!rc && p->access.has_given_up) {
        rn_access_close(&p->access);
        rn_cached_result_free(p->answer);
        p->answer = NULL;
        rc = run_once(p, true);
    }
    /* It may have continued behind its last row. */
    if (!rn_query_page_is_whole(p))
        p->end = p->stats.place;
    if (!rc && p->answer)
        p->answer->is_all = p->stats.is_done;
    p->stats.is_done = p->stats.is_done && !p->answer;
    if (!rc && p->stats.is_done && p->border)
        rn_query_source_cross(p);
    else if (p->is_blind && p->count == p->max)
        p->stats.is_done = false;
    return rc ? rc : rn_query_page_end(p);
}

/* ---- the reply ----------------------------------------------------------- */

/* Clients that resume an ORDER BY themselves skip equal keys by their rids,
 * which descend if the first key does. */
static void tell_direction(struct rn_query_page *p)
{
    bool is_backward = rn_query_is_ordered(p->request.query) &&
                       rn_query_is_descending(p->request.query);

    rn_reply_text(
        p->x, RN_HEADER_QUERY_EXECUTION,
        is_backward ? "{\"reverseRidEnabled\":false,\"reverseIndexScan\":true}"
                    : "{\"reverseRidEnabled\":false,"
                      "\"reverseIndexScan\":false}");
}

static enum rn_rest_step answer(struct rn_query_page *p,
                                const struct rn_query_cost *cost)
{
    struct rn_context *x = p->x;

    rn_query_page_keep(p);
    if (!p->stats.is_done)
        rn_query_token_add(p);
    if (x->link.kind == RN_KIND_DOCUMENT)
        tell_direction(p);
    rn_query_metrics_add(x, cost);
    rn_query_request_release(&p->request);
    rn_reply_owner(x);
    rn_reply_number(x, RN_HEADER_ITEM_COUNT, p->count);
    rn_reply_charge(x, rn_charge_query(p->stats.document_bytes));
    return rn_reply_json(x, RN_STATUS_OK);
}

static void note_indexes(struct rn_query_page *p)
{
    struct rn_index_advisor m = { .access = &p->access,
                                  .query = p->request.query,
                                  .policy = &p->request.policy,
                                  .stats = &p->stats };

    rn_index_advisor_note(&m, p->x->container, &p->x->call->arena);
}

/* Resets the page, as if it had not begun. */
static enum rn_rest_step put_off(struct rn_query_page *p, size_t head_len)
{
    struct rn_context *x = p->x;

    rn_query_source_close(p);
    rn_cached_result_free(p->answer);
    rn_query_request_release(&p->request);
    x->err = (struct rn_err){ 0 };
    x->call->res.head.len = head_len;
    return RN_REST_WORK;
}

static enum rn_rest_step run(struct rn_call *call)
{
    struct rn_context *x = call->state;
    struct rn_env *env = x->rest->opts.env;
    struct rn_query_page *p = rn_arena_alloc(&call->arena, sizeof(*p));
    struct rn_query_cost cost = { .begun_ns = rn_mono_ns(env) };
    bool is_for_client = false;
    size_t head_len = call->res.head.len;
    enum rn_code rc;

    if (!p)
        return rn_reply_fail(x, RN_NOMEM);
    memset(p, 0, sizeof(*p));
    p->x = x;
    p->text = RN_BUF_INIT(RN_CALL_BODY_MAX);
    p->is_timed = rn_context_flag(x, RN_HEADER_WANT_QUERY_METRICS);
    rc = read_request(p);
    cost.parsed_ns = rn_mono_ns(env);
    if (!rc)
        rc = find_merger(p, &is_for_client);
    if (!rc && is_for_client)
        return rn_query_request_give_plan(&p->request, x);
    if (!rc && is_deserted(p)) /* it waited that long for a worker */
        rc = RN_TIMEOUT;
    if (!rc)
        rc = rn_query_page_find_answer(p) ? rn_query_page_of_answer(p)
                                          : compute_page(p);
    if (rc == RN_TIMEOUT && p->is_put_off)
        return put_off(p, head_len);
    if (rc == RN_TIMEOUT && is_deserted(p)) {
        rc = rn_fail(&x->err, RN_TIMEOUT,
                     "the client has ended the connection, and the query takes "
                     "too long to go on with it");
    }
    cost.ran_ns = rn_mono_ns(env);
    cost.query = p->request.query;
    cost.policy = &p->request.policy;
    cost.stats = &p->stats;
    cost.load_ns = p->load_ns;
    cost.access = p->access.reading ? &p->access : NULL;
    if (!rc && p->access.reading)
        note_indexes(p);
    rn_query_source_close(p);
    if (!rc)
        return answer(p, &cost);
    rn_cached_result_free(p->answer);
    if (p->stats.is_infinite) {
        x->err.reason = RN_REASON_NOT_JSON;
        (void)rn_faults_add(&p->request.faults, "4001", 0, 0, "%s",
                            x->err.text);
    }
    return rn_query_request_refuse(&p->request, x, rc);
}

/* Thread: loop. */
static void on_half_close(struct rn_call *call)
{
    struct rn_context *x = call->state;

    atomic_store_explicit(&x->is_half_closed, true, memory_order_relaxed);
}

enum rn_rest_step rn_rest_query(struct rn_context *x)
{
    enum rn_code rc = rn_kind_owner(x->link.kind) == RN_KIND_CONTAINER
                          ? rn_context_find_container(x)
                          : rn_context_find(x);

    if (rc)
        return rn_reply_fail(x, rc);
    x->call->next = run;
    x->call->may_shed = true;
    x->call->on_half_close = on_half_close;
    return RN_REST_WORK;
}
