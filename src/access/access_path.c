/* access_path.c -- chooses an access path, and reads along it. */
#include "access/access_path.h"

#include "access/access_ops.h"
#include "access/index_scan.h"
#include "access/key_predicates.h"
#include "access/natural.h"
#include "access/places.h"

static const struct rn_access_ops *const paths[RN_ACCESS_KINDS] = {
    [RN_ACCESS_SCAN] = &rn_access_scan,
    [RN_ACCESS_KEYS] = &rn_access_keys,
    [RN_ACCESS_POINTS] = &rn_access_points,
    [RN_ACCESS_INDEX] = &rn_access_index_range,
    [RN_ACCESS_ORDER] = &rn_access_index_order,
    [RN_ACCESS_EXTREMES] = &rn_access_index_extremes,
};

const char *rn_access_name(enum rn_access_kind kind)
{
    return paths[kind]->name;
}

/* Does the query's result depend on the order of its documents? */
static bool does_order_matter(const struct rn_access *a,
                              const struct rn_query *q)
{
    return a->kind != RN_ACCESS_ORDER && a->kind != RN_ACCESS_EXTREMES &&
           (!q || (!rn_query_is_orderless(q) && !rn_query_is_ordered(q)));
}

/* Chooses the path for the query; without a query, the path is a scan. */
static enum rn_code choose(struct rn_access *a, const struct rn_access_ask *ask,
                           struct rn_arena *arena)
{
    enum rn_code rc;

    if (!ask->query)
        return RN_OK;
    rc = rn_access_choose_keys(a, ask->query, arena);
    if (!rc && a->kind != RN_ACCESS_POINTS && !ask->no_index)
        rc = rn_access_choose_index(a, ask, arena);
    if (!rc && !a->index && a->kind != RN_ACCESS_POINTS)
        rc = rn_query_only_counts(ask->query, arena, &a->scope.no_bodies);
    return rc;
}

enum rn_code rn_access_open(struct rn_access *a, struct rn_snapshot *r,
                            const struct rn_access_ask *ask,
                            struct rn_arena *arena)
{
    enum rn_code rc;

    *a = (struct rn_access){ .reading = r, .scope = ask->scope };
    rc = rn_access_begin_natural(a, ask);
    if (!rc)
        rc = choose(a, ask, arena);
    if (!rc && ask->order != RN_ORDER_KEYS && does_order_matter(a, ask->query))
        rc = rn_access_open_natural(a, ask, arena);
    if (rc || a->ops)
        return rc;
    a->ops = paths[a->kind];
    return a->ops->open(a, ask, arena);
}

enum rn_code rn_access_next(struct rn_access *a, struct rn_view *body)
{
    return a->ops->next(a, body);
}

void rn_access_close(struct rn_access *a)
{
    if (a->ops)
        a->ops->close(a);
    rn_access_places_release(&a->places); /* if open failed */
}

bool rn_access_is_natural(const struct rn_access *a)
{
    return a->ops && a->ops != paths[a->kind];
}
