/* rewrite.c -- rewrites the query into the text that a client sends to each
 * range.
 *
 * The forms are the service's, since the SDKs parse the rows of these texts:
 *
 *   ORDER BY   SELECT c._rid, [{"item": key}...] AS orderByItems, x AS payload
 *   VALUE agg  SELECT VALUE [{"item": agg}]
 *   GROUP BY   SELECT [{"item": key}...] AS groupByItems, {...} AS payload
 *   both       ORDER BY's row, whose payload is GROUP BY's: clients merge by
 *              the order first and group the merged rows
 *   OFFSET     OFFSET 0 LIMIT offset + limit
 *
 * AVG is sent as sum and count.  MIN and MAX are sent twice, the second time
 * with a count that distinguishes "none" from "undefined".
 */
#include "query/client_plan/rewrite.h"

#include "query/fn/function.h"
#include "query/parse/print.h"

static void print_call(struct rn_printer *p, const char *name,
                       const struct rn_expr *call)
{
    rn_print_text(p, name);
    rn_print_text(p, "(");
    rn_print_expr(p, call->kids[0]);
    rn_print_text(p, ")");
}

static void print_both(struct rn_printer *p, const char *name,
                       const char *function, const struct rn_expr *call)
{
    rn_print_text(p, "{\"");
    rn_print_text(p, name);
    rn_print_text(p, "\": ");
    if (function)
        print_call(p, function, call);
    else
        rn_print_expr(p, call);
    rn_print_text(p, ", \"count\": ");
    print_call(p, "COUNT", call);
    rn_print_text(p, "}");
}

/* {"item": ...} */
static void print_aggregate(struct rn_printer *p, const struct rn_expr *call)
{
    enum rn_aggregate_kind kind = call->function->aggregate;

    rn_print_text(p, "{\"item\": ");
    if (kind == RN_AGGREGATE_AVG)
        print_both(p, "sum", "SUM", call);
    else
        rn_print_expr(p, call);
    if (kind == RN_AGGREGATE_MIN || kind == RN_AGGREGATE_MAX) {
        rn_print_text(p, ", \"item2\": ");
        print_both(p, kind == RN_AGGREGATE_MIN ? "min" : "max", NULL, call);
    }
    rn_print_text(p, "}");
}

/* The payload that becomes the client's row: {"a": c.a, "$1": ...}. */
void rn_plan_payload(struct rn_printer *p, const struct rn_select *s)
{
    const struct rn_expr *call;

    if (s->kind == RN_SELECT_STAR) {
        rn_print_view(p, s->from[0].bound);
        return;
    }
    if (s->kind == RN_SELECT_VALUE) {
        call = rn_plan_aggregate(s->items[0].expr);
        rn_print_text(p, call ? "[" : "");
        if (call)
            print_aggregate(p, call);
        else
            rn_print_expr(p, s->items[0].expr);
        rn_print_text(p, call ? "]" : "");
        return;
    }
    rn_print_text(p, "{");
    for (uint32_t i = 0; i < s->item_count; i++) {
        rn_print_text(p, i ? ", " : "");
        rn_print_string(p, s->items[i].name);
        rn_print_text(p, ": ");
        call = rn_plan_aggregate(s->items[i].expr);
        if (call)
            print_aggregate(p, call);
        else
            rn_print_expr(p, s->items[i].expr);
    }
    rn_print_text(p, "}");
}

static void print_key(struct rn_printer *p, const struct rn_expr *key,
                      bool is_first)
{
    rn_print_text(p, is_first ? "{\"item\": " : ", {\"item\": ");
    rn_print_expr(p, key);
    rn_print_text(p, "}");
}

static const char *const filter =
    "({documentdb-formattableorderbyquery-filter})";

void rn_plan_filter(struct rn_printer *p, const struct rn_select *s)
{
    bool is_value = s->kind == RN_SELECT_VALUE && !s->group_count;

    rn_print_text(p, "\nWHERE ");
    rn_print_text(p, is_value ? "(" : "");
    if (s->where) {
        rn_print_text(p, "(");
        rn_print_expr(p, s->where);
        rn_print_text(p, " AND ");
    }
    rn_print_text(p, filter);
    rn_print_text(p, s->where ? ")" : "");
    if (is_value) {
        rn_print_text(p, " AND IS_DEFINED(");
        rn_print_expr(p, s->items[0].expr);
        rn_print_text(p, "))");
    }
}

