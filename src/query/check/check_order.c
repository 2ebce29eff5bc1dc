/* check_order.c -- checks ORDER BY against the indexing policy: only paths of
 * the document that an index could serve are allowed. */
#include "query/check/check_order.h"

#include "query/fn/function.h"

/* Vector distances are sorted most similar first. */
void rn_order_set_direction(struct rn_order *order)
{
    const struct rn_expr *e = order->expr;

    order->is_descending = order->direction == RN_ORDER_DESC;
    if (order->direction == RN_ORDER_UNSAID && e->kind == RN_EXPR_CALL &&
        e->function->is_vector)
        order->is_descending = e->op != RN_DISTANCE_EUCLID;
}

/* ---- what a key is in the document ---------------------------------------
 *
 * The rows of a subquery in FROM are made of the document.  A key is followed
 * through the members that the subquery makes, to the path that it is.
 */

enum origin {
    FROM_DOCUMENT, /* a path of the document */
    FROM_ELEMENTS, /* a path of an element of an array, or of a group */
    FROM_NOTHING,  /* a value that the query computes */
};

/* A SELECT and those around it. */
struct around {
    const struct rn_select *select;
    const struct around *outer;
};

/* A member or an index that is applied to a value, and those after it. */
struct step {
    const struct rn_expr *expr;
    const struct step *next;
};

static enum origin origin_of(const struct around *at, const struct rn_expr *e,
                             const struct step *steps);
static enum origin origin_of_slot(const struct around *at, int32_t slot,
                                  const struct step *steps);

static enum origin origin_of_item(const struct around *at,
                                  const struct step *steps)
{
    const struct rn_select *s = at->select;

    for (uint32_t i = 0; steps && i < s->item_count; i++) {
        if (steps->expr->kind == RN_EXPR_MEMBER &&
            rn_view_eq(s->items[i].name, steps->expr->name))
            return origin_of(at, s->items[i].expr, steps->next);
    }
    return FROM_NOTHING;
}

static enum origin origin_of_row(const struct around *at,
                                 const struct step *steps)
{
    const struct rn_select *s = at->select;
    enum origin found;

    if (s->kind == RN_SELECT_STAR)
        found = origin_of_slot(at, s->from[0].slot, steps);
    else if (s->kind == RN_SELECT_VALUE)
        found = origin_of(at, s->items[0].expr, steps);
    else
        found = origin_of_item(at, steps);
    if (found == FROM_DOCUMENT && (s->is_distinct || s->group_count))
        return FROM_ELEMENTS;
    return found;
}

static enum origin origin_of_slot(const struct around *at, int32_t slot,
                                  const struct step *steps)
{
    for (; slot != 0 && at; at = at->outer) {
        for (uint32_t i = 0; i < at->select->from_count; i++) {
            const struct rn_from *f = &at->select->from[i];
            struct around inner = { f->query, at };
            enum origin found;

            if (f->slot != slot)
                continue;
            found = f->query ? origin_of_row(&inner, steps)
                             : origin_of(at, f->path, steps);
            return found == FROM_DOCUMENT && f->is_each ? FROM_ELEMENTS : found;
        }
    }
    return slot == 0 ? FROM_DOCUMENT : FROM_NOTHING;
}

static enum origin origin_of(const struct around *at, const struct rn_expr *e,
                             const struct step *steps)
{
    struct step step = { e, steps };

    if (e->kind == RN_EXPR_MEMBER || e->kind == RN_EXPR_INDEX)
        return origin_of(at, e->kids[0], &step);
    if (e->kind == RN_EXPR_NAME)
        return origin_of_slot(at, e->slot, steps);
    if (e->kind != RN_EXPR_OBJECT || !steps ||
        steps->expr->kind != RN_EXPR_MEMBER)
        return FROM_NOTHING;
    for (uint32_t i = 0; i < e->count; i++) {
        if (rn_view_eq(e->names[i], steps->expr->name))
            return origin_of(at, e->kids[i], steps->next);
    }
    return FROM_NOTHING;
}

/* ---- ORDER BY ------------------------------------------------------------ */

static enum rn_code check_key(struct rn_check *c, const struct rn_select *s,
                              const struct rn_order *order)
{
    const struct around at = { s, NULL };
    const struct rn_expr *e = order->expr;

    if (e->kind == RN_EXPR_CALL && e->function->is_vector && !s->is_rank &&
        order->direction != RN_ORDER_UNSAID) {
        return rn_faults_add(c->faults, NULL, 0, 0,
                             "Specifying a sorting order (ASC or DESC) with "
                             "VectorDistance function is not supported.");
    }
    if (e->kind == RN_EXPR_CALL &&
        (s->is_rank || e->function->is_vector || e->function->is_score))
        return RN_OK;
    if (!rn_expr_root(e) || origin_of(&at, e, NULL) == FROM_NOTHING) {
        return rn_faults_add(c->faults, "2206", 0, 0,
                             "Unsupported ORDER BY clause. ORDER BY item "
                             "expression could not be mapped to a document "
                             "path.");
    }
    return RN_OK;
}

/* A key that is not a path of the first source. */
static bool is_correlated(const struct rn_select *s, const struct rn_expr *e)
{
    const struct around at = { s, NULL };
    const struct rn_expr *root = rn_expr_root(e);

    if (!root)
        return false;
    if (s->from_count == 0 || root->slot != s->from[0].slot)
        return true;
    return s->from[0].query && origin_of(&at, e, NULL) != FROM_DOCUMENT;
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
        rc = check_key(c, s, &s->order[i]);
    for (uint32_t i = 0; i < s->order_count && !rc && !is_plain; i++) {
        if (is_correlated(s, s->order[i].expr)) {
            rc = rn_faults_add(c->faults, NULL, 0, 0,
                               "Order-by over correlated collections is not "
                               "supported.");
        }
    }
    if (!rc && s->order_count && c->policy && !c->policy->is_any_order)
        rc = check_indexes(c, s);
    return rc;
}
