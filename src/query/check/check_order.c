/* check_order.c -- checks ORDER BY against the indexing policy: only paths of
 * the document that an index could serve are allowed. */
#include "query/check/check.h"

#include "query/fn/function.h"

enum rn_code rn_expr_path(const struct rn_select *s, const struct rn_expr *e,
                          struct rn_arena *a, struct rn_json_path *out)
{
    const struct rn_expr *from = s->from_count ? s->from[0].path : NULL;
    const struct rn_expr *at[2] = { e, from };
    uint32_t n = 0, room;
    struct rn_view *names;

    *out = (struct rn_json_path){ 0 };
    if (!from || s->from[0].is_each)
        return RN_OK;
    room = (uint32_t)e->depth + from->depth;
    names = rn_arena_alloc(a, room * sizeof(*names));
    if (!names)
        return RN_TOO_LARGE;
    for (int i = 0; i < 2; i++) {
        for (; at[i]->kind == RN_EXPR_MEMBER && !at[i]->computed;
             at[i] = at[i]->kids[0])
            names[room - ++n] = at[i]->name;
        if (at[i]->kind != RN_EXPR_NAME ||
            at[i]->slot != (i == 0 ? s->from[0].slot : 0))
            return RN_OK;
    }
    *out = (struct rn_json_path){ names + room - n, n };
    return RN_OK;
}

/* Vector distances are sorted most similar first. */
void rn_order_set_direction(struct rn_order *order)
{
    const struct rn_expr *e = order->expr;

    order->is_descending = order->direction == RN_ORDER_DESC;
    if (order->direction == RN_ORDER_UNSAID && e->kind == RN_EXPR_CALL &&
        e->function->is_vector)
        order->is_descending = e->op != RN_DISTANCE_EUCLID;
}

static enum rn_code check_path(struct rn_check *c, const struct rn_select *s,
                               const struct rn_order *order, bool is_plain)
{
    const struct rn_expr *e = order->expr;
    const struct rn_expr *root = rn_expr_root(e);

    if (e->kind == RN_EXPR_CALL && e->function->is_vector && !s->is_rank &&
        order->direction != RN_ORDER_UNSAID) {
        return rn_faults_add(c->faults, NULL, 0, 0,
                             "Specifying a sorting order (ASC or DESC) with "
                             "VectorDistance function is not supported.");
    }
    if (e->kind == RN_EXPR_CALL &&
        (s->is_rank || e->function->is_vector || e->function->is_score))
        return RN_OK;
    if (!root) {
        return rn_faults_add(c->faults, "2206", 0, 0,
                             "Unsupported ORDER BY clause. ORDER BY item "
                             "expression could not be mapped to a document "
                             "path.");
    }
    if (!is_plain &&
        (s->from_count == 0 || (s->from[0].query && !s->from[0].is_document) ||
         root->slot != s->from[0].slot)) {
        return rn_faults_add(c->faults, NULL, 0, 0,
                             "Order-by over correlated collections is not "
                             "supported.");
    }
    return RN_OK;
}

/* Keys that are not plain paths (computed properties, array elements) need no
 * index. */
static enum rn_code check_indexes(struct rn_check *c, const struct rn_select *s)
{
    struct rn_policy_key *keys;
    bool is_known = true;
    enum rn_code rc = RN_OK;

    keys = rn_arena_alloc(c->arena, s->order_count * sizeof(*keys));
    if (!keys)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < s->order_count && !rc; i++) {
        keys[i].is_descending = s->order[i].is_descending;
        rc = rn_expr_path(s, s->order[i].expr, c->arena, &keys[i].path);
        is_known = is_known && keys[i].path.count;
    }
    if (rc || !is_known)
        return rc;
    if (s->order_count == 1 &&
        !rn_policy_is_indexed(c->policy, &keys[0].path)) {
        return rn_faults_add(c->faults, NULL, 0, 0,
                             "The index path corresponding to the specified "
                             "order-by item is excluded.");
    }
    if (s->order_count > 1 &&
        !rn_policy_has_composite(c->policy, keys, s->order_count)) {
        return rn_faults_add(c->faults, NULL, 0, 0,
                             "The order by query does not have a "
                             "corresponding composite index that it can be "
                             "served from.");
    }
    return RN_OK;
}

enum rn_code rn_check_order(struct rn_check *c, struct rn_select *s)
{
    bool is_plain = s->from_count == 1 && !s->from[0].query &&
                    !s->from[0].is_each && rn_expr_root(s->from[0].path);
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < s->order_count && !rc; i++)
        rc = check_path(c, s, &s->order[i], is_plain);
    if (!rc && s->order_count && c->policy && !c->policy->is_any_order)
        rc = check_indexes(c, s);
    return rc;
}
