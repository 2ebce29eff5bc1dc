/* index_range.c -- access path: documents between bounds of an index.
 *
 * WHERE bounds a path that an index has.  The places of all documents between
 * those bounds are collected and sorted, so that they come in key order like on
 * any other path.  Each page does that anew, so it is only done while it costs
 * less than scanning the documents.
 */
#include "access/index_range.h"

#include "access/access_ops.h"
#include "access/places.h"
#include "engine/document/snapshot.h"
#include "engine/index/index_use.h"
#include "query/where/where_intervals.h"

#include <stdlib.h>

enum {
    GATHER_MAX = 65536,  /* most places that are ever collected, */
    GATHER_FIRST = 1024, /* for a page, at patience 0, */
    GATHER_KEYED = 1024, /* with a partition key to narrow the scan, */
    GATHER_SORTED = 256, /* and if an index is in order anyway */
    /* For a page of 100 rows: reading a document through the index costs as
     * much as 15 index rows, or as 2 documents of a scan. */
    GATHER_PAGE = 600,
    GATHER_SHARE = 4, /* or a quarter of all, if a query needs all */
};

struct gathered {
    const struct rn_index *index;
    struct rn_access_places places;
    uint64_t rows, rows_max;
};

static void release(struct gathered *g)
{
    rn_access_places_release(&g->places);
}

static enum rn_code add_place(struct gathered *g, const struct rn_index_walk *w)
{
    struct rn_access_place p = { .place = w->place, .rid = w->rid };

    return rn_access_places_add(&g->places, &p);
}

/* RN_TOO_LARGE if there are too many rows for the index to pay off. */
static enum rn_code gather_span(struct rn_access *a,
                                const struct rn_sortkey_interval *span,
                                struct gathered *g)
{
    struct rn_index_span bounds = { .from = span->from,
                                    .before = span->before };
    struct rn_index_walk w;
    enum rn_code rc = rn_index_walk_open(
        &w, a->reading->txn, a->reading->container->number, g->index, &bounds);

    while (!rc) {
        rc = rn_index_walk_next(&w);
        if (!rc && ++g->rows > g->rows_max)
            rc = RN_TOO_LARGE;
        if (!rc && rn_documents_bounds_have(&a->bounds, w.place))
            rc = add_place(g, &w);
    }
    rn_index_walk_close(&w);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static int by_place(const void *a, const void *b)
{
    const struct rn_access_place *x = a, *y = b;

    return rn_view_compare(x->place, y->place);
}

static uint64_t root(uint64_t n)
{
    uint64_t low = 0, high = UINT64_C(1) << 31;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (middle * middle <= n)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* How many rows of an index may be read. */
static uint64_t most_rows(const struct rn_access *a,
                          const struct rn_access_ask *ask)
{
    bool is_page = rn_query_is_streaming(ask->query);
    uint64_t most =
        is_page ? root(GATHER_PAGE * a->about) : 64 + a->about / GATHER_SHARE;
    uint64_t first = (uint64_t)GATHER_FIRST
                     << 3 * rn_index_patience(a->reading->engine, a->text);

    if (is_page && most > first)
        most = first;
    if (a->kind == RN_ACCESS_KEYS && most > GATHER_KEYED)
        most = GATHER_KEYED;
    return most < GATHER_MAX ? most : (uint64_t)GATHER_MAX;
}

/* Tries one index, if WHERE bounds its first path; keeps the better one in
 * `best`. */
static enum rn_code try_filter(struct rn_access *a,
                               const struct rn_access_ask *ask,
                               const struct rn_index *x, struct rn_arena *arena,
                               struct gathered *best)
{
    struct rn_where_intervals spans;
    struct gathered g = { .index = x,
                          .places = RN_ACCESS_PLACES_INIT,
                          .rows_max =
                              best->index ? best->rows : best->rows_max };
    enum rn_code rc =
        rn_where_intervals_find(ask->query, &x->keys[0].path,
                                rn_index_text_max(x->count), arena, &spans);

    if (rc || !spans.is_bounded)
        return rc;
    for (uint32_t i = 0; i < spans.count && !rc; i++)
        rc = gather_span(a, &spans.list[i], &g);
    a->examined += g.rows;
    if (rc == RN_TOO_LARGE && !best->index)
        a->too_many = g.rows_max;
    if (rc || (best->index && g.rows >= best->rows)) {
        release(&g);
        return rc == RN_TOO_LARGE ? RN_OK : rc;
    }
    release(best);
    *best = g;
    return RN_OK;
}

static enum rn_code find_filter(struct rn_access *a,
                                const struct rn_access_ask *ask,
                                struct rn_arena *arena, struct gathered *best)
{
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < a->indexes.count && !rc; i++) {
        if (a->indexes.list[i].state == RN_INDEX_COMPLETE)
            rc = try_filter(a, ask, &a->indexes.list[i], arena, best);
    }
    return rc;
}

static void use_filter(struct rn_access *a, struct gathered *g)
{
    a->kind = RN_ACCESS_INDEX;
    a->index = g->index;
    a->places = g->places;
    *g = (struct gathered){ 0 };
}

enum rn_code rn_access_gather(struct rn_access *a,
                              const struct rn_access_ask *ask, bool has_order,
                              struct rn_arena *arena)
{
    struct gathered best = { .rows_max = has_order ? (uint64_t)GATHER_SORTED
                                                   : most_rows(a, ask) };
    enum rn_code rc = find_filter(a, ask, arena, &best);

    if (!rc && best.index)
        use_filter(a, &best);
    release(&best);
    return rc;
}

/* The choice of the index has already collected the places. */
static enum rn_code open(struct rn_access *a, const struct rn_access_ask *ask,
                         struct rn_arena *arena)
{
    (void)ask, (void)arena;
    if (a->places.list.len)
        qsort(a->places.list.at, rn_access_places_count(&a->places),
              sizeof(struct rn_access_place), by_place);
    return RN_OK;
}

static enum rn_code next(struct rn_access *a, struct rn_view *body)
{
    const struct rn_access_place *list = rn_access_places_list(&a->places);
    size_t count = rn_access_places_count(&a->places);
    enum rn_code rc = RN_NOT_FOUND;

    while (rc == RN_NOT_FOUND && a->places.next < count) {
        const struct rn_access_place *p = &list[a->places.next++];

        a->at = p->place;
        rc = rn_document_at(a->reading, p->place, p->rid, body);
    }
    return rc;
}

static void close(struct rn_access *a)
{
    rn_access_places_release(&a->places);
}

const struct rn_access_ops rn_access_index_range = { "index", open, next,
                                                     close };
