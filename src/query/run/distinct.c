/* distinct.c -- decides whether DISTINCT is applied before or after ORDER
 * BY. */
#include "query/run/distinct.h"

/* True if the row determines the value: the value is an item, or within one. */
static bool is_determined(const struct rn_select *s, const struct rn_expr *e)
{
    if (s->kind == RN_SELECT_STAR)
        return true; /* every key is a path of * */
    for (uint32_t i = 0; i < s->item_count; i++) {
        if (rn_expr_equals(e, s->items[i].expr))
            return true;
    }
    if (e->kind == RN_EXPR_MEMBER ||
        (e->kind == RN_EXPR_INDEX && e->kids[1]->kind == RN_EXPR_LITERAL))
        return is_determined(s, e->kids[0]);
    return false;
}

enum rn_distinct rn_distinct_of(const struct rn_select *s)
{
    if (!s->is_distinct)
        return RN_DISTINCT_NOT;
    for (uint32_t i = 0; i < s->order_count; i++) {
        if (!is_determined(s, s->order[i].expr))
            return RN_DISTINCT_SORTED;
    }
    return RN_DISTINCT_FIRST;
}
