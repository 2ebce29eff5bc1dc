/* check.c -- semantic analysis: binds names, parameters and calls. */
#include "query/check/check.h"

#include "query/check/check_computed.h"
#include "query/check/check_groups.h"
#include "query/check/check_order.h"
#include "query/check/check_vector.h"
#include "query/check/parameters.h"
#include "query/client_plan/rank.h"
#include "query/fn/function.h"
#include "query/run/hash_set.h"

#include <stdio.h>

struct scope {
    const struct scope *outer;
    const struct rn_select *select;
    uint32_t count;     /* sources bound so far */
    bool has_container; /* an unbound name refers to the container */
};

/* The position of an expression decides which calls it may make. */
enum where { IN_ROW, IN_ITEMS, IN_AGGREGATE, IN_RANK };

struct place {
    const struct scope *scope;
    struct rn_select *select;
    enum where where;
};

static enum rn_code check_select(struct rn_check *c, struct rn_select *s,
                                 const struct scope *outer, bool is_value);
static enum rn_code check_expr(struct rn_check *c, struct rn_expr *e,
                               const struct place *at);

static enum rn_code new_slot(struct rn_check *c, int32_t *out)
{
    if (c->slots == RN_QUERY_SLOTS_MAX)
        return rn_faults_add(c->faults, NULL, 0, 0,
                             "The query has too many sources or aggregates.");
    *out = (int32_t)c->slots++;
    return RN_OK;
}

/* ---- names --------------------------------------------------------------- */

static bool find_name(const struct scope *scope, struct rn_expr *e)
{
    for (; scope; scope = scope->outer) {
        for (uint32_t i = scope->count; i-- > 0;) {
            const struct rn_from *from = &scope->select->from[i];
            if (rn_view_eq(from->bound, e->name)) {
                e->slot = from->slot;
                e->is_document = from->is_document;
                return true;
            }
        }
    }
    return false;
}

static enum rn_code check_name(struct rn_check *c, struct rn_expr *e,
                               const struct place *at)
{
    if (find_name(at->scope, e))
        return RN_OK;
    return rn_faults_add(c->faults, "SC2001", e->start, e->end,
                         "Identifier '%.*s' could not be resolved.",
                         RN_FMT(e->name));
}

/* c.name may refer to a computed property of the container. */
static enum rn_code check_member(struct rn_check *c, struct rn_expr *e)
{
    struct rn_expr *computed = NULL;
    enum rn_code rc = RN_OK;

    if (e->kind != RN_EXPR_MEMBER)
        return RN_OK;
    if (c->policy && e->kids[0]->is_document)
        rc = rn_check_computed(c, e->name, &computed);
    e->computed = computed;
    return rc;
}

/* ---- calls --------------------------------------------------------------- */

static bool takes(const struct rn_function *f, uint32_t count)
{
    return count >= f->min && (f->max == RN_ARITY_ANY || count <= f->max) &&
           (!f->is_all_or_none || !count || count == f->max);
}

static enum rn_code wrong_arity(struct rn_check *c, const struct rn_expr *e)
{
    const struct rn_function *f = e->function;
    char wanted[32];

    if (f->max == RN_ARITY_ANY)
        snprintf(wanted, sizeof(wanted), "at least %d", f->min);
    else if (f->min == f->max)
        snprintf(wanted, sizeof(wanted), "%d", f->min);
    else if (f->is_all_or_none)
        snprintf(wanted, sizeof(wanted), "0 or %d", f->max);
    else
        snprintf(wanted, sizeof(wanted), "%d to %d", f->min, f->max);
    return rn_faults_add(c->faults, "SC2050", e->start, e->end,
                         "The %s function requires %s argument(s).", f->name,
                         wanted);
}

