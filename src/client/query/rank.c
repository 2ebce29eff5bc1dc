/* rank.c -- ORDER BY RANK over several ranges.
 *
 * The statistics of all ranges of the container are added up, whatever keys the
 * query is limited to: that is the default scope of the official SDKs.  Then
 * the best rows by each score are fetched, and fused.
 */
#include "client/query/rank.h"

#include "client/query/fetch.h"
#include "client/query/materialize.h"
#include "client/query/query.h"
#include "client/query/state.h"
#include "json/print.h"

#include <stdlib.h>

/* ---- statistics ---------------------------------------------------------- */

static enum rn_code add_number(struct rn_client_query *q, size_t place,
                               struct rn_merge_item v)
{
    struct rn_buf *numbers = &q->ranking.numbers;
    enum rn_code rc = RN_OK;
    int64_t n = 0, *sum;

    if (v.at != RN_JSON_NONE && !rn_json_int64(v.j, v.at, &n))
        return RN_CORRUPT;
    if (place * sizeof(n) == numbers->len)
        return rn_buf_add(numbers, rn_view_of(&n, sizeof(n)));
    if (place * sizeof(n) > numbers->len)
        return RN_CORRUPT;
    sum = (int64_t *)(void *)numbers->at + place;
    if (__builtin_add_overflow(*sum, n, sum))
        rc = RN_CORRUPT;
    return rc;
}

/* {"documentCount":n,"fullTextStatistics":[{"totalWordCount":n,
 * "hitCounts":[n...]}...]} */
static enum rn_code add_statistics(struct rn_client_query *q,
                                   struct rn_merge_item row)
{
    struct rn_json_walk w = rn_json_walk_begin(
        row.j, rn_json_find(row.j, row.at, RN_LIT("fullTextStatistics")));
    size_t place = 0;
    enum rn_code rc;

    if (!q->ranking.numbers_of.at)
        q->ranking.numbers_of = rn_merge_item_keep(row, &q->memory);
    if (!q->ranking.numbers_of.at)
        return rn_arena_lack(&q->memory, rn_json_text(row.j, row.at).len);
    rc = add_number(q, place++,
                    rn_merge_item_member(row, RN_LIT("documentCount")));
    while (!rc && rn_json_walk_next(&w)) {
        struct rn_merge_item one = { row.j, w.value };
        struct rn_merge_item hits =
            rn_merge_item_member(one, RN_LIT("hitCounts"));
        struct rn_json_walk each = rn_json_walk_begin(hits.j, hits.at);

        rc = add_number(q, place++,
                        rn_merge_item_member(one, RN_LIT("totalWordCount")));
        while (!rc && rn_json_walk_next(&each)) {
            rc = add_number(q, place++,
                            (struct rn_merge_item){ row.j, each.value });
        }
    }
    return rc;
}

/* The sums in the form of the first range's row. */
static enum rn_code print_statistics(const struct rn_client_query *q,
                                     struct rn_buf *out)
{
    const int64_t *sum = (const int64_t *)(const void *)q->ranking.numbers.at;
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_json_walk w;
    struct rn_json j;
    enum rn_code rc;

    if (!q->ranking.numbers_of.at)
        return RN_CORRUPT;
    rn_json_init(&j, &rn_page_limits);
    rc = rn_json_parse(&j, q->ranking.numbers_of, NULL);
    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("documentCount"));
    rn_json_out_int(&o, *sum++);
    rn_json_out_key(&o, RN_LIT("fullTextStatistics"));
    rn_json_out_array_begin(&o);
    w = rn_json_walk_begin(&j,
                           rn_json_find(&j, 0, RN_LIT("fullTextStatistics")));
    while (!rc && rn_json_walk_next(&w)) {
        uint32_t hits = rn_json_find(&j, w.value, RN_LIT("hitCounts"));
        rn_json_out_object_begin(&o);
        rn_json_out_key(&o, RN_LIT("totalWordCount"));
        rn_json_out_int(&o, *sum++);
        rn_json_out_key(&o, RN_LIT("hitCounts"));
        rn_json_out_array_begin(&o);
        for (uint32_t i = rn_json_count(&j, hits); i > 0; i--)
            rn_json_out_int(&o, *sum++);
        rn_json_out_array_end(&o);
        rn_json_out_object_end(&o);
    }
    rn_json_out_array_end(&o);
    rn_json_out_object_end(&o);
    rn_json_release(&j);
    return rc ? rc : rn_json_out_finish(&o);
}

/* ---- components ---------------------------------------------------------- */

static enum rn_code fill_in(struct rn_client_query *q)
{
    struct rn_buf text = RN_BUF_INIT(q->scratch.ceiling);
    struct rn_json j;
    enum rn_code rc = RN_OK;

    rn_json_init(&j, &rn_page_limits);
    if (q->plan.statistics.len)
        rc = print_statistics(q, &text);
    else
        rc = rn_buf_add(&text, RN_LIT("{}"));
    if (!rc)
        rc = rn_json_parse(&j, rn_buf_view(&text), NULL);
    rn_buf_clear(&q->ranking.filled);
    if (!rc)
        rc = rn_fusion_fill_in(q->plan.components[q->ranking.component].text,
                               &j, &q->ranking.filled);
    rn_json_release(&j);
    rn_buf_release(&text);
    return rc;
}

