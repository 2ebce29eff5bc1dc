/* hybrid.c -- the plan of ORDER BY RANK; see rank.h.
 *
 * The texts are the service's.  Values that the client fills in are written as
 * {documentdb-formattablehybridsearchquery-...}: these statistics are known
 * only after all ranges have returned theirs.
 */
#include "query/client_plan/hybrid.h"

#include "query/client_plan/rank.h"
#include "query/client_plan/rewrite.h"
#include "query/fn/function.h"
#include "query/parse/print.h"

#define MARK "{documentdb-formattablehybridsearchquery-"

enum { FEWEST_OF_EACH = 120 }; /* rows by each score, at least */

static bool is_text(const struct rn_expr *part)
{
    return part->function->rank == RN_RANK_SCORE;
}

/* ---- words -------------------------------------------------------------- */

/* The text around each word. */
struct around {
    struct rn_printer *p;
    const struct rn_expr *path; /* NULL: nothing */
    uint32_t count;
};

static void begin_word(struct around *a)
{
    rn_print_text(a->p, a->count++ ? ", " : "");
    if (!a->path)
        return;
    rn_print_text(a->p, "COUNTIF(FullTextContains(");
    rn_print_expr(a->p, a->path);
    rn_print_text(a->p, ", ");
}

static void end_word(struct around *a)
{
    if (a->path)
        rn_print_text(a->p, "))");
}

static void print_word(struct around *a, const struct rn_expr *e)
{
    begin_word(a);
    rn_print_expr(a->p, e);
    end_word(a);
}

static void print_list(struct around *a, const struct rn_value *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct rn_arena none = RN_ARENA_INIT(1 << 16);
        struct rn_value v;
        if (!rn_value_element(list, i, &none, &v) &&
            v.kind == RN_VALUE_STRING) {
            begin_word(a);
            rn_print_string(a->p, v.text);
            end_word(a);
        }
        rn_arena_release(&none);
    }
}

/* After the path, the words are separate arguments or one array. */
static void print_words(struct around *a, const struct rn_expr *score)
{
    for (uint32_t i = 1; i < score->count; i++) {
        const struct rn_expr *e = score->kids[i];
        if (e->kind == RN_EXPR_PARAMETER && e->value.kind == RN_VALUE_ARRAY)
            print_list(a, &e->value);
        else if (e->kind != RN_EXPR_ARRAY)
            print_word(a, e);
        for (uint32_t k = 0; e->kind == RN_EXPR_ARRAY && k < e->count; k++)
            print_word(a, e->kids[k]);
    }
}

/* ---- texts -------------------------------------------------------------- */

static void print_statistics(struct rn_printer *p, const struct rn_select *s,
                             const struct rn_rank *rank)
{
    bool is_first = true;

    rn_print_text(p, "SELECT COUNT(1) AS documentCount, [");
    for (uint32_t i = 0; i < rank->count; i++) {
        struct around words = { p, rank->parts[i]->kids[0], 0 };
        if (!is_text(rank->parts[i]))
            continue;
        rn_print_text(p, is_first ? "" : ", ");
        rn_print_text(p, "{\"totalWordCount\": SUM(_FullTextWordCount(");
        rn_print_expr(p, rank->parts[i]->kids[0]);
        rn_print_text(p, ")), \"hitCounts\": [");
        print_words(&words, rank->parts[i]);
        rn_print_text(p, "]}");
        is_first = false;
    }
    rn_print_text(p, "] AS fullTextStatistics");
    rn_print_from(p, s);
}

/* Statistics are numbered without the vector distances. */
static uint32_t statistic_of(const struct rn_rank *rank, uint32_t part)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < part; i++)
        n += is_text(rank->parts[i]);
    return n;
}

static void print_score(struct rn_printer *p, const struct rn_rank *rank,
                        uint32_t part)
{
    const struct rn_expr *e = rank->parts[part];
    struct around words = { p, NULL, 0 };

    if (!is_text(e)) {
        rn_print_expr(p, e);
        return;
    }
    rn_print_text(p, "_FullTextScore(");
    rn_print_expr(p, e->kids[0]);
    rn_print_text(p, ", [");
    print_words(&words, e);
    rn_print_text(p, "], " MARK "totaldocumentcount}, " MARK "totalwordcount-");
    rn_print_count(p, statistic_of(rank, part));
    rn_print_text(p, "}, " MARK "hitcountsarray-");
    rn_print_count(p, statistic_of(rank, part));
    rn_print_text(p, "})");
}

static bool is_descending(const struct rn_expr *part)
{
    return is_text(part) || part->op != RN_DISTANCE_EUCLID;
}

/* A row without a score comes last. */
static void print_scores(struct rn_printer *p, const struct rn_rank *rank)
{
    rn_print_text(p, "\"componentScores\": [");
    for (uint32_t i = 0; i < rank->count; i++) {
        const struct rn_expr *e = rank->parts[i];
        rn_print_text(p, i ? ", (" : "(");
        print_score(p, rank, i);
        rn_print_text(p, is_text(e)         ? " ?? -1)"
                         : is_descending(e) ? " ?? -999999)"
                                            : " ?? 999999)");
    }
    rn_print_text(p, "]");
}

/* The service uses 32-bit counts. */
static uint32_t rows_of_each(const struct rn_plan *plan)
{
    uint64_t n = 2 * (plan->has_top ? plan->top : plan->offset + plan->limit);

    return (uint32_t)(n > FEWEST_OF_EACH ? n : FEWEST_OF_EACH);
}

