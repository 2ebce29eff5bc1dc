/* hybrid_rank.c -- ORDER BY RANK on the server; see hybrid_rank.h. */
#include "rest/query/hybrid_rank.h"

#include "cosmos/fusion.h"
#include "rest/query/plans.h"

enum {
    PLAN_MAX = 16 << 20,
    HELD_MAX = 64 << 20,
};

struct work {
    struct rn_hybrid_rank *k;
    struct rn_query_stats *stats;
    struct rn_arena arena; /* memory of the result, kept to the end */
    struct rn_buf plan_text, statistics_text;
    struct rn_json plan, statistics;
    uint32_t info;      /* hybridSearchQueryInfo, in the plan */
    struct rn_buf rows; /* array of struct rn_ranked */
    struct rn_ranked *list;
    size_t count;
    uint32_t parts;
    struct rn_access access;
};

/* ---- its queries --------------------------------------------------------- */

static enum rn_code next_document(void *context, struct rn_view *document,
                                  struct rn_err *err)
{
    struct work *w = context;
    enum rn_code rc = rn_access_next(&w->access, document);

    if (rc && rc != RN_NOT_FOUND)
        return rn_fail(err, rc, "%s", rn_txn_why(w->k->reading->txn, rc));
    return rc;
}

static enum rn_code run_query(struct work *w, const struct rn_query *q,
                              const struct rn_sink *sink)
{
    struct rn_access_ask ask = { .scope = *w->k->scope,
                                 .query = q,
                                 .no_order = true };
    struct rn_source source = { .context = w, .next = next_document };
    struct rn_query_stats stats = { 0 };
    struct rn_context *x = w->k->x;
    enum rn_code rc =
        rn_access_open(&w->access, w->k->reading, &ask, &x->call->arena);

    if (!rc)
        rc = rn_query_run(q, &source, sink, &w->k->limits, &stats, &x->err);
    rn_access_close(&w->access);
    w->stats->documents += stats.documents;
    w->stats->document_bytes += stats.document_bytes;
    w->stats->steps += stats.steps;
    w->stats->matched += stats.matched;
    return rc;
}

static enum rn_code run_text(struct work *w, struct rn_view text,
                             const struct rn_sink *sink)
{
    struct rn_query_request *a = w->k->request;
    struct rn_query_input in = { .text = text, .policy = &a->policy };
    struct rn_query *q;
    enum rn_code rc;

    in.parameters = rn_json_find(&a->json, 0, RN_LIT("parameters"));
    if (rn_json_kind(&a->json, in.parameters) == RN_JSON_ARRAY)
        in.json = &a->json;
    rc = rn_query_parse(&in, &w->k->x->call->arena, &q, &a->faults,
                        &w->k->x->err);
    return rc ? rc : run_query(w, q, sink);
}

/* ---- statistics ---------------------------------------------------------- */

static enum rn_code take_statistics(void *context, struct rn_view json,
                                    const struct rn_query_place *place,
                                    bool *is_full, struct rn_err *err)
{
    struct work *w = context;

    (void)place;
    (void)is_full;
    (void)err;
    rn_buf_clear(&w->statistics_text);
    return rn_buf_add(&w->statistics_text, json);
}

static enum rn_code ask_statistics(struct work *w)
{
    struct rn_sink sink = { w, take_statistics };
    struct rn_view text;
    enum rn_code rc = rn_json_string_get(
        &w->plan,
        rn_json_find(&w->plan, w->info, RN_LIT("globalStatisticsQuery")),
        &w->arena, &text);

    if (!rc && text.len)
        rc = run_text(w, text, &sink);
    if (!rc && w->statistics_text.len)
        rc = rn_json_parse(&w->statistics, rn_buf_view(&w->statistics_text),
                           NULL);
    return rc;
}

/* ---- rows ---------------------------------------------------------------- */

static enum rn_code too_much(struct work *w)
{
    return rn_fail(&w->k->x->err, RN_TOO_LARGE,
                   "The query needs more than %d bytes for the rows that it "
                   "ranks.",
                   HELD_MAX);
}

/* The text of a value; of a string, with its quotes. */
static struct rn_view whole_text(const struct rn_json *j, uint32_t value)
{
    struct rn_view text = rn_json_text(j, value);

    return rn_json_kind(j, value) == RN_JSON_STRING
               ? rn_view_of(text.at - 1, text.len + 2)
               : text;
}

static enum rn_code hold(struct work *w, const struct rn_json *j,
                         uint32_t payload, uint32_t row)
{
    struct rn_json_walk each = rn_json_walk_begin(
        j, rn_json_find(j, payload, RN_LIT("componentScores")));
    double *scores = rn_arena_alloc(&w->arena, w->parts * sizeof(*scores));
    struct rn_ranked new = {
        .rid = rn_arena_copy(
            &w->arena, rn_json_text(j, rn_json_find(j, 0, RN_LIT("_rid")))),
        .row = rn_arena_copy(&w->arena, whole_text(j, row)),
        .scores = scores,
    };

    if (!scores || !new.rid.at || !new.row.at)
        return too_much(w);
    for (uint32_t i = 0; i < w->parts; i++) {
        bool is_there = rn_json_walk_next(&each) &&
                        rn_json_kind(j, each.value) == RN_JSON_NUMBER;
        scores[i] = is_there ? rn_json_double(j, each.value) : 0;
    }
    if (rn_buf_add(&w->rows, rn_view_of(&new, sizeof(new))))
        return too_much(w);
    w->count++;
    return RN_OK;
}

/* {"_rid":..., "payload":{"payload":row, "componentScores":[...]}} */
static enum rn_code take_row(void *context, struct rn_view json,
                             const struct rn_query_place *place, bool *is_full,
                             struct rn_err *err)
{
    struct work *w = context;
    struct rn_json j;
    uint32_t payload, row;
    enum rn_code rc;

