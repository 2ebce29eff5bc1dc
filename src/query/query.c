/* query.c -- the entry points of the query module: parse a text, classify the
 * query, run it. */
#include "query/query.h"

#include "query/check/check.h"
#include "query/fn/fn_regex.h"
#include "query/fn/function.h"
#include "query/parse/parse.h"
#include "query/run/run.h"
#include "query/run/select.h"
#include "query/where/needed_paths.h"

enum rn_code rn_query_parse(const struct rn_query_input *in, struct rn_arena *a,
                            struct rn_query **out, struct rn_faults *faults,
                            struct rn_err *err)
{
    struct rn_query *q = rn_arena_alloc(a, sizeof(*q));
    struct rn_check check = { .arena = a,
                              .faults = faults,
                              .json = in->json,
                              .policy = in->policy,
                              .parameters = in->parameters };
    enum rn_code rc = q ? RN_OK : RN_TOO_LARGE;

    *faults = (struct rn_faults){ 0 };
    if (!rc)
        rc = rn_parse(in->text, a, faults, &q->select);
    if (!rc)
        rc = rn_check_query(&check, q->select);
    if (rc == RN_BAD_REQUEST)
        return rn_fail(err, rc, "%s", faults->list[0].message);
    if (rc)
        return rn_fail(err, rc, "the query needs more than %zu bytes to parse",
                       a->ceiling);
    q->text = in->text;
    q->policy = in->policy;
    q->slots = check.slots;
    *out = q;
    return RN_OK;
}

/* The outermost SELECT that blocks the pipeline: DISTINCT, GROUP BY, an
 * aggregate or ORDER BY.  NULL if the query streams. */
static const struct rn_select *find_gatherer(const struct rn_query *q)
{
    for (const struct rn_select *s = q->select;; s = s->from[0].query) {
        if (s->is_distinct || s->group_count || s->aggregate_count ||
            s->order_count)
            return s;
        if (s->from_count == 0 || !s->from[0].query)
            return NULL;
    }
}

bool rn_query_is_streaming(const struct rn_query *q)
{
    return !find_gatherer(q) && rn_query_reads_documents(q);
}

bool rn_query_is_ordered(const struct rn_query *q)
{
    const struct rn_select *s = q->select;

    return s->order_count && !s->group_count && !s->aggregate_count;
}

bool rn_query_is_descending(const struct rn_query *q)
{
    return q->select->order[0].is_descending;
}

bool rn_query_is_by_vector(const struct rn_query *q)
{
    const struct rn_expr *e;

    if (!rn_query_is_ordered(q))
        return false;
    e = q->select->order[0].expr;
    return e->kind == RN_EXPR_CALL && e->function->is_vector;
}

bool rn_query_is_condensed(const struct rn_query *q)
{
    const struct rn_select *s = q->select;

    return s->is_distinct || s->group_count || s->aggregate_count;
}

bool rn_query_is_merged(const struct rn_query *q)
{
    const struct rn_select *s = q->select;

    return rn_query_reads_documents(q) &&
           (rn_query_is_condensed(q) || s->order_count || s->top || s->offset);
}

bool rn_query_is_ranked(const struct rn_query *q)
{
    return q->select->is_rank;
}

static bool makes_list(const struct rn_select *s)
{
    for (uint32_t i = 0; i < s->aggregate_count; i++) {
        if (s->aggregates[i]->function->aggregate == RN_AGGREGATE_MAKELIST ||
            s->aggregates[i]->function->aggregate == RN_AGGREGATE_MAKESET)
            return true;
    }
    return false;
}

bool rn_query_is_orderless(const struct rn_query *q)
{
    const struct rn_select *s = q->select;

    if (s->from_count == 0 || s->from[0].query || s->group_count)
        return false;
    if (s->aggregate_count)
        return !makes_list(s);
    return s->order_count > 0;
}

enum rn_code rn_query_only_counts(const struct rn_query *q, struct rn_arena *a,
                                  bool *out)
{
    struct rn_needed_paths wanted = { .is_all = true };
    enum rn_code rc = RN_OK;

    if (rn_query_is_orderless(q) && !q->select->order_count)
        rc = rn_needed_paths_find(&wanted, q->select, a);
    *out = !rc && !wanted.is_all && !wanted.members.count;
    return rc;
}

struct rn_view rn_query_text(const struct rn_query *q)
{
    return q->text;
}

bool rn_query_reads_documents(const struct rn_query *q)
{
    const struct rn_select *s = q->select;

    while (s->from_count && s->from[0].query)
        s = s->from[0].query;
    return s->from_count > 0;
}

/* ---- analysis for the access path ---------------------------------------- */

uint32_t rn_query_order_count(const struct rn_query *q)
{
    return q->select->aggregate_count || q->select->group_count
               ? 0
               : q->select->order_count;
}

enum rn_code rn_query_order_key(const struct rn_query *q, uint32_t i,
                                struct rn_arena *a, struct rn_json_path *path,
                                bool *is_descending)
{
    *is_descending = q->select->order[i].is_descending;
    return rn_expr_path(q->select, q->select->order[i].expr, a, path);
}

enum rn_code rn_query_extreme(const struct rn_query *q, struct rn_arena *a,
                              struct rn_query_extreme *out)
{
    const struct rn_select *s = q->select;
    const struct rn_expr *first;

