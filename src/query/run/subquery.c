/* subquery.c -- evaluates EXISTS, ALL, ARRAY and scalar subqueries. */
#include "query/run/subquery.h"

#include "query/run/select.h"

struct gather {
    struct rn_run *run;
    enum rn_subquery how;
    struct rn_value *list;
    uint32_t count, room;
    struct rn_value last;
    bool is_untrue; /* a row was not true */
};

static enum rn_code take_row(void *context, const struct rn_value *row,
                             bool *stop)
{
    struct gather *g = context;

    g->last = *row;
    g->is_untrue = g->is_untrue || !rn_value_is_true(row);
    *stop = g->how == RN_SUBQUERY_EXISTS || g->how == RN_SUBQUERY_FIRST ||
            (g->how == RN_SUBQUERY_ALL && g->is_untrue) ||
            (g->how == RN_SUBQUERY_SCALAR && g->count == 1);
    if (g->how == RN_SUBQUERY_ARRAY) {
        g->list = rn_ast_grow(g->run->arena, g->list, g->count, &g->room,
                              sizeof(*g->list));
        if (!g->list)
            return RN_TOO_LARGE;
        g->list[g->count] = *row;
    }
    g->count++;
    return RN_OK;
}

enum rn_code rn_eval_subquery(struct rn_run *r, const struct rn_expr *e,
                              struct rn_value *out)
{
    struct gather g = { .run = r, .how = (enum rn_subquery)e->op };
    enum rn_code rc;

    rc = rn_select_run(r, e->query, RN_HOLD_NOTHING, take_row, &g);
    if (rc)
        return rc;
    if (g.how == RN_SUBQUERY_EXISTS)
        *out = rn_value_bool(g.count > 0);
    else if (g.how == RN_SUBQUERY_ALL)
        *out = rn_value_bool(!g.is_untrue);
    else if (g.how == RN_SUBQUERY_ARRAY)
        *out = rn_value_array(g.list, g.count);
    else if (g.count > 1 && g.how == RN_SUBQUERY_SCALAR) {
        return rn_fail(r->err, RN_BAD_REQUEST,
                       "The cardinality of a scalar subquery result set "
                       "cannot be greater than one.");
    } else {
        *out = g.last; /* undefined if there were no rows */
    }
    return RN_OK;
}
