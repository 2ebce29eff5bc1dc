/* plan.c -- decides how the rows of several ranges are merged. */
#include "query/client_plan/plan.h"

#include "query/fn/function.h"

const struct rn_expr *rn_plan_aggregate(const struct rn_expr *e)
{
    return e->kind == RN_EXPR_CALL && e->function && e->function->aggregate
               ? e
               : NULL;
}

void rn_plan_out_count(struct rn_json_out *o, const char *name, bool is_there,
                       uint64_t count)
{
    rn_json_out_key(o, rn_view_text(name));
    if (is_there)
        rn_json_out_uint(o, count);
    else
        rn_json_out_null(o);
}

static bool holds_aggregate(const struct rn_expr *e)
{
    if (e->kind == RN_EXPR_QUERY)
        return false;
    if (rn_plan_aggregate(e))
        return true;
    for (uint32_t i = 0; i < e->count; i++) {
        if (holds_aggregate(e->kids[i]))
            return true;
    }
    return false;
}

static enum rn_code check_compositions(const struct rn_select *s,
                                       struct rn_faults *faults)
{
    for (uint32_t i = 0; i < s->item_count; i++) {
        const struct rn_expr *e = s->items[i].expr;
        if (!rn_plan_aggregate(e) && holds_aggregate(e)) {
            return rn_faults_add(faults, NULL, 0, 0,
                                 "Compositions of aggregates and other "
                                 "expressions are not allowed.");
        }
    }
    return RN_OK;
}

/* True if every row has it: a constant, or the row itself. */
static bool is_each_row(const struct rn_expr *e, const struct rn_from *from)
{
    return e->kind == RN_EXPR_LITERAL ||
           (e->kind == RN_EXPR_NAME && rn_view_eq(e->name, from->bound));
}

/* SELECT COUNT(1) FROM (SELECT DISTINCT ...) is counted after merging; adding
 * up the counts of the ranges would count a value once per range. */
static bool is_dcount(const struct rn_select *s)
{
    const struct rn_expr *call;

    if (s->item_count != 1 || s->from_count != 1 || !s->from[0].query ||
        s->where || s->group_count || s->order_count || s->top || s->offset ||
        s->from[0].is_each || !s->from[0].query->is_distinct ||
        s->from[0].query->order_count || s->from[0].query->top ||
        s->from[0].query->offset || s->from[0].query->group_count)
        return false;
    call = rn_plan_aggregate(s->items[0].expr);
    return call && call->function->aggregate == RN_AGGREGATE_COUNT &&
           is_each_row(call->kids[0], &s->from[0]);
}

static bool is_vector(const struct rn_select *s)
{
    return s->order_count && s->order[0].expr->kind == RN_EXPR_CALL;
}

enum rn_code rn_plan_make(const struct rn_query *q, bool is_one_partition,
                          struct rn_faults *faults, struct rn_plan *out)
{
    const struct rn_select *s = q->select;
    struct rn_plan p = { .query = q, .select = s };
    enum rn_code rc = check_compositions(s, faults);

    if (rc)
        return rc;
    p.is_dcount = is_dcount(s);
    if (p.is_dcount) {
        p.dcount_alias =
            s->kind == RN_SELECT_VALUE ? RN_LIT("") : s->items[0].name;
        p.select = s->from[0].query;
        *out = p;
        return RN_OK;
    }
    p.is_grouped = s->group_count || s->aggregate_count;
    p.is_ordered = s->order_count && (!p.is_grouped || s->group_count);
    p.is_vector = p.is_ordered && !p.is_grouped && is_vector(s);
    p.is_whole = s->from_count == 0 || (is_one_partition && !p.is_grouped &&
                                        !p.is_ordered && !s->is_distinct);
    if (s->top && s->from_count) {
        p.has_top = true;
        p.top = (uint64_t)s->top->value.integer;
    }
    if (s->offset && !p.is_whole) {
        p.has_offset = true;
        p.offset = (uint64_t)s->offset->value.integer;
        p.limit = (uint64_t)s->limit->value.integer;
    }
    *out = p;
    return RN_OK;
}