static enum rn_code check_aggregate(struct rn_check *c, struct rn_expr *e,
                                    const struct place *at)
{
    struct rn_select *s = at->select;

    if (at->where == IN_AGGREGATE) {
        return rn_faults_add(c->faults, "SC2101", e->start, e->end,
                             "Cannot perform an aggregate function on an "
                             "expression containing an aggregate or a "
                             "subquery.");
    }
    if (at->where != IN_ITEMS) {
        return rn_faults_add(c->faults, NULL, 0, 0,
                             "Aggregate functions are allowed only in the "
                             "select list.");
    }
    s->aggregates = rn_ast_grow(c->arena, s->aggregates, s->aggregate_count,
                                &s->aggregate_room, sizeof(struct rn_expr *));
    if (!s->aggregates)
        return RN_TOO_LARGE;
    s->aggregates[s->aggregate_count++] = e;
    return new_slot(c, &e->slot);
}

/* True for an aggregate; in the query itself also for any subquery. */
static bool cannot_aggregate(const struct rn_expr *e, bool is_inner)
{
    const struct rn_function *f;

    if (e->kind == RN_EXPR_QUERY)
        return !is_inner;
    if (e->kind == RN_EXPR_CALL) {
        f = rn_function_find(e->name);
        if (f && f->aggregate && !e->is_bracket)
            return true;
    }
    for (uint32_t i = 0; i < e->count; i++) {
        if (cannot_aggregate(e->kids[i], is_inner))
            return true;
    }
    return false;
}

static enum rn_code unknown_function(struct rn_check *c,
                                     const struct rn_expr *e)
{
    return rn_faults_add(c->faults, "SC2005", e->start, e->start + e->name.len,
                         "'%.*s' is not a recognized built-in function name.",
                         RN_FMT(e->name));
}

/* A score outside of ORDER BY RANK.  RRF is not known there at all, and its
 * arguments are refused before it. */
static enum rn_code refuse_score(struct rn_check *c, struct rn_expr *e,
                                 const struct place *at)
{
    if (e->function->rank != RN_RANK_FUSION) {
        return rn_faults_add(
            c->faults, "SC2240", e->start, e->end,
            "The %s function is only allowed in the ORDER BY RANK clause.",
            e->function->name);
    }
    for (uint32_t i = 0; i < e->count; i++)
        (void)!check_expr(c, e->kids[i], at);
    return unknown_function(c, e);
}

static enum rn_code check_call(struct rn_check *c, struct rn_expr *e,
                               const struct place *at)
{
    struct place inner = *at;
    enum rn_code rc = RN_OK;

    if (e->is_bracket) {
        return rn_faults_add(c->faults, "SC2005", e->start, e->end,
                             "'%.*s' is not a recognized user defined "
                             "function name. Server-side scripts (stored "
                             "procedures, triggers, user defined functions) "
                             "are not supported.",
                             RN_FMT(e->name));
    }
    e->function = rn_function_find(e->name);
    if (!e->function)
        return unknown_function(c, e);
    if (e->function->rank && at->where != IN_RANK)
        return refuse_score(c, e, at);
    if (!takes(e->function, e->count))
        return wrong_arity(c, e);
    if (e->function->aggregate) {
        /* Report the fault at the outer call. */
        if (at->where != IN_AGGREGATE &&
            cannot_aggregate(e->kids[0], at->scope->outer))
            return check_aggregate(
                c, e, &(struct place){ at->scope, at->select, IN_AGGREGATE });
        rc = check_aggregate(c, e, at);
        inner.where = IN_AGGREGATE;
    }
    for (uint32_t i = 0; i < e->count && !rc; i++)
        rc = check_expr(c, e->kids[i], &inner);
    if (!rc && e->function->is_vector)
        rc = rn_check_vector(c, e, at->select);
    return rc;
}

/* A row with a duplicate name would not be valid JSON.  The fault points at the
 * second one. */
static enum rn_code name_once(struct rn_check *c, struct rn_hash_set *names,
                              struct rn_view name, const struct rn_expr *e)
{
    struct rn_view text = c->faults->text;
    size_t start = e->start, end = e->end;
    uint32_t place;
    bool is_new;
    enum rn_code rc = rn_hash_set_add(names, name, &place, &is_new);

