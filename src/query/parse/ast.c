/* ast.c -- questions about expressions of a syntax tree, and the growth of its
 * lists. */
#include "query/parse/ast.h"

#include "query/fn/function.h"

void *rn_ast_grow(struct rn_arena *a, void *list, uint32_t count,
                  uint32_t *room, size_t size)
{
    void *larger;

    if (count < *room)
        return list;
    larger = rn_arena_alloc(a, (*room * 2 + 4) * size);
    if (!larger)
        return NULL;
    *room = *room * 2 + 4;
    if (count)
        memcpy(larger, list, count * size);
    return larger;
}

const struct rn_expr *rn_expr_root(const struct rn_expr *e)
{
    while (e->kind == RN_EXPR_MEMBER || e->kind == RN_EXPR_INDEX)
        e = e->kids[0];
    return e->kind == RN_EXPR_NAME ? e : NULL;
}

bool rn_expr_equals(const struct rn_expr *a, const struct rn_expr *b)
{
    if (a->kind != b->kind || a->op != b->op || a->count != b->count ||
        a->is_negated != b->is_negated)
        return false;
    /* Function names are case-insensitive. */
    if (a->kind == RN_EXPR_CALL ? a->function != b->function
                                : !rn_view_eq(a->name, b->name))
        return false;
    if (a->kind == RN_EXPR_NAME)
        return a->slot == b->slot;
    if (a->kind == RN_EXPR_QUERY)
        return false;
    if (a->kind == RN_EXPR_LITERAL) {
        struct rn_arena none = RN_ARENA_INIT(1); /* literals are scalars */
        bool same = false;
        return rn_value_equals(&a->value, &b->value, &none, &same) == RN_OK &&
               same;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        if (a->kind == RN_EXPR_OBJECT && !rn_view_eq(a->names[i], b->names[i]))
            return false;
        if (!rn_expr_equals(a->kids[i], b->kids[i]))
            return false;
    }
    return true;
}

bool rn_expr_is_constant(const struct rn_expr *e)
{
    if (e->kind == RN_EXPR_NAME || e->kind == RN_EXPR_QUERY)
        return false;
    if (e->kind == RN_EXPR_CALL &&
        (e->function->is_volatile || e->function->aggregate))
        return false;
    for (uint32_t i = 0; i < e->count; i++) {
        if (!rn_expr_is_constant(e->kids[i]))
            return false;
    }
    return true;
}

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

bool rn_expr_is_path(const struct rn_from *from, const struct rn_expr *e,
                     const struct rn_json_path *path)
{
    uint32_t left = path->count;
    const struct rn_expr *in = e;
    bool in_from = false;

    for (;;) {
        if (in->kind == RN_EXPR_NAME && !in_from) {
            if (in->slot != from->slot)
                return false;
            in = from->path; /* FROM c.a: continue from that path */
            in_from = true;
        } else if (in->kind == RN_EXPR_NAME) {
            return left == 0 && in->slot == 0;
        } else if (in->kind != RN_EXPR_MEMBER || in->computed || left == 0 ||
                   !rn_view_eq(in->name, path->names[--left])) {
            return false;
        } else {
            in = in->kids[0];
        }
    }
}