/* {"_rid":"...","payload":{"payload":row,"componentScores":[n...]}} */
static enum rn_code add_row(struct rn_client_query *q, struct rn_merge_item row)
{
    struct rn_merge_item outer = rn_merge_item_member(row, RN_LIT("payload"));
    struct rn_merge_item inner = rn_merge_item_member(outer, RN_LIT("payload"));
    struct rn_merge_item rid = rn_merge_item_member(row, RN_LIT("_rid"));
    struct rn_json_walk w = rn_json_walk_begin(
        row.j, rn_json_find(row.j, outer.at, RN_LIT("componentScores")));
    size_t size = q->plan.component_count * sizeof(double);
    double *scores = rn_arena_alloc(&q->memory, size);
    struct rn_ranked new = { .scores = scores };

    if (inner.at == RN_JSON_NONE)
        return RN_OK;
    if (rn_json_kind(rid.j, rid.at) != RN_JSON_STRING)
        return RN_CORRUPT;
    new.rid = rn_arena_copy(&q->memory, rn_json_text(rid.j, rid.at));
    new.row = rn_merge_item_keep(inner, &q->memory);
    if (!scores || !new.rid.at || !new.row.at)
        return rn_arena_lack(&q->memory,
                             size + rn_json_text(inner.j, inner.at).len);
    for (size_t i = 0; i < q->plan.component_count; i++) {
        if (!rn_json_walk_next(&w) ||
            rn_json_kind(w.json, w.value) != RN_JSON_NUMBER)
            return RN_CORRUPT;
        scores[i] = rn_json_double(w.json, w.value);
    }
    return rn_buf_add(&q->ranking.rows, rn_view_of(&new, sizeof(new)));
}

/* Each range gave its best; the best of them all are kept. */
static void keep_best(struct rn_client_query *q)
{
    const struct rn_merge_plan_component *c =
        &q->plan.components[q->ranking.component];
    struct rn_ranking_work *w = &q->ranking;
    struct rn_ranked *rows = (struct rn_ranked *)(void *)w->rows.at;
    size_t count = w->rows.len / sizeof(*rows) - w->kept;

    if (count) {
        w->kept += rn_fusion_best(rows + w->kept, count, w->component,
                                  c->way.is_descending,
                                  c->most < 0 ? SIZE_MAX : (size_t)c->most);
    }
    w->rows.len = w->kept * sizeof(*rows);
}

static enum rn_code fuse(struct rn_client_query *q)
{
    size_t components = q->plan.component_count, count;
    struct rn_ranked *rows = (struct rn_ranked *)(void *)q->ranking.rows.at;
    struct rn_rank_way *ways =
        rn_arena_alloc(&q->memory, components * sizeof(*ways));
    struct rn_buf key = RN_BUF_INIT(q->scratch.ceiling);
    enum rn_code rc = RN_OK;

    if (!ways)
        return rn_arena_lack(&q->memory, components * sizeof(*ways));
    for (size_t i = 0; i < components; i++)
        ways[i] = q->plan.components[i].way;
    count = rn_fusion_run(rows, q->ranking.kept, ways, components);
    for (size_t i = 0; !rc && i < count; i++) {
        struct rn_json_out o = RN_JSON_OUT_INIT(&key);
        rn_buf_clear(&key);
        rn_json_out_string(&o, rows[i].rid);
        rc = rn_json_out_finish(&o);
        if (!rc)
            rc = rn_client_query_add_result(q, rows[i].row, rn_buf_view(&key));
    }
    rn_buf_release(&key);
    return rc;
}

/* ---- one query after another --------------------------------------------- */

static bool is_first(const struct rn_client_query *q)
{
    return q->plan.statistics.len && !q->ranking.has_statistics;
}

static runnel_code ask(struct rn_client_query *q, runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    rn_client_query_drop_sources(q);
    if (!is_first(q))
        rc = rn_client_query_explain(fill_in(q), error);
    q->is_broken = rc != RUNNEL_OK;
    if (!rc) {
        rc = rn_client_query_set_text(
            q,
            is_first(q) ? q->plan.statistics : rn_buf_view(&q->ranking.filled),
            error);
    }
    if (!rc)
        rc = rn_client_query_open_ranges(q, is_first(q), error);
    q->ranking.is_asked = !rc;
    return rc;
}

runnel_code rn_client_query_rank(struct rn_client_query *q, double *charge,
                                 runnel_error *error)
{
    struct rn_ranking_work *w = &q->ranking;
    runnel_code rc = RUNNEL_OK;

    while (!rc && w->component < q->plan.component_count) {
        if (!w->is_asked)
            rc = ask(q, error);
        if (!rc)
            rc = rn_client_query_read_all(
                q, is_first(q) ? add_statistics : add_row, charge, error);
        if (rc)
            break;
        w->is_asked = false;
        if (is_first(q)) {
            w->has_statistics = true;
        } else {
            keep_best(q);
            w->component++;
        }
    }
    if (!rc)
        rc = rn_client_query_explain(fuse(q), error);
    return rc;
}
