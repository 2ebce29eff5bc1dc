/* check_groups.c -- checks that a grouped SELECT uses only keys and aggregates.
 *
 * After grouping, the values of a single row are gone.  So each part of the
 * select list is a group key (whose stored value it then reads), an aggregate,
 * or an expression over such parts and constants.
 */
#include "query/check/check_groups.h"

#include "query/fn/function.h"
#include "query/parse/print.h"

static enum rn_code look_select(struct rn_check *c, struct rn_select *s,
                                const struct rn_select *inner);

static bool is_own(const struct rn_select *s, int32_t slot)
{
    for (uint32_t i = 0; i < s->from_count; i++) {
        if (s->from[i].slot == slot)
            return true;
    }
    return false;
}

static enum rn_code refuse(struct rn_check *c, const struct rn_expr *e,
                           const char *where)
{
    struct rn_buf text = RN_BUF_INIT(4096);
    struct rn_printer p = RN_PRINTER_INIT(&text);
    enum rn_code rc;

    rn_print_expr(&p, e);
    rc = rn_faults_add(c->faults, "SC2102", e->start, e->end,
                       "Property reference '%.*s' is invalid in the %s "
                       "because it is not contained in either an "
                       "aggregate function or the GROUP BY clause.",
                       text.len < 60 ? (int)text.len : 60,
                       text.at ? text.at : "", where);
    rn_buf_release(&text);
    return rc;
}

/* Continues after a fault, so that every invalid expression is reported. */
static enum rn_code look(struct rn_check *c, struct rn_select *s,
                         struct rn_expr *e)
{
    enum rn_code rc = RN_OK;

    if (e->kind == RN_EXPR_CALL && e->function && e->function->aggregate)
        return RN_OK;
    for (uint32_t i = 0; i < s->group_count; i++) {
        if (rn_expr_equals(e, s->group[i])) {
            e->slot = s->group_slot + (int32_t)i;
            return RN_OK;
        }
    }
    if (rn_expr_root(e) && is_own(s, rn_expr_root(e)->slot)) {
        /* A path that starts with a group key reads within the key's value. */
        if (e->kind != RN_EXPR_NAME && look(NULL, s, e->kids[0]) == RN_OK)
            return RN_OK;
        return c ? refuse(c, e, "select list") : RN_BAD_REQUEST;
    }
    if (e->kind == RN_EXPR_QUERY)
        return c ? look_select(c, s, e->query) : RN_BAD_REQUEST;
    for (uint32_t i = 0; i < e->count; i++) {
        enum rn_code kid = look(c, s, e->kids[i]);
        rc = rc ? rc : kid;
    }
    return rc;
}

static enum rn_code look_select(struct rn_check *c, struct rn_select *s,
                                const struct rn_select *inner)
{
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < inner->from_count && !rc; i++)
        rc = inner->from[i].query ? look_select(c, s, inner->from[i].query)
                                  : look(c, s, inner->from[i].path);
    for (uint32_t i = 0; i < inner->item_count && !rc; i++)
        rc = look(c, s, inner->items[i].expr);
    if (!rc && inner->where)
        rc = look(c, s, inner->where);
    return rc;
}

enum rn_code rn_check_groups(struct rn_check *c, struct rn_select *s)
{
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < s->item_count; i++) {
        enum rn_code item = look(c, s, s->items[i].expr);
        rc = rc ? rc : item;
    }
    return rc;
}

enum rn_code rn_check_group_order(struct rn_check *c, struct rn_select *s)
{
    for (uint32_t i = 0; i < s->order_count; i++) {
        if (look(NULL, s, s->order[i].expr))
            return refuse(c, s->order[i].expr, "ORDER BY clause");
    }
    return RN_OK;
}
