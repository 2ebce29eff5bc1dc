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

enum rn_code rn_check_rank(struct rn_check *c, const struct rn_select *s,
                           bool is_inner)
{
    struct rn_rank rank;

    if (s->order[0].direction != RN_ORDER_UNSAID)
        return refuse(c, "Specifying a sort order (ASC or DESC) in the ORDER "
                         "BY RANK clause is not allowed.");
    if (s->order_count > 1)
        return refuse(c, "ORDER BY RANK takes one score.");
    if (is_inner || s->group_count || s->aggregate_count || s->is_distinct ||
        s->from_count == 0 || s->from[0].query)
        return refuse(c, "ORDER BY RANK is allowed only in a query of its own "
                         "without DISTINCT, GROUP BY and aggregates.");
    if (s->from_count > 1)
        return rn_faults_add(c->faults,
                             is_fusion(s->order[0].expr) ? "SC2224" : "SC2223",
                             s->order[0].expr->start, s->order[0].expr->end,
                             "'JOIN' is not supported with ORDER BY RANK.");
    rn_rank_of(s, &rank);
    if (is_fusion(s->order[0].expr) &&
        s->order[0].expr->count > RN_RANK_PARTS_MAX)
        return refuse(c, "RRF has too many arguments.");
    for (uint32_t i = 0; i < rank.count; i++) {
        if (!is_part(rank.parts[i]))
            return refuse(c, "ORDER BY RANK takes FullTextScore, "
                             "VectorDistance, or RRF of these.");
    }
    if (rank.weights && !are_weights(rank.weights, rank.count, c->arena))
        return refuse(c, "The weights of RRF are an array with a number for "
                         "each score.");
    return RN_OK;
}
