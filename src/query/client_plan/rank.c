/* rank.c -- validates ORDER BY RANK; see rank.h. */
#include "query/client_plan/rank.h"

#include "query/fn/function.h"

static bool is_part(const struct rn_expr *e)
{
    return e->kind == RN_EXPR_CALL && !e->is_bracket && e->function &&
           (e->function->rank == RN_RANK_SCORE || e->function->is_vector);
}

static bool is_fusion(const struct rn_expr *e)
{
    return e->kind == RN_EXPR_CALL && e->function &&
           e->function->rank == RN_RANK_FUSION;
}

void rn_rank_of(const struct rn_select *s, struct rn_rank *out)
{
    struct rn_expr *e = s->order[0].expr;
    struct rn_expr **kids = is_fusion(e) ? e->kids : &e;
    uint32_t count = is_fusion(e) ? e->count : 1;

    *out = (struct rn_rank){ .count = 0 };
    if (count > 1 && !is_part(kids[count - 1]))
        out->weights = kids[--count];
    for (uint32_t i = 0; i < count && i < RN_RANK_PARTS_MAX; i++)
        out->parts[out->count++] = kids[i];
}

/* True if the array has as many numbers as there are parts. */
static bool are_weights(const struct rn_expr *e, uint32_t count,
                        struct rn_arena *a)
{
    struct rn_value_walk w;

    if (e->kind == RN_EXPR_ARRAY) {
        for (uint32_t i = 0; i < e->count; i++) {
            if (e->kids[i]->kind != RN_EXPR_LITERAL ||
                e->kids[i]->value.kind != RN_VALUE_NUMBER)
                return false;
        }
        return e->count == count;
    }
    if (e->kind != RN_EXPR_PARAMETER || e->value.kind != RN_VALUE_ARRAY ||
        e->value.count != count)
        return false;
    w = rn_value_walk_begin(&e->value, a);
    while (rn_value_walk_next(&w)) {
        if (w.value.kind != RN_VALUE_NUMBER)
            return false;
    }
    return w.rc == RN_OK;
}

static enum rn_code refuse(struct rn_check *c, const char *why)
{
    return rn_faults_add(c->faults, NULL, 0, 0, "%s", why);
}

/* Refuses the whole clause. */
static enum rn_code refuse_clause(struct rn_check *c, const struct rn_select *s,
                                  const char *code, const char *why)
{
    return rn_faults_add(c->faults, code, s->order_at.start, s->order_at.end,
                         "%s", why);
}

void rn_check_rank_sources(struct rn_check *c, const struct rn_select *s)
{
    if (s->from_count > 1) {
        (void)!rn_faults_add(c->faults, "SC2224", s->from_at.start,
                             s->from_at.end,
                             "The JOIN operator is not allowed with the ORDER "
                             "BY RANK clause.");
    }
    for (uint32_t i = 0; i < s->from_count; i++) {
        const struct rn_from *f = &s->from[i];

        if (f->is_each) {
            (void)!rn_faults_add(c->faults, "SC2223", f->at.start, f->at.end,
                                 "The FROM clause with the IN operator is not "
                                 "allowed with the ORDER BY RANK clause.");
        } else if (f->query) {
            (void)!rn_faults_add(c->faults, "SC2225", f->at.start, f->at.end,
                                 "Subqueries in the FROM clause are not "
                                 "allowed with the ORDER BY RANK clause.");
        }
    }
}

static enum rn_code check_parts(struct rn_check *c, const struct rn_select *s)
{
    bool is_fused = is_fusion(s->order[0].expr), is_known;
    struct rn_rank rank;

    rn_rank_of(s, &rank);
    is_known = !is_fused || rank.count > 1;
    for (uint32_t i = 0; i < rank.count; i++)
        is_known = is_known && is_part(rank.parts[i]);
    if (!is_known) {
        return refuse_clause(c, s, "SC2221",
                             "The ORDER BY RANK clause must be followed by a "
                             "VectorDistance and/or a FullTextScore function "
                             "call.");
    }
    if (rank.weights && !are_weights(rank.weights, rank.count, c->arena)) {
        return refuse_clause(
            c, s, "SC2229",
            "The last parameter of the RRF function is an optional array of "
            "weights. When present, it must be a literal array of numbers, one "
            "for each of the component scores used for the RRF function. The "
            "length of this array must be the same as the number of the "
            "component scores.");
    }
    return RN_OK;
}

enum rn_code rn_check_rank(struct rn_check *c, const struct rn_select *s)
{
    if (s->order[0].direction != RN_ORDER_UNSAID)
        return refuse(c, "Specifying a sort order (ASC or DESC) in the ORDER "
                         "BY RANK clause is not allowed.");
    if (s->order_count > 1)
        return refuse(c, "ORDER BY RANK takes one score.");
    if (s->group_count || s->aggregate_count || s->is_distinct ||
        s->from_count == 0)
        return refuse(c, "ORDER BY RANK is allowed only in a query of its own "
                         "without DISTINCT, GROUP BY and aggregates.");
    if (is_fusion(s->order[0].expr) &&
        s->order[0].expr->count > RN_RANK_PARTS_MAX)
        return refuse(c, "RRF has too many arguments.");
    return check_parts(c, s);
}