    *out = (struct rn_query_extreme){ 0 };
    if (!s->aggregate_count || s->group_count || s->from_count != 1 ||
        s->from[0].query || s->from[0].is_each)
        return RN_OK;
    first = s->aggregates[0]->kids[0];
    for (uint32_t i = 0; i < s->aggregate_count; i++) {
        const struct rn_expr *e = s->aggregates[i];
        enum rn_aggregate_kind kind = e->function->aggregate;

        if ((kind != RN_AGGREGATE_MIN && kind != RN_AGGREGATE_MAX) ||
            !rn_expr_equals(e->kids[0], first))
            return RN_OK;
        out->has_min = out->has_min || kind == RN_AGGREGATE_MIN;
        out->has_max = out->has_max || kind == RN_AGGREGATE_MAX;
    }
    return rn_expr_path(s, first, a, &out->path);
}

/* ---- running ------------------------------------------------------------- */

static enum rn_code send_row(void *context, const struct rn_value *row,
                             bool *stop)
{
    struct rn_run *r = context;
    struct rn_json_out o = RN_JSON_OUT_INIT(&r->row);
    struct rn_query_place place;
    enum rn_code rc;

    if (row->kind == RN_VALUE_UNDEFINED)
        return RN_OK;
    if (r->is_full) {
        r->is_cut = true;
        r->has_row = true;
        *stop = true;
        return RN_OK;
    }
    if (!rn_value_is_finite(row)) {
        r->stats->is_infinite = true;
        return rn_fail(
            r->err, RN_BAD_REQUEST,
            "The response content contains a numeric value that "
            "cannot be represented in JSON (e.g. Infinity and NaN).");
    }
    rn_buf_clear(&r->row);
    rn_value_print(row, &o);
    rc = rn_json_out_finish(&o);
    if (!rc)
        rc = rn_run_step(r, 1 + r->row.len / 64);
    if (rc)
        return rc;
    r->stats->rows++;
    r->stats->row_bytes += r->row.len;
    place = (struct rn_query_place){
        .rows = r->limits.from.rows + r->stats->rows,
        .passed = r->passed,
        .document_rows = r->gatherer == r->query->select ? 0 : r->document_rows,
        .after = rn_buf_view(&r->after),
    };
    r->stats->place.document_rows = place.document_rows;
    return r->sink->row(r->sink->context, rn_buf_view(&r->row), &place,
                        &r->is_full, r->err);
}

static enum rn_code run(struct rn_run *r)
{
    size_t frame = r->query->slots * sizeof(*r->frame);
    enum rn_code rc;

    if (rn_query_is_ranked(r->query)) {
        return rn_fail(r->err, RN_BAD_REQUEST,
                       "ORDER BY RANK is carried out by the client, by its "
                       "plan.");
    }
    r->frame = rn_arena_alloc(&r->keep, frame);
    if (!r->frame)
        return RN_TOO_LARGE;
    memset(r->frame, 0, frame);
    rn_prng_init(&r->prng, r->limits.seed);
    r->gatherer = find_gatherer(r->query);
    if (r->gatherer && r->limits.from.rows && !r->limits.from.after.len)
        return rn_fail(r->err, RN_BAD_REQUEST, "Invalid Continuation Token");
    r->skip_rows = r->limits.from.document_rows;
    rc = rn_needed_paths_find(&r->wanted, r->query->select, &r->keep);
    if (rc)
        return rc;
    rc = rn_select_run(r, r->query->select, RN_HOLD_TEXT, send_row, r);
    r->stats->is_done = !r->is_cut;
    r->stats->place.rows = r->limits.from.rows + r->stats->rows;
    r->stats->place.passed = r->passed - r->has_row;
    if (rn_query_is_streaming(r->query))
        r->stats->place.document_rows = r->document_rows - r->has_row;
    return rc;
}

enum rn_code rn_query_run(const struct rn_query *q,
                          const struct rn_source *source,
                          const struct rn_sink *sink,
                          const struct rn_query_limits *limits,
                          struct rn_query_stats *stats, struct rn_err *err)
{
    struct rn_err why = { 0 };
    struct rn_run r = { .query = q,
                        .source = source,
                        .sink = sink,
                        .limits = *limits,
                        .stats = stats,
                        .err = &why };
    size_t most;
    enum rn_code rc;

    if (!r.limits.steps)
        r.limits.steps = 100000000;
    if (!r.limits.memory_bytes)
        r.limits.memory_bytes = (size_t)64 << 20;
    if (!r.limits.ahead_bytes)
        r.limits.ahead_bytes = r.limits.memory_bytes / 4;
    most = r.limits.memory_bytes;
    r.keep = RN_ARENA_INIT(most);
    r.scratch = RN_ARENA_INIT(most);
    r.arena = &r.scratch;
    r.row = RN_BUF_INIT(most);
    r.encoded = RN_BUF_INIT(most);
    r.after = RN_BUF_INIT(RN_QUERY_AFTER_MAX);
    *stats = (struct rn_query_stats){ 0 };
    rn_json_init(&r.json, NULL);

    rc = run(&r);
    if (rc && why.code != rc) {
        rn_fail(&why, rc,
                rc == RN_TOO_LARGE ? "The query needs more than %zu bytes for "
                                     "its groups, distinct values, sorted "
                                     "rows or lists."
                                   : "the query failed within %zu bytes",
                most);
    }
    if (rc && err)
        *err = why;
    rn_regexes_free(r.regexes);
    rn_json_release(&r.json);
    rn_buf_release(&r.after);
    rn_buf_release(&r.encoded);
    rn_buf_release(&r.row);
    rn_arena_release(&r.scratch);
    rn_arena_release(&r.keep);
    return rc;
}