    if (rc || is_new)
        return rc;
    if ((uintptr_t)name.at >= (uintptr_t)text.at &&
        (uintptr_t)name.at < (uintptr_t)text.at + text.len) {
        start = (size_t)(name.at - text.at);
        end = start + name.len;
    }
    return rn_faults_add(c->faults, "SC2022", start, end,
                         "Object creation error, property name '%.*s' "
                         "specified more than once.",
                         name.len < 60 ? (int)name.len : 60, name.at);
}

static enum rn_code check_names(struct rn_check *c, const struct rn_expr *e)
{
    struct rn_hash_set names = { .arena = c->arena };
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < e->count && e->count > 1 && !rc; i++)
        rc = name_once(c, &names, e->names[i], e->kids[i]);
    return rc;
}

static enum rn_code check_expr(struct rn_check *c, struct rn_expr *e,
                               const struct place *at)
{
    enum rn_code rc = e->kind == RN_EXPR_OBJECT ? check_names(c, e) : RN_OK;

    if (e->kind == RN_EXPR_NAME)
        return check_name(c, e, at);
    if (e->kind == RN_EXPR_PARAMETER)
        return rn_parameters_bind(c, e);
    if (e->kind == RN_EXPR_CALL)
        return check_call(c, e, at);
    if (e->kind == RN_EXPR_QUERY)
        return check_select(c, e->query, at->scope, true);
    for (uint32_t i = 0; i < e->count && !rc; i++)
        rc = check_expr(c, e->kids[i], at);
    if (!rc && e->kind == RN_EXPR_INDEX && !rn_expr_is_constant(e->kids[1])) {
        return rn_faults_add(c->faults, "SC2990", e->start, e->end,
                             "The specified query includes 'member indexer' "
                             "which is currently not supported.");
    }
    return rc ? rc : check_member(c, e);
}

/* ---- clauses ------------------------------------------------------------- */

/* The first name of the first source is the container, whatever it is called,
 * unless another source binds it. */
static enum rn_code bind_path(struct rn_check *c, struct rn_from *f,
                              bool is_first, const struct place *at)
{
    struct rn_expr *root = f->path, *first = NULL;
    enum rn_code rc = RN_OK;

    while (root->kind == RN_EXPR_MEMBER || root->kind == RN_EXPR_INDEX) {
        first = root;
        root = root->kids[0];
    }
    if (!find_name(at->scope, root) && is_first && at->scope->has_container) {
        root->slot = 0;
        root->is_document = true;
    }
    if (root->slot == RN_SLOT_NONE)
        rc = check_name(c, root, at);
    f->is_document = !f->is_each && !first && root->is_document;
    return rc || !first ? rc : check_member(c, first);
}

static struct rn_view bound_name(const struct rn_from *f)
{
    if (f->alias.len)
        return f->alias;
    if (f->query || f->path->kind == RN_EXPR_INDEX)
        return (struct rn_view){ 0 };
    return f->path->name;
}

static enum rn_code bind_once(struct rn_check *c, const struct rn_select *s,
                              uint32_t place)
{
    struct rn_view name = s->from[place].bound;

    for (uint32_t i = 0; i < place && name.len; i++) {
        if (rn_view_eq(s->from[i].bound, name)) {
            return rn_faults_add(c->faults, "SC2003", 0, 0,
                                 "The input alias '%.*s' is specified more "
                                 "than once in the FROM clause.",
                                 RN_FMT(name));
        }
    }
    return RN_OK;
}

/* True if each row is a document, and each document makes at most one row. */
static bool gives_documents(const struct rn_select *s)
{
    if (s->from_count != 1 || !s->from[0].is_document || s->is_distinct ||
        s->group_count || s->aggregate_count)
        return false;
    return s->kind == RN_SELECT_STAR ||
           (s->kind == RN_SELECT_VALUE && s->items[0].expr->is_document &&
            s->items[0].expr->kind == RN_EXPR_NAME);
}

