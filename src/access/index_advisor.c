/* index_advisor.c -- index advisor: finds an index that would have saved
 * documents that a query read.
 *
 * The best index is over a path that WHERE compares for equality, then over one
 * that it bounds, then one that ORDER BY would follow, then one for MIN and
 * MAX.  Only paths of the container's indexing policy are considered, and only
 * indexes that do not exist yet: an index that was not worth using is not
 * created again.
 */
#include "access/index_advisor.h"

#include "access/index_order.h"
#include "engine/document/snapshot.h"
#include "engine/index/index_demand.h"
#include "engine/index/index_use.h"
#include "query/where/filters.h"
#include "query/where/where_intervals.h"

enum {
    FEWEST = 256, /* least documents read that are worth a note */
    WANTED = 4,   /* if more than one in so many is wanted, a scan is right */
};

static bool is_there(const struct rn_index_advisor *m,
                     const struct rn_index_key *keys, uint32_t count)
{
    const struct rn_indexes *all = &m->access->indexes;

    for (uint32_t i = 0; i < all->count; i++) {
        if (rn_index_is(&all->list[i], keys, count))
            return true;
    }
    return false;
}

/* Rates a path of WHERE: 2 for an equality, 1 for bounds. */
static enum rn_code rate(const struct rn_index_advisor *m,
                         struct rn_arena *arena,
                         const struct rn_json_path *path, int *out)
{
    struct rn_index_key key = { .path = *path };
    struct rn_where_intervals spans;
    enum rn_code rc;

    *out = 0;
    if (!rn_policy_is_indexed(m->policy, path) || is_there(m, &key, 1))
        return RN_OK;
    rc = rn_where_intervals_find(m->query, path, RN_SORTKEY_TEXT_MAX, arena,
                                 &spans);
    if (rc || !spans.is_bounded || !spans.count)
        return rc;
    *out = 2;
    for (uint32_t i = 0; i < spans.count; i++) {
        if (!spans.list[i].is_point)
            *out = 1;
    }
    return RN_OK;
}

static enum rn_code find_filter(const struct rn_index_advisor *m,
                                struct rn_arena *arena,
                                struct rn_index_key *keys, uint32_t *count)
{
    const struct rn_json_path *paths;
    uint32_t n;
    int best = 0, rating;
    enum rn_code rc = rn_query_filter_paths(m->query, arena, &paths, &n);

    for (uint32_t i = 0; i < n && !rc; i++) {
        rc = rate(m, arena, &paths[i], &rating);
        if (rc || rating <= best)
            continue;
        best = rating;
        keys[0] = (struct rn_index_key){ .path = paths[i] };
        *count = 1;
    }
    return rc;
}

static enum rn_code find_order(const struct rn_index_advisor *m,
                               struct rn_arena *arena,
                               struct rn_index_key *keys, uint32_t *count)
{
    struct rn_policy_key wanted[RN_INDEX_KEYS_MAX];
    bool is_backward, is_good;
    enum rn_code rc =
        rn_access_order_keys(m->query, arena, keys, count, &is_backward);

    if (rc || !*count)
        return rc;
    for (uint32_t i = 0; i < *count; i++)
        wanted[i] =
            (struct rn_policy_key){ keys[i].path, keys[i].is_descending };
    is_good = *count == 1 ? rn_policy_is_indexed(m->policy, &keys[0].path)
                          : rn_policy_has_composite(m->policy, wanted, *count);
    if (!is_good || is_there(m, keys, *count))
        *count = 0;
    return RN_OK;
}

static enum rn_code find_extreme(const struct rn_index_advisor *m,
                                 struct rn_arena *arena,
                                 struct rn_index_key *keys, uint32_t *count)
{
    struct rn_query_extreme extreme;
    enum rn_code rc = rn_query_extreme(m->query, arena, &extreme);

    keys[0] = (struct rn_index_key){ .path = extreme.path };
    *count = !rc && extreme.path.count &&
             rn_policy_is_indexed(m->policy, &extreme.path) &&
             !is_there(m, keys, 1);
    return rc;
}

enum rn_code rn_index_advisor_find(const struct rn_index_advisor *m,
                                   struct rn_arena *arena,
                                   struct rn_index_key keys[RN_INDEX_KEYS_MAX],
                                   uint32_t *count)
{
    const struct rn_query_stats *s = m->stats;
    bool is_scan =
        m->access->kind == RN_ACCESS_SCAN || m->access->kind == RN_ACCESS_KEYS;
    enum rn_code rc = RN_OK;

    *count = 0;
    if (!is_scan || s->documents < FEWEST || m->policy->is_unindexed)
        return RN_OK;
    if (s->matched <= s->documents / WANTED)
        rc = find_filter(m, arena, keys, count);
    if (!rc && !*count && s->rows <= s->documents / WANTED)
        rc = find_order(m, arena, keys, count);
    /* If few are wanted, possibly none of them is near an end. */
    if (!rc && !*count && s->matched > s->documents / WANTED)
        rc = find_extreme(m, arena, keys, count);
    return rc;
}

/* If a page read many documents after an index was rejected, later queries read
 * further along the index; if it read few, less far. */
static void note_patience(const struct rn_index_advisor *m)
{
    const struct rn_access *a = m->access;
    struct rn_engine *e = a->reading->engine;
    unsigned level = rn_index_patience(e, a->text);

    if (a->index || !a->too_many || !rn_query_is_streaming(m->query))
        return;
    if (m->stats->documents > a->too_many / 2 && level < RN_INDEX_PATIENCE_MAX)
        rn_index_set_patience(e, a->text, level + 1);
    else if (m->stats->documents < a->too_many / 16 && level > 0)
        rn_index_set_patience(e, a->text, level - 1);
}

void rn_index_advisor_note(const struct rn_index_advisor *m,
                           const struct rn_object *o, struct rn_arena *arena)
{
    const struct rn_snapshot *r = m->access->reading;
    struct rn_index_key keys[RN_INDEX_KEYS_MAX];
    uint64_t about = 0;
    uint32_t count;

    if (m->access->index)
        rn_index_note_used(r->engine, o->number, m->access->index->number);
    note_patience(m);
    if (rn_index_advisor_find(m, arena, keys, &count) || !count ||
        rn_documents_count((struct rn_snapshot *)(uintptr_t)r, &about))
        return; /* the advice is optional */
    rn_index_note_missed(r->engine, o, keys, count, m->stats->documents, about);
}
