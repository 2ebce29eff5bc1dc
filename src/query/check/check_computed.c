/* check_computed.c -- the expressions to which a container gives names.
 *
 * They are queries of one form, SELECT VALUE expression FROM root, over one
 * document, so that a name can stand for its expression wherever it is used.
 */
#include "query/check/check.h"
#include "query/fn/function.h"
#include "query/parse/parse.h"
#include "query/query.h"

static bool is_plain(const struct rn_expr *e)
{
    if (e->kind == RN_EXPR_QUERY || e->kind == RN_EXPR_PARAMETER)
        return false;
    if (e->kind == RN_EXPR_CALL &&
        (e->function->aggregate || e->function->is_volatile ||
         e->function->is_spatial))
        return false;
    for (uint32_t i = 0; i < e->count; i++) {
        if (!is_plain(e->kids[i]))
            return false;
    }
    return true;
}

static bool has_form(const struct rn_select *s)
{
    return s->kind == RN_SELECT_VALUE && s->from_count == 1 &&
           !s->from[0].query && !s->from[0].is_each &&
           s->from[0].path->kind == RN_EXPR_NAME && !s->where &&
           !s->group_count && !s->order_count && !s->top && !s->offset &&
           !s->is_distinct;
}

static enum rn_code read_computed(struct rn_check *c,
                                  const struct rn_policy_computed *computed,
                                  struct rn_expr **out)
{
    struct rn_faults faults = { .text = computed->query };
    struct rn_check inner = { .arena = c->arena, .faults = &faults };
    const char *why = "it is not SELECT VALUE, an expression, FROM and a name";
    struct rn_select *s;
    enum rn_code rc = rn_parse(computed->query, c->arena, &faults, &s);

    if (!rc && has_form(s)) {
        rc = rn_check_item(&inner, s);
        why = "it holds a subquery, a parameter, or a function that is an "
              "aggregate, spatial, or differs from call to call";
        if (!rc && is_plain(s->items[0].expr)) {
            *out = s->items[0].expr;
            return RN_OK;
        }
    }
    if (rc && rc != RN_BAD_REQUEST)
        return rc;
    return rn_faults_add(c->faults, NULL, 0, 0,
                         "The computed property '%.*s' is not valid: %s",
                         computed->name.len < 60 ? (int)computed->name.len : 60,
                         computed->name.at, rc ? faults.list[0].message : why);
}

enum rn_code rn_check_computed(struct rn_check *c, struct rn_view name,
                               struct rn_expr **out)
{
    const struct rn_policy_computed *found =
        rn_policy_find_computed(c->policy, name);
    size_t size = c->policy->computed_count * sizeof(struct rn_expr *);
    struct rn_expr **known;
    enum rn_code rc = RN_OK;

    *out = NULL;
    if (!found)
        return RN_OK;
    if (!c->computed) {
        c->computed = rn_arena_alloc(c->arena, size);
        if (!c->computed)
            return RN_TOO_LARGE;
        memset(c->computed, 0, size);
    }
    known = &c->computed[found - c->policy->computed];
    if (!*known)
        rc = read_computed(c, found, known);
    *out = *known;
    return rc;
}

static bool is_reserved(struct rn_view name)
{
    static const char *const names[] = { "id",    "_rid",         "_self",
                                         "_etag", "_attachments", "_ts" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (rn_view_eq(name, rn_view_text(names[i])))
            return true;
    }
    return false;
}

enum rn_code rn_query_check_policy(const struct rn_policy *p,
                                   struct rn_arena *a, struct rn_err *err)
{
    struct rn_faults faults = { 0 };
    struct rn_check c = { .arena = a, .faults = &faults, .policy = p };
    struct rn_expr *e;

    for (uint32_t i = 0; i < p->computed_count; i++) {
        struct rn_view name = p->computed[i].name;
        enum rn_code rc;
        if (is_reserved(name)) {
            return rn_fail(err, RN_BAD_REQUEST,
                           "The name '%.*s' of a computed property is "
                           "reserved",
                           RN_FMT(name));
        }
        if (rn_policy_find_computed(p, name) != &p->computed[i]) {
            return rn_fail(err, RN_BAD_REQUEST,
                           "The computed property '%.*s' is defined more than "
                           "once",
                           RN_FMT(name));
        }
        rc = rn_check_computed(&c, name, &e);
        if (rc == RN_BAD_REQUEST)
            return rn_fail(err, rc, "%s", faults.list[0].message);
        if (rc)
            return rc;
    }
    return RN_OK;
}