static void print_component(struct rn_printer *p, const struct rn_plan *plan,
                            const struct rn_rank *rank, uint32_t part)
{
    const struct rn_select *s = plan->select;

    rn_print_text(p, "SELECT ");
    if (plan->has_top) {
        rn_print_text(p, "TOP ");
        rn_print_count(p, rows_of_each(plan));
        rn_print_text(p, " ");
    }
    rn_print_view(p, s->from[0].bound);
    rn_print_text(p, "._rid, [{\"item\": ");
    print_score(p, rank, part);
    rn_print_text(p, "}] AS orderByItems, {\"payload\": ");
    rn_plan_payload(p, s);
    rn_print_text(p, ", ");
    print_scores(p, rank);
    rn_print_text(p, "} AS payload");
    rn_print_from(p, s);
    rn_plan_filter(p, s);
    rn_print_text(p, "\nORDER BY ");
    print_score(p, rank, part);
    rn_print_text(p, is_text(rank->parts[part]) ? " DESC" : "");
    if (plan->has_offset) {
        rn_print_text(p, "\nOFFSET 0 LIMIT ");
        rn_print_count(p, rows_of_each(plan));
    }
}

/* ---- JSON ---------------------------------------------------------------- */

static void out_text(struct rn_json_out *o, const char *name,
                     const struct rn_printer *p)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_string(o, p->buf->len ? rn_buf_view(p->buf) : RN_LIT(""));
    if (p->rc && !o->rc)
        o->rc = p->rc;
    rn_buf_clear(p->buf);
}

static void out_none(struct rn_json_out *o, const char *name)
{
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_array_begin(o);
    rn_json_out_array_end(o);
}

static void out_order(struct rn_json_out *o, struct rn_printer *p,
                      const struct rn_rank *rank, uint32_t part)
{
    rn_json_out_key(o, RN_LIT("orderBy"));
    rn_json_out_array_begin(o);
    rn_json_out_string(o, is_descending(rank->parts[part])
                              ? RN_LIT("Descending")
                              : RN_LIT("Ascending"));
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("orderByExpressions"));
    rn_json_out_array_begin(o);
    print_score(p, rank, part);
    rn_json_out_string(o, rn_buf_view(p->buf));
    rn_buf_clear(p->buf);
    rn_json_out_array_end(o);
}

static void out_component(struct rn_json_out *o, const struct rn_plan *plan,
                          const struct rn_rank *rank, uint32_t part)
{
    struct rn_buf text = RN_BUF_INIT((size_t)RN_QUERY_TEXT_MAX * 16);
    struct rn_printer p = RN_PRINTER_INIT(&text);

    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("distinctType"));
    rn_json_out_string(o, RN_LIT("None"));
    rn_plan_out_count(o, "top", plan->has_top, rows_of_each(plan));
    rn_plan_out_count(o, "offset", plan->has_offset, 0);
    rn_plan_out_count(o, "limit", plan->has_offset, rows_of_each(plan));
    out_order(o, &p, rank, part);
    out_none(o, "groupByExpressions");
    out_none(o, "groupByAliases");
    out_none(o, "aggregates");
    rn_json_out_key(o, RN_LIT("groupByAliasToAggregateType"));
    rn_json_out_object_begin(o);
    rn_json_out_object_end(o);
    print_component(&p, plan, rank, part);
    out_text(o, "rewrittenQuery", &p);
    rn_json_out_key(o, RN_LIT("hasSelectValue"));
    rn_json_out_bool(o, plan->select->kind == RN_SELECT_VALUE);
    rn_json_out_key(o, RN_LIT("dCountInfo"));
    rn_json_out_null(o);
    rn_json_out_key(o, RN_LIT("hasNonStreamingOrderBy"));
    rn_json_out_bool(o, true);
    rn_json_out_object_end(o);
    rn_buf_release(&text);
}

static void out_number(struct rn_json_out *o, const struct rn_value *v)
{
    if (v->is_integer)
        rn_json_out_int(o, v->integer);
    else
        rn_json_out_double(o, v->real);
}

static void out_weights(struct rn_json_out *o, const struct rn_expr *e)
{
    rn_json_out_key(o, RN_LIT("componentWeights"));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; e && e->kind == RN_EXPR_ARRAY && i < e->count; i++)
        out_number(o, &e->kids[i]->value);
    if (e && e->kind == RN_EXPR_PARAMETER) {
        struct rn_arena none = RN_ARENA_INIT(1 << 10);
        struct rn_value_walk w = rn_value_walk_begin(&e->value, &none);
        while (rn_value_walk_next(&w))
            out_number(o, &w.value);
        rn_arena_release(&none);
    }
    rn_json_out_array_end(o);
}

void rn_hybrid_print(const struct rn_plan *plan, struct rn_json_out *o)
{
    struct rn_buf text = RN_BUF_INIT((size_t)RN_QUERY_TEXT_MAX * 16);
    struct rn_printer p = RN_PRINTER_INIT(&text);
    struct rn_rank rank;
    uint32_t texts;

    rn_rank_of(plan->select, &rank);
    texts = statistic_of(&rank, rank.count);
    rn_json_out_object_begin(o);
    if (texts)
        print_statistics(&p, plan->select, &rank);
    out_text(o, "globalStatisticsQuery", &p);
    rn_json_out_key(o, RN_LIT("componentQueryInfos"));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < rank.count; i++)
        out_component(o, plan, &rank, i);
    rn_json_out_array_end(o);
    out_none(o, "componentWithoutPayloadQueryInfos");
    out_weights(o, rank.weights);
    rn_plan_out_count(o, "skip", plan->has_offset, plan->offset);
    rn_plan_out_count(o, "take", plan->has_top || plan->has_offset,
                      plan->has_top ? plan->top : plan->limit);
    rn_json_out_key(o, RN_LIT("requiresGlobalStatistics"));
    rn_json_out_bool(o, texts > 0);
    rn_json_out_object_end(o);
    rn_buf_release(&text);
}