static void print_keys(struct rn_printer *p, struct rn_expr *const *keys,
                       uint32_t count)
{
    rn_print_text(p, "[");
    for (uint32_t i = 0; i < count; i++)
        print_key(p, keys[i], i == 0);
    rn_print_text(p, "]");
}

static void print_order_keys(struct rn_printer *p, const struct rn_select *s)
{
    rn_print_text(p, "[");
    for (uint32_t i = 0; i < s->order_count; i++)
        print_key(p, s->order[i].expr, i == 0);
    rn_print_text(p, "] AS orderByItems, ");
}

static void rewrite_order(struct rn_printer *p, const struct rn_plan *plan)
{
    const struct rn_select *s = plan->select;

    rn_print_text(p, "SELECT ");
    if (s->top && !s->is_distinct) {
        rn_print_text(p, "TOP ");
        rn_print_count(p, plan->top);
        rn_print_text(p, " ");
    }
    rn_print_view(p, s->from[0].bound);
    rn_print_text(p, "._rid, ");
    print_order_keys(p, s);
    rn_plan_payload(p, s);
    rn_print_text(p, " AS payload");
    rn_print_from(p, s);
    rn_plan_filter(p, s);
    rn_print_order(p, s);
}

static void rewrite_group(struct rn_printer *p, const struct rn_plan *plan)
{
    const struct rn_select *s = plan->select;

    rn_print_text(p, "SELECT ");
    if (s->group_count) {
        print_keys(p, s->group, s->group_count);
        rn_print_text(p, " AS groupByItems, ");
    } else if (s->kind == RN_SELECT_VALUE) {
        rn_print_text(p, "VALUE ");
    }
    rn_plan_payload(p, s);
    if (s->group_count || s->kind != RN_SELECT_VALUE)
        rn_print_text(p, " AS payload");
    rn_print_from(p, s);
    rn_print_where(p, s);
    rn_print_group(p, s);
    rn_print_order(p, s);
}

/* A group has no document of its own; the smallest rid of its documents
 * represents it, since clients expect one. */
static void rewrite_ordered_group(struct rn_printer *p,
                                  const struct rn_select *s)
{
    rn_print_text(p, "SELECT MIN(");
    rn_print_view(p, s->from[0].bound);
    rn_print_text(p, "._rid) AS _rid, ");
    print_order_keys(p, s);
    rn_print_text(p, "{\"groupByItems\": ");
    print_keys(p, s->group, s->group_count);
    rn_print_text(p, ", \"payload\": ");
    rn_plan_payload(p, s);
    rn_print_text(p, "} AS payload");
    rn_print_from(p, s);
    rn_plan_filter(p, s);
    rn_print_group(p, s);
    rn_print_order(p, s);
}

static void print_cut(struct rn_printer *p, const struct rn_plan *plan)
{
    rn_print_text(p, "\nOFFSET 0 LIMIT ");
    rn_print_count(p, plan->offset + plan->limit);
}

static void rewrite_plain(struct rn_printer *p, const struct rn_plan *plan)
{
    const struct rn_select *s = plan->select;

    rn_print_text(p, s->is_distinct ? "SELECT DISTINCT " : "SELECT ");
    rn_print_items(p, s);
    rn_print_from(p, s);
    rn_print_where(p, s);
}

enum rn_code rn_plan_rewrite(const struct rn_plan *plan, struct rn_buf *out)
{
    struct rn_printer p = RN_PRINTER_INIT(out);
    const struct rn_select *s = plan->select;

    if (plan->is_grouped && plan->is_ordered)
        rewrite_ordered_group(&p, s);
    else if (plan->is_grouped)
        rewrite_group(&p, plan);
    else if (plan->is_ordered)
        rewrite_order(&p, plan);
    else if (plan->is_dcount || plan->has_offset ||
             (s->is_distinct && plan->has_top))
        rewrite_plain(&p, plan);
    if (plan->has_offset && !plan->is_grouped && !s->is_distinct)
        print_cut(&p, plan);
    return p.rc;
}
