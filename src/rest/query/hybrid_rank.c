/* hybrid_rank.c -- ORDER BY RANK on the server; see hybrid_rank.h. */
#include "rest/query/hybrid_rank.h"

#include <stdlib.h>

#define FILTER "{documentdb-formattableorderbyquery-filter}"
#define MARK "{documentdb-formattablehybridsearchquery-"

enum {
    PLAN_MAX = 16 << 20,
    HELD_MAX = 64 << 20,
    K = 60, /* the constant of reciprocal rank fusion */
};

/* A document that is among the best by at least one score. */
struct ranked {
    struct rn_view rid, row; /* as JSON */
    const double *scores;
    double fused;
};

struct work {
    struct rn_ranking *k;
    struct rn_query_stats *stats;
    struct rn_arena arena; /* memory of the result, kept to the end */
    struct rn_buf plan_text, statistics_text;
    struct rn_json plan, statistics;
    uint32_t info;      /* hybridSearchQueryInfo, in the plan */
    struct rn_buf rows; /* array of struct ranked */
    struct ranked *list;
    uint32_t count, parts;
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
    struct rn_asked *a = w->k->asked;
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

/* The statistics' value for a placeholder; empty if there is none. */
static struct rn_view meant_by(const struct work *w, struct rn_view name)
{
    const struct rn_json *j = &w->statistics;
    struct rn_view words = RN_LIT("totalwordcount-");
    struct rn_view hits = RN_LIT("hitcountsarray-"), member;
    struct rn_json_walk each =
        rn_json_walk_begin(j, rn_json_find(j, 0, RN_LIT("fullTextStatistics")));
    unsigned long place;

    if (rn_view_eq(name, RN_LIT("totaldocumentcount}")))
        return rn_json_text(j, rn_json_find(j, 0, RN_LIT("documentCount")));
    if (!rn_view_starts(name, words) && !rn_view_starts(name, hits))
        return RN_LIT("");
    member = rn_view_starts(name, words) ? RN_LIT("totalWordCount")
                                         : RN_LIT("hitCounts");
    place = strtoul(name.at + words.len, NULL, 10); /* ends at the brace */
    while (rn_json_walk_next(&each)) {
        if (place-- == 0)
            return rn_json_text(j, rn_json_find(j, each.value, member));
    }
    return RN_LIT("");
}

/* The length of a placeholder at the beginning of a text, with its brace; 0 if
 * there is none: a search term may look like one. */
static size_t mark_length(struct rn_view text)
{
    size_t n = sizeof(MARK) - 1;

    if (!rn_view_starts(text, RN_LIT(MARK)))
        return 0;
    while (n < text.len &&
           (text.at[n] == '-' || (text.at[n] >= '0' && text.at[n] <= '9') ||
            (text.at[n] >= 'a' && text.at[n] <= 'z')))
        n++;
    return n < text.len && text.at[n] == '}' ? n + 1 : 0;
}

/* The text with placeholders replaced by numbers. */
static enum rn_code fill_in(struct work *w, struct rn_view text,
                            struct rn_buf *out)
{
    const struct rn_view filter = RN_LIT(FILTER);
    const size_t name = sizeof(MARK) - 1;
    enum rn_code rc = RN_OK;

    while (text.len && !rc) {
        size_t n = mark_length(text);
        struct rn_view meant = RN_LIT("");

        if (n)
            meant = meant_by(w, rn_view_of(text.at + name, n - name));
        if (!meant.len && rn_view_starts(text, filter)) {
            n = filter.len;
            meant = RN_LIT("true");
        }
        if (!meant.len) {
            n = 1;
            meant = rn_view_of(text.at, 1);
        }
        rc = rn_buf_add(out, meant);
        text = rn_view_of(text.at + n, text.len - n);
    }
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
    struct ranked new = {
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
        rc = fill_in(w, text, &filled);
    if (!rc) {
        text = rn_arena_copy(&w->arena, rn_buf_view(&filled));
        rc = text.at ? run_text(w, text, &sink) : too_much(w);
    }
    rn_buf_release(&filled);
    return rc;
}

/* ---- ranks --------------------------------------------------------------- */

static int by_rid(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return rn_view_compare(x->rid, y->rid);
}

/* A document that is good by several scores was returned several times. */
static void keep_once(struct work *w)
{
    uint32_t n = 0;

    w->list = (struct ranked *)(void *)w->rows.at;
    if (w->count == 0)
        return;
    qsort(w->list, w->count, sizeof(*w->list), by_rid);
    for (uint32_t i = 1; i < w->count; i++) {
        if (by_rid(&w->list[n], &w->list[i]))
            w->list[++n] = w->list[i];
    }
    w->count = n + 1;
}

struct order {
    uint32_t part;
    bool is_descending;
};

static int by_score(const void *a, const void *b, void *context)
{
    const struct ranked *x = a, *y = b;
    const struct order *order = context;
    double p = x->scores[order->part], q = y->scores[order->part];
    int found = (p > q) - (p < q);

    return order->is_descending ? -found : found;
}

/* Documents with the same score have the same rank. */
static void fuse(struct work *w, struct order *order, double weight)
{
    uint32_t rank = 0;

    if (w->count == 0)
        return;
    qsort_r(w->list, w->count, sizeof(*w->list), by_score, order);
    for (uint32_t i = 0; i < w->count; i++) {
        rank += i == 0 || by_score(&w->list[i - 1], &w->list[i], order) != 0;
        w->list[i].fused += weight / (K + rank);
    }
}

static int by_fused(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int found = (x->fused < y->fused) - (x->fused > y->fused);

    return found ? found : by_rid(a, b);
}

static void fuse_all(struct work *w)
{
    struct rn_json_walk parts = rn_json_walk_begin(
        &w->plan,
        rn_json_find(&w->plan, w->info, RN_LIT("componentQueryInfos")));
    struct rn_json_walk weights = rn_json_walk_begin(
        &w->plan, rn_json_find(&w->plan, w->info, RN_LIT("componentWeights")));

    keep_once(w);
    for (uint32_t i = 0; rn_json_walk_next(&parts); i++) {
        struct rn_json_walk way = rn_json_walk_begin(
            &w->plan, rn_json_find(&w->plan, parts.value, RN_LIT("orderBy")));
        struct order order = { i, rn_json_walk_next(&way) &&
                                      rn_json_string_is(&w->plan, way.value,
                                                        RN_LIT("Descending")) };
        fuse(w, &order,
             rn_json_walk_next(&weights)
                 ? rn_json_double(&w->plan, weights.value)
                 : 1);
    }
    if (w->count)
        qsort(w->list, w->count, sizeof(*w->list), by_fused);
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
    enum rn_code rc = rn_asked_plan(w->k->asked, w->k->x, &w->plan_text);

    if (!rc)
        rc = rn_json_parse(&w->plan, rn_buf_view(&w->plan_text), &w->k->x->err);
    w->info = rn_json_find(&w->plan, 0, RN_LIT("hybridSearchQueryInfo"));
    return rc;
}

enum rn_code rn_ranking_run(struct rn_ranking *k, const struct rn_sink *sink,
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
    if (!rc) {
        fuse_all(&w);
        rc = send(&w, sink);
    }
    rn_json_release(&w.plan);
    rn_json_release(&w.statistics);
    rn_buf_release(&w.plan_text);
    rn_buf_release(&w.statistics_text);
    rn_buf_release(&w.rows);
    rn_arena_release(&w.arena);
    return rc;
}
