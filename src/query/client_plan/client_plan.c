/* client_plan.c -- prints the query plan that SDKs request, with the
 * ranges that the query reads. */
#include "query/client_plan/client_plan.h"

#include "query/client_plan/features.h"
#include "query/client_plan/hybrid.h"
#include "query/client_plan/plan.h"
#include "query/client_plan/rewrite.h"
#include "query/fn/function.h"
#include "query/parse/print.h"
#include "query/where/where_equalities.h"

#include <stdlib.h>

enum { RANGES_MAX = 1024 }; /* beyond that, one full range is sent */

/* ---- queryInfo ----------------------------------------------------------- */

static void out_expr(struct rn_json_out *o, const struct rn_expr *e)
{
    struct rn_buf text = RN_BUF_INIT((size_t)RN_QUERY_TEXT_MAX * 8);
    struct rn_printer p = RN_PRINTER_INIT(&text);

    rn_print_expr(&p, e);
    if (p.rc && !o->rc)
        o->rc = p.rc;
    rn_json_out_string(o, rn_buf_view(&text));
    rn_buf_release(&text);
}

static const char *aggregate_name(const struct rn_expr *call)
{
    static const char *const names[] = {
        [RN_AGGREGATE_AVG] = "Average",
        [RN_AGGREGATE_COUNT] = "Count",
        [RN_AGGREGATE_COUNTIF] = "CountIf",
        [RN_AGGREGATE_MAX] = "Max",
        [RN_AGGREGATE_MIN] = "Min",
        [RN_AGGREGATE_SUM] = "Sum",
        [RN_AGGREGATE_MAKELIST] = "MakeList",
        [RN_AGGREGATE_MAKESET] = "MakeSet",
    };

    return names[call->function->aggregate];
}

/* Repeated rows are adjacent if the rows are sorted by their own value. */
static const char *distinct_type(const struct rn_plan *p)
{
    const struct rn_select *s = p->select;

    if (!s->is_distinct)
        return "None";
    if (p->is_ordered && !p->is_grouped && s->order_count == 1 &&
        s->item_count == 1 &&
        rn_expr_equals(s->order[0].expr, s->items[0].expr))
        return "Ordered";
    return "Unordered";
}

static void out_orders(struct rn_json_out *o, const struct rn_plan *p)
{
    const struct rn_select *s = p->select;
    uint32_t count = p->is_ordered ? s->order_count : 0;

    rn_json_out_key(o, RN_LIT("orderBy"));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < count; i++)
        rn_json_out_string(o, s->order[i].is_descending ? RN_LIT("Descending")
                                                        : RN_LIT("Ascending"));
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("orderByExpressions"));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < count; i++)
        out_expr(o, s->order[i].expr);
    rn_json_out_array_end(o);
}

static void out_groups(struct rn_json_out *o, const struct rn_plan *p)
{
    const struct rn_select *s = p->select;
    bool is_list = p->is_grouped && s->kind == RN_SELECT_LIST;
    bool is_value = p->is_grouped && s->kind == RN_SELECT_VALUE;

    rn_json_out_key(o, RN_LIT("groupByExpressions"));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < (p->is_grouped ? s->group_count : 0); i++)
        out_expr(o, s->group[i]);
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("groupByAliases"));
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < s->item_count && is_list; i++)
        rn_json_out_string(o, s->items[i].name);
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("aggregates"));
    rn_json_out_array_begin(o);
    if (is_value && rn_plan_aggregate(s->items[0].expr))
        rn_json_out_string(o, rn_view_text(aggregate_name(s->items[0].expr)));
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("groupByAliasToAggregateType"));
    rn_json_out_object_begin(o);
    for (uint32_t i = 0; i < s->item_count && is_list; i++) {
        rn_json_out_key(o, s->items[i].name);
        if (rn_plan_aggregate(s->items[i].expr)) {
            rn_json_out_string(o,
                               rn_view_text(aggregate_name(s->items[i].expr)));
        } else {
            rn_json_out_null(o);
        }
    }
    rn_json_out_object_end(o);
}

static void out_info(struct rn_json_out *o, const struct rn_plan *p)
{
    struct rn_buf text = RN_BUF_INIT((size_t)RN_QUERY_TEXT_MAX * 16);
    enum rn_code rc = rn_plan_rewrite(p, &text);

    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("distinctType"));
    rn_json_out_string(o, rn_view_text(distinct_type(p)));
    rn_plan_out_count(o, "top", p->has_top, p->top);
    rn_plan_out_count(o, "offset", p->has_offset, p->offset);
    rn_plan_out_count(o, "limit", p->has_offset, p->limit);
    out_orders(o, p);
    out_groups(o, p);
    rn_json_out_key(o, RN_LIT("rewrittenQuery"));
    rn_json_out_string(o, text.len ? rn_buf_view(&text) : RN_LIT(""));
    rn_json_out_key(o, RN_LIT("hasSelectValue"));
    rn_json_out_bool(o, p->query->select->kind == RN_SELECT_VALUE);
    rn_json_out_key(o, RN_LIT("dCountInfo"));
    if (p->is_dcount) {
        rn_json_out_object_begin(o);
        rn_json_out_key(o, RN_LIT("dCountAlias"));
        rn_json_out_string(o, p->dcount_alias);
        rn_json_out_object_end(o);
    } else {
        rn_json_out_null(o);
    }
    rn_json_out_key(o, RN_LIT("hasNonStreamingOrderBy"));
    rn_json_out_bool(o, p->is_vector);
    rn_json_out_object_end(o);
    rn_buf_release(&text);
    if (rc && !o->rc)
        o->rc = rc;
}