static enum rn_code check_from(struct rn_check *c, struct rn_select *s,
                               struct scope *scope)
{
    struct place at = { scope, s, IN_ROW };
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < s->from_count && !rc; i++) {
        struct rn_from *f = &s->from[i];
        rc = f->query ? check_select(c, f->query, scope, false)
                      : bind_path(c, f, i == 0, &at);
        if (f->query)
            f->is_document = !f->is_each && gives_documents(f->query);
        if (!rc)
            rc = new_slot(c, &f->slot);
        f->bound = bound_name(f);
        if (!rc)
            rc = bind_once(c, s, i);
        scope->count = i + 1;
    }
    return rc;
}

static enum rn_code check_count(struct rn_check *c, struct rn_expr *e,
                                const char *code, const char *message)
{
    enum rn_code rc = RN_OK;

    if (!e)
        return RN_OK;
    if (e->kind == RN_EXPR_PARAMETER)
        rc = rn_parameters_bind(c, e);
    if (!rc && (e->value.kind != RN_VALUE_NUMBER || !e->value.is_integer ||
                e->value.integer < 0 || e->value.integer > UINT32_MAX))
        rc = rn_faults_add(c->faults, code, e->start, e->end, "%s", message);
    return rc;
}

static enum rn_code check_counts(struct rn_check *c, struct rn_select *s)
{
    enum rn_code rc;

    rc = check_count(c, s->top, "SC2060",
                     "The count value provided for a TOP clause must be an "
                     "integer.");
    if (!rc) {
        rc = check_count(c, s->offset, "SC2062",
                         "The OFFSET count value exceeds the maximum allowed "
                         "value.");
    }
    if (!rc) {
        rc = check_count(c, s->limit, "SC2061",
                         "The LIMIT count value exceeds the maximum allowed "
                         "value.");
    }
    return rc;
}

/* The alias, else the last name of a path, else $1, $2, ... for other
 * expressions. */
static enum rn_code name_item(struct rn_check *c, struct rn_item *item,
                              uint32_t *unnamed)
{
    const struct rn_expr *e = item->expr;
    char text[16];
    int len;

    if (item->alias.len) {
        item->name = item->alias;
    } else if (e->kind == RN_EXPR_NAME || e->kind == RN_EXPR_MEMBER) {
        item->name = e->name;
    } else {
        len = snprintf(text, sizeof(text), "$%u", ++*unnamed);
        item->name = rn_arena_copy(c->arena, rn_view_of(text, (size_t)len));
        if (!item->name.at)
            return RN_TOO_LARGE;
    }
    return RN_OK;
}

static enum rn_code check_items(struct rn_check *c, struct rn_select *s,
                                const struct scope *scope)
{
    struct place at = { scope, s, IN_ITEMS };
    struct rn_hash_set names = { .arena = c->arena };
    uint32_t unnamed = 0;
    enum rn_code rc = RN_OK;

    if (s->kind == RN_SELECT_STAR && s->group_count)
        return rn_faults_add(c->faults, "SC2041", s->star, s->star + 1,
                             "'SELECT *' is not allowed with GROUP BY.");
    if (s->kind == RN_SELECT_STAR && s->from_count != 1) {
        return rn_faults_add(c->faults, "SC2040", s->star, s->star + 1,
                             "'SELECT *' is only valid with a single input "
                             "set.");
    }
    for (uint32_t i = 0; i < s->item_count && !rc; i++) {
        rc = check_expr(c, s->items[i].expr, &at);
        if (!rc)
            rc = name_item(c, &s->items[i], &unnamed);
        if (!rc)
            rc = name_once(c, &names, s->items[i].name, s->items[i].expr);
    }
    return rc;
}