    (void)place;
    (void)is_full;
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, json, err);
    payload = rn_json_find(&j, 0, RN_LIT("payload"));
    row = rn_json_find(&j, payload, RN_LIT("payload"));
    if (!rc && rn_json_kind(&j, row) != RN_JSON_UNDEFINED)
        rc = hold(w, &j, payload, row);
    rn_json_release(&j);
    return rc;
}

static enum rn_code ask_part(struct work *w, uint32_t part)
{
    struct rn_sink sink = { w, take_row };
    struct rn_buf filled = RN_BUF_INIT(PLAN_MAX);
    struct rn_view text;
    enum rn_code rc = rn_json_string_get(
        &w->plan, rn_json_find(&w->plan, part, RN_LIT("rewrittenQuery")),
        &w->arena, &text);

    if (!rc)
        rc = rn_fusion_fill_in(text, &w->statistics, &filled);
    if (!rc) {
        text = rn_arena_copy(&w->arena, rn_buf_view(&filled));
        rc = text.at ? run_text(w, text, &sink) : too_much(w);
    }
    rn_buf_release(&filled);
    return rc;
}

/* ---- ranks --------------------------------------------------------------- */

static enum rn_code fuse_all(struct work *w)
{
    struct rn_json_walk parts = rn_json_walk_begin(
        &w->plan,
        rn_json_find(&w->plan, w->info, RN_LIT("componentQueryInfos")));
    struct rn_json_walk weights = rn_json_walk_begin(
        &w->plan, rn_json_find(&w->plan, w->info, RN_LIT("componentWeights")));
    struct rn_rank_way *ways =
        rn_arena_alloc(&w->arena, (w->parts + 1) * sizeof(*ways));

    if (!ways)
        return too_much(w);
    for (uint32_t i = 0; rn_json_walk_next(&parts); i++) {
        struct rn_json_walk way = rn_json_walk_begin(
            &w->plan, rn_json_find(&w->plan, parts.value, RN_LIT("orderBy")));
        ways[i].is_descending =
            rn_json_walk_next(&way) &&
            rn_json_string_is(&w->plan, way.value, RN_LIT("Descending"));
        ways[i].weight = rn_json_walk_next(&weights)
                             ? rn_json_double(&w->plan, weights.value)
                             : 1;
    }
    w->list = (struct rn_ranked *)(void *)w->rows.at;
    w->count = rn_fusion_run(w->list, w->count, ways, w->parts);
    return RN_OK;
}

/* ---- the whole ----------------------------------------------------------- */

static uint64_t count_in(const struct work *w, struct rn_view name,
                         uint64_t otherwise)
{
    uint32_t value = rn_json_find(&w->plan, w->info, name);
    int64_t n;

    return rn_json_kind(&w->plan, value) == RN_JSON_NUMBER &&
                   rn_json_int64(&w->plan, value, &n)
               ? (uint64_t)n
               : otherwise;
}

static enum rn_code send(struct work *w, const struct rn_sink *sink)
{
    uint64_t first = count_in(w, RN_LIT("skip"), 0);
    uint64_t most = count_in(w, RN_LIT("take"), UINT64_MAX);
    uint64_t sent = w->k->skip;
    bool is_full = false;
    enum rn_code rc = RN_OK;

    for (; !rc && !is_full && sent < most && first + sent < w->count; sent++) {
        struct rn_query_place place = { .rows = sent + 1 };
        struct rn_view row = w->list[first + sent].row;
        rc = sink->row(sink->context, row, &place, &is_full, &w->k->x->err);
        w->stats->rows++;
        w->stats->row_bytes += row.len;
    }
    w->stats->is_done = sent >= most || first + sent >= w->count;
    return rc;
}

static enum rn_code make_plan(struct work *w)
{
    enum rn_code rc =
        rn_query_request_plan(w->k->request, w->k->x, &w->plan_text);

    if (!rc)
        rc = rn_json_parse(&w->plan, rn_buf_view(&w->plan_text), &w->k->x->err);
    w->info = rn_json_find(&w->plan, 0, RN_LIT("hybridSearchQueryInfo"));
    return rc;
}

enum rn_code rn_hybrid_rank_run(struct rn_hybrid_rank *k,
                                const struct rn_sink *sink,
                                struct rn_query_stats *stats)
{
    struct work w = { .k = k,
                      .stats = stats,
                      .arena = RN_ARENA_INIT(HELD_MAX),
                      .plan_text = RN_BUF_INIT(PLAN_MAX),
                      .statistics_text = RN_BUF_INIT(1 << 20),
                      .rows = RN_BUF_INIT(HELD_MAX) };
    struct rn_json_walk parts;
    uint32_t all;
    enum rn_code rc;

    rn_json_init(&w.plan, NULL);
    rn_json_init(&w.statistics, NULL);
    rc = make_plan(&w);
    if (!rc)
        rc = ask_statistics(&w);
    all = rn_json_find(&w.plan, w.info, RN_LIT("componentQueryInfos"));
    w.parts = rn_json_count(&w.plan, all);
    parts = rn_json_walk_begin(&w.plan, all);
    while (!rc && rn_json_walk_next(&parts))
        rc = ask_part(&w, parts.value);
    if (!rc)
        rc = fuse_all(&w);
    if (!rc)
        rc = send(&w, sink);
    rn_json_release(&w.plan);
    rn_json_release(&w.statistics);
    rn_buf_release(&w.plan_text);
    rn_buf_release(&w.statistics_text);
    rn_buf_release(&w.rows);
    rn_arena_release(&w.arena);
    return rc;
}