/* ---- queryRanges --------------------------------------------------------- */

struct range {
    struct rn_view min, max;
    bool is_point;
};

struct ranges {
    struct rn_arena arena;
    struct range list[RANGES_MAX];
    uint32_t count;
    bool is_one_key;
};

static int by_min(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return rn_view_compare(x->min, y->min);
}

static enum rn_code add_range(const struct rn_plan_keys *k, struct ranges *r,
                              const struct rn_value *values, uint32_t count)
{
    struct rn_buf min = RN_BUF_INIT(1 << 16), max = RN_BUF_INIT(1 << 16);
    struct range *range = &r->list[r->count++];
    enum rn_code rc = k->place(k->context, values, count, &min, &max);

    range->is_point = count == k->count;
    range->min = rn_arena_copy(&r->arena, rn_buf_view(&min));
    range->max = range->is_point ? range->min
                                 : rn_arena_copy(&r->arena, rn_buf_view(&max));
    if (!rc && (!range->min.at || !range->max.at))
        rc = RN_TOO_LARGE;
    rn_buf_release(&min);
    rn_buf_release(&max);
    return rc;
}

/* Adds every combination of the values that WHERE leaves to the paths. */
static enum rn_code add_ranges(const struct rn_plan_keys *k, struct ranges *r,
                               const struct rn_where_equalities *equal,
                               uint32_t count)
{
    struct rn_value values[8];
    uint64_t total = 1;
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < count && total <= RANGES_MAX; i++)
        total *= equal[i].count;
    if (count == 0 || total > RANGES_MAX) {
        r->list[r->count++] = (struct range){ RN_LIT(""), RN_LIT("FF"), false };
        return RN_OK;
    }
    r->is_one_key = total == 1 && count == k->count;
    for (uint64_t n = 0; n < total && !rc; n++) {
        uint64_t left = n;
        for (uint32_t i = 0; i < count; i++) {
            values[i] = equal[i].values[left % equal[i].count];
            left /= equal[i].count;
        }
        rc = add_range(k, r, values, count);
    }
    return rc;
}

static enum rn_code find_ranges(const struct rn_query *q,
                                const struct rn_plan_keys *k, struct ranges *r)
{
    struct rn_where_equalities equal[8] = { 0 };
    uint32_t count = 0;
    bool is_empty = !rn_query_reads_documents(q);
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < k->count && i < 8 && !rc; i++) {
        rc = rn_where_equalities_find(q, &k->paths[i], &r->arena, &equal[i]);
        is_empty = is_empty || (equal[i].is_limited && equal[i].count == 0);
        if (equal[i].is_limited && count == i)
            count++;
    }
    if (rc)
        return rc;
    if (count < k->count && !k->is_hierarchical)
        count = 0;
    if (is_empty) {
        r->list[r->count++] = (struct range){ RN_LIT(""), RN_LIT(""), true };
        return RN_OK;
    }
    rc = add_ranges(k, r, equal, count);
    qsort(r->list, r->count, sizeof(r->list[0]), by_min);
    return rc;
}

static void out_ranges(struct rn_json_out *o, const struct ranges *r)
{
    rn_json_out_array_begin(o);
    for (uint32_t i = 0; i < r->count; i++) {
        if (i && rn_view_eq(r->list[i].min, r->list[i - 1].min))
            continue; /* all objects have the same hash */
        rn_json_out_object_begin(o);
        rn_json_out_key(o, RN_LIT("min"));
        rn_json_out_string(o, r->list[i].min);
        rn_json_out_key(o, RN_LIT("max"));
        rn_json_out_string(o, r->list[i].max);
        rn_json_out_key(o, RN_LIT("isMinInclusive"));
        rn_json_out_bool(o, true);
        rn_json_out_key(o, RN_LIT("isMaxInclusive"));
        rn_json_out_bool(o, r->list[i].is_point);
        rn_json_out_object_end(o);
    }
    rn_json_out_array_end(o);
}

enum rn_code rn_query_plan_print(const struct rn_query *q,
                                 const struct rn_plan_keys *keys,
                                 struct rn_faults *faults, struct rn_buf *out,
                                 struct rn_err *err)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct ranges *r = rn_new(sizeof(*r));
    struct rn_plan p;
    enum rn_code rc = r ? RN_OK : RN_NOMEM;

    *faults = (struct rn_faults){ .text = q->text };
    if (!rc) {
        r->arena = RN_ARENA_INIT((size_t)64 << 20);
        rc = find_ranges(q, keys, r);
    }
    if (!rc)
        rc = rn_plan_make(q, r->is_one_key, faults, &p);
    if (!rc)
        rc = rn_plan_check_features(&p, keys->features, faults);
    if (!rc) {
        rn_json_out_object_begin(&o);
        rn_json_out_key(&o, RN_LIT("partitionedQueryExecutionInfoVersion"));
        rn_json_out_uint(&o, 2);
        rn_json_out_key(&o, q->select->is_rank ? RN_LIT("hybridSearchQueryInfo")
                                               : RN_LIT("queryInfo"));
        if (q->select->is_rank)
            rn_hybrid_print(&p, &o);
        else
            out_info(&o, &p);
        rn_json_out_key(&o, RN_LIT("queryRanges"));
        out_ranges(&o, r);
        rn_json_out_object_end(&o);
        rc = rn_json_out_finish(&o);
    }
    if (r)
        rn_arena_release(&r->arena);
    rn_free(r);
    if (rc) {
        rn_fail(err, rc, "%s",
                faults->count ? faults->list[0].message
                              : "the plan could not be made");
    }
    return rc;
}
