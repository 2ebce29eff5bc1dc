/* needed_paths.c -- projection pushdown: the members of a document that a query
 * reads. */
#include "query/where/needed_paths.h"

/* Each member of each document is compared with each wanted name; beyond this
 * number, parsing all members is cheaper. */
enum { NAMES_MAX = 64 };

struct search {
    struct rn_arena *arena;
    struct rn_view *names;
    uint32_t count, room;
    bool is_all;
    enum rn_code rc;
};

/* A name with a quote or a backslash has several spellings in JSON. */
static void add(struct search *s, struct rn_view name)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (rn_view_eq(s->names[i], name))
            return;
    }
    for (size_t i = 0; i < name.len; i++) {
        if ((unsigned char)name.at[i] < ' ' || name.at[i] == '"' ||
            name.at[i] == '\\')
            s->is_all = true;
    }
    if (s->count == NAMES_MAX) {
        s->is_all = true;
        return;
    }
    s->names =
        rn_ast_grow(s->arena, s->names, s->count, &s->room, sizeof(*s->names));
    if (s->names)
        s->names[s->count++] = name;
    else
        s->rc = RN_TOO_LARGE;
}

static bool is_document(const struct rn_expr *e)
{
    return e->kind == RN_EXPR_NAME && (e->is_document || e->slot == 0);
}

static void look_select(struct search *s, const struct rn_select *in);

static void look(struct search *s, const struct rn_expr *e)
{
    if (s->rc || s->is_all)
        return;
    if (is_document(e)) {
        s->is_all = true;
    } else if (e->kind == RN_EXPR_QUERY) {
        look_select(s, e->query);
    } else if (e->kind == RN_EXPR_MEMBER && e->computed) {
        look(s, e->computed);
    } else if (e->kind == RN_EXPR_MEMBER && is_document(e->kids[0])) {
        add(s, e->name);
    } else {
        for (uint32_t i = 0; i < e->count; i++)
            look(s, e->kids[i]);
    }
}

static void look_select(struct search *s, const struct rn_select *in)
{
    for (uint32_t i = 0; i < in->from_count; i++) {
        if (in->from[i].query)
            look_select(s, in->from[i].query);
        else if (!is_document(in->from[i].path))
            look(s, in->from[i].path);
    }
    if (in->kind == RN_SELECT_STAR)
        s->is_all = s->is_all || in->from[0].is_document;
    for (uint32_t i = 0; i < in->item_count; i++)
        look(s, in->items[i].expr);
    if (in->where)
        look(s, in->where);
    for (uint32_t i = 0; i < in->group_count; i++)
        look(s, in->group[i]);
    for (uint32_t i = 0; i < in->order_count; i++)
        look(s, in->order[i].expr);
    if (in->order_count)
        add(s, RN_LIT("_rid")); /* the tie-breaker of the sorter */
}

/* WHERE can be evaluated first only if it reads the document and no join. */
static void look_filter(struct search *s, const struct rn_select *in)
{
    s->is_all = true;
    if (!in->where || in->from_count != 1 || in->from[0].query ||
        in->from[0].is_each || !is_document(in->from[0].path))
        return;
    s->is_all = false;
    look(s, in->where);
}

enum rn_code rn_needed_paths_find(struct rn_needed_paths *w,
                                  const struct rn_select *in,
                                  struct rn_arena *a)
{
    struct search all = { .arena = a }, filter = { .arena = a };

    look_select(&all, in);
    if (all.is_all)
        look_filter(&filter, in);
    *w = (struct rn_needed_paths){
        .members = { all.names, all.count },
        .is_all = all.is_all,
        .filter = { filter.names, filter.count },
        .has_filter = all.is_all && !filter.is_all,
    };
    return all.rc ? all.rc : filter.rc;
}
