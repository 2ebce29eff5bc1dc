/* index_scan.c -- chooses an index, and scans along it.
 *
 * Three kinds.  Documents within the bounds of WHERE are collected
 * (index_range.c).  ORDER BY follows an index in its order (index_order.c).
 * MIN and MAX read its first and its last documents (index_extremes.c).
 */
#include "access/index_scan.h"

#include "access/index_extremes.h"
#include "access/index_order.h"
#include "access/index_range.h"
#include "base/hash.h"
#include "engine/document/snapshot.h"

enum {
    BUDGET_SHARE = 8, /* of all documents, that may be read in vain */
    BUDGET_LEAST = 1000,
};

/* ---- scanning ------------------------------------------------------------ */

bool rn_access_has_no_bounds(const struct rn_documents_scan *scope)
{
    return !scope->pk &&
           rn_epk_compare(&scope->epks.min, &rn_epk_all.min) == 0 &&
           rn_epk_compare(&scope->epks.max, &rn_epk_all.max) == 0;
}

void rn_access_set_budget(struct rn_access *a, bool has_filter)
{
    uint64_t share = a->walk.is_keyed ? 0 : a->about / BUDGET_SHARE;

    if (has_filter || !rn_access_has_no_bounds(&a->scope))
        a->walk.budget = share > BUDGET_LEAST ? share : (uint64_t)BUDGET_LEAST;
}

/* The next row of the index in the request's scope. */
enum rn_code rn_access_next_row(struct rn_access *a)
{
    enum rn_code rc;

    do {
        rc = rn_index_walk_next(&a->walk.rows);
        if (!rc && a->walk.budget && ++a->examined > a->walk.budget) {
            a->has_given_up = true;
            rc = RN_NOT_FOUND;
        }
    } while (!rc && !rn_documents_bounds_have(&a->bounds, a->walk.rows.place));
    return rc;
}

void rn_access_end_walk(struct rn_access *a)
{
    if (a->walk.is_open)
        rn_index_walk_close(&a->walk.rows);
    a->walk.is_open = false;
}

/* ---- choosing ------------------------------------------------------------ */

static const struct rn_index *find_index(const struct rn_access *a,
                                         const struct rn_index_key *keys,
                                         uint32_t count)
{
    for (uint32_t i = 0; i < a->indexes.count; i++) {
        if (a->indexes.list[i].state == RN_INDEX_COMPLETE &&
            rn_index_is(&a->indexes.list[i], keys, count))
            return &a->indexes.list[i];
    }
    return NULL;
}

/* If WHERE selects few, they are collected; else ORDER BY may follow an index.
 */
static enum rn_code choose(struct rn_access *a, const struct rn_access_ask *ask,
                           struct rn_arena *arena)
{
    struct rn_index_key keys[RN_INDEX_KEYS_MAX];
    uint32_t count = 0;
    bool is_backward = false;
    const struct rn_index *order = NULL, *extreme = NULL;
    enum rn_code rc = RN_OK;

    if (!ask->no_order)
        rc =
            rn_access_order_keys(ask->query, arena, keys, &count, &is_backward);
    if (!rc && count)
        order = find_index(a, keys, count);
    if (!rc && !order && !ask->no_order && ask->matched)
        rc = rn_access_find_extreme(a, ask, arena, &extreme);
    if (!rc)
        rc = rn_access_gather(a, ask, order || extreme, arena);
    if (rc || a->index)
        return rc;
    a->index = order ? order : extreme;
    a->walk.is_backward = order && is_backward;
    a->walk.is_keyed = a->kind == RN_ACCESS_KEYS;
    if (a->index)
        a->kind = order ? RN_ACCESS_ORDER : RN_ACCESS_EXTREMES;
    return RN_OK;
}

enum rn_code rn_access_choose_index(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena)
{
    enum rn_code rc = rn_indexes_read(
        a->reading->txn, a->reading->container->number, arena, &a->indexes);

    if (rc || !a->indexes.count)
        return rc;
    a->text =
        rn_hash64(rn_query_text(ask->query), a->reading->container->number);
    rc = rn_documents_count(a->reading, &a->about);
    if (!rc)
        rc = rn_documents_bound(a->reading->container, &a->scope, &a->bounds);
    if (!rc)
        rc = choose(a, ask, arena);
    return rc;
}
