/* filters.c -- collects the paths of the document that WHERE reads. */
#include "query/where/filters.h"

#include "query/parse/ast.h"

enum { PATHS_MAX = 256 }; /* beyond that, no index is worth suggesting */

struct filters {
    const struct rn_select *select;
    struct rn_arena *arena;
    struct rn_json_path *paths;
    uint32_t count, room;
};

static bool is_same(const struct rn_json_path *a, const struct rn_json_path *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (!rn_view_eq(a->names[i], b->names[i]))
            return false;
    }
    return true;
}

static enum rn_code add(struct filters *f, const struct rn_json_path *path)
{
    for (uint32_t i = 0; i < f->count; i++) {
        if (is_same(&f->paths[i], path))
            return RN_OK;
    }
    if (f->count == PATHS_MAX)
        return RN_OK;
    f->paths =
        rn_ast_grow(f->arena, f->paths, f->count, &f->room, sizeof(*f->paths));
    if (!f->paths)
        return RN_TOO_LARGE;
    f->paths[f->count++] = *path;
    return RN_OK;
}

/* Subqueries are skipped, since they iterate over arrays. */
static enum rn_code look(struct filters *f, const struct rn_expr *e)
{
    struct rn_json_path path;
    enum rn_code rc = RN_OK;

    if (e->kind == RN_EXPR_MEMBER) {
        rc = rn_expr_path(f->select, e, f->arena, &path);
        return rc || !path.count ? rc : add(f, &path);
    }
    for (uint32_t i = 0; i < e->count && !rc; i++)
        rc = look(f, e->kids[i]);
    return rc;
}

enum rn_code rn_query_filter_paths(const struct rn_query *q, struct rn_arena *a,
                                   const struct rn_json_path **out,
                                   uint32_t *count)
{
    struct filters f = { .select = q->select, .arena = a };
    enum rn_code rc = q->select->where ? look(&f, q->select->where) : RN_OK;

    *out = f.paths;
    *count = f.count;
    return rc;
}