static enum rn_code check_order(struct rn_check *c, struct rn_select *s,
                                const struct scope *scope)
{
    struct place at = { scope, s, s->is_rank ? IN_RANK : IN_ROW };
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < s->order_count && !rc; i++) {
        rc = check_expr(c, s->order[i].expr, &at);
        if (!rc)
            rn_order_set_direction(&s->order[i]);
    }
    if (!rc && s->is_rank && !scope->outer)
        rc = rn_check_rank(c, s);
    return rc;
}

/* The service allows ORDER BY, TOP, OFFSET and LIMIT only in the query itself:
 * in a subquery, each range would apply them to its own rows only.  It reports
 * all of them, those of inner subqueries first, so the check goes on. */
static void check_subquery(struct rn_check *c, const struct rn_select *s)
{
    if (s->is_rank) {
        (void)!rn_faults_add(c->faults, "SC2228", s->order_at.start,
                             s->order_at.end,
                             "The ORDER BY RANK clause is not supported in "
                             "subqueries.");
    } else if (s->order_count) {
        (void)!rn_faults_add(c->faults, "SC2202", s->order_at.start,
                             s->order_at.end,
                             "'ORDER BY' is not supported in subqueries.");
    }
    if (s->top) {
        (void)!rn_faults_add(c->faults, "SC2203", s->top_at.start,
                             s->top_at.end,
                             "'TOP' is not supported in subqueries.");
    }
    if (s->offset) {
        (void)!rn_faults_add(c->faults, "SC2204", s->offset_at.start,
                             s->offset_at.end,
                             "'OFFSET LIMIT' clause is not supported in "
                             "subqueries.");
    }
}

/* A scalar subquery reads the documents that the query reads; without a FROM
 * around it there are no documents. */
static bool has_source(const struct scope *scope)
{
    for (; scope; scope = scope->outer) {
        if (scope->count)
            return true;
    }
    return false;
}

static enum rn_code check_select(struct rn_check *c, struct rn_select *s,
                                 const struct scope *outer, bool is_value)
{
    struct scope scope = { outer, s, 0,
                           is_value ? has_source(outer)
                                    : !outer || outer->has_container };
    struct place at = { &scope, s, IN_ROW };
    enum rn_code rc;

    if (s->is_rank && !outer)
        rn_check_rank_sources(c, s);
    rc = check_from(c, s, &scope);
    if (!rc)
        rc = check_counts(c, s);
    if (!rc && s->where)
        rc = check_expr(c, s->where, &at);
    for (uint32_t i = 0; i < s->group_count && !rc; i++)
        rc = check_expr(c, s->group[i], &at);
    if (!rc)
        rc = check_items(c, s, &scope);
    if (!rc)
        rc = check_order(c, s, &scope);
    s->group_slot = (int32_t)c->slots;
    for (uint32_t i = 0; i < s->group_count && !rc; i++)
        rc = new_slot(c, &at.select->group_slot);
    s->group_slot -= s->group_count ? (int32_t)s->group_count - 1 : 0;
    if (!rc && (s->group_count || s->aggregate_count))
        rc = rn_check_groups(c, s);
    if (!rc && outer)
        check_subquery(c, s);
    return rc;
}

enum rn_code rn_check_item(struct rn_check *c, struct rn_select *s)
{
    struct scope scope = { NULL, s, 1, true };
    struct place at = { &scope, s, IN_ROW };

    s->from[0].slot = 0;
    s->from[0].bound = bound_name(&s->from[0]);
    return check_expr(c, s->items[0].expr, &at);
}

enum rn_code rn_check_query(struct rn_check *c, struct rn_select *s)
{
    enum rn_code rc;

    c->slots = 1; /* slot 0 is the document */
    rc = rn_parameters_read(c);
    if (!rc)
        rc = check_select(c, s, NULL, false);
    if (!rc && c->faults->count)
        rc = RN_BAD_REQUEST;
    if (!rc && (!s->aggregate_count || s->group_count))
        rc = rn_check_order(c, s);
    if (!rc && s->group_count)
        rc = rn_check_group_order(c, s);
    return rc;
}
