/* indexed.c -- the way to documents through an index; see access.h.
 *
 * Three ways.  WHERE bounds a path that an index has: the places of all
 * documents between those bounds are gathered and sorted, so that they come in
 * the order of keys like any others.  That is done anew for each page, so it is
 * only done while it costs less than going through the documents.  ORDER BY
 * follows an index in its order.  MIN and MAX want its first documents and its
 * last.
 */
#include "rest/access.h"

#include "base/hash.h"

#include <stdlib.h>

enum {
    HELD_MAX = 64 << 20,
    GATHER_MAX = 65536,  /* more places are never gathered, */
    GATHER_FIRST = 1024, /* nor these, for a page, before they were missed, */
    GATHER_KEYED = 1024, /* nor these, where a partition key narrows, */
    GATHER_SORTED = 256, /* nor these, where an index is in order anyway */
    /* Of a page of 100 rows: a document that is read through the index costs
     * as much as 15 rows of it, or as 2 documents in a row. */
    GATHER_PAGE = 600,
    GATHER_SHARE = 4, /* or a quarter of all, of a query that wants all */
    BUDGET_SHARE = 8, /* of all, to be looked at in vain */
    BUDGET_LEAST = 1000,
};

struct rn_access_place {
    struct rn_view place;
    uint64_t rid;
};

/* ---- gathering ----------------------------------------------------------- */

struct gathered {
    const struct rn_index *index;
    struct rn_buf places;
    struct rn_arena held;
    uint64_t rows, rows_max;
};

static void release(struct gathered *g)
{
    rn_buf_release(&g->places);
    rn_arena_release(&g->held);
}

static enum rn_code add_place(struct gathered *g, const struct rn_index_walk *w)
{
    struct rn_access_place p = { .rid = w->rid };

    p.place = rn_arena_copy(&g->held, w->place);
    if (!p.place.at)
        return RN_TOO_LARGE;
    return rn_buf_add(&g->places, rn_view_of(&p, sizeof(p)));
}

/* RN_TOO_LARGE if there are more than are worth it. */
static enum rn_code gather_span(struct rn_access *a, const struct rn_span *span,
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

/* How many rows of an index are worth looking at. */
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

/* Tries one index, if WHERE bounds its first path; the better one stays in
 * `best`. */
static enum rn_code try_filter(struct rn_access *a,
                               const struct rn_access_ask *ask,
                               const struct rn_index *x, struct rn_arena *arena,
                               struct gathered *best)
{
    struct rn_query_spans spans;
    struct gathered g = { .index = x,
                          .places = RN_BUF_INIT(HELD_MAX),
                          .held = RN_ARENA_INIT(HELD_MAX),
                          .rows_max =
                              best->index ? best->rows : best->rows_max };
    enum rn_code rc = rn_query_span(ask->query, &x->keys[0].path,
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
    size_t count = g->places.len / sizeof(struct rn_access_place);

    if (count)
        qsort(g->places.at, count, sizeof(struct rn_access_place), by_place);
    a->kind = RN_ACCESS_INDEX;
    a->index = g->index;
    a->places = g->places;
    a->held = g->held;
    *g = (struct gathered){ 0 };
}

static enum rn_code next_place(struct rn_access *a, struct rn_view *body)
{
    const struct rn_access_place *list = (const void *)a->places.at;
    size_t count = a->places.len / sizeof(*list);
    enum rn_code rc = RN_NOT_FOUND;

    while (rc == RN_NOT_FOUND && a->next_place < count) {
        const struct rn_access_place *p = &list[a->next_place++];

        a->at = p->place;
        rc = rn_document_at(a->reading, p->place, p->rid, body);
    }
    return rc;
}

/* ---- order --------------------------------------------------------------- */

enum rn_code rn_indexed_order(const struct rn_query *q, struct rn_arena *arena,
                              struct rn_index_key keys[RN_INDEX_KEYS_MAX],
                              uint32_t *count, bool *is_backward)
{
    enum rn_code rc = RN_OK;

    *count = rn_query_order_count(q);
    if (!rn_query_can_follow_order(q) || *count > RN_INDEX_KEYS_MAX)
        *count = 0;
    for (uint32_t i = 0; i < *count && !rc; i++) {
        rc = rn_query_order_key(q, i, arena, &keys[i].path,
                                &keys[i].is_descending);
        if (i == 0)
            *is_backward = keys[0].is_descending;
        keys[i].is_descending = keys[i].is_descending != *is_backward;
        if (!keys[i].path.count) {
            *count = 0; /* no path of the document */
            break;
        }
    }
    return rc;
}

/* Where a page begins: at the row that the last one ended with. */
static enum rn_code seek(struct rn_access *a, const struct rn_access_ask *ask)
{
    struct rn_sortkey_form forms[RN_INDEX_KEYS_MAX];
    char bytes[RN_KEY_MAX + RN_SORTKEY_MAX];
    struct rn_query_seek s = { .forms = forms, .out = bytes };
    enum rn_code rc;

    if (!ask->after.len)
        return RN_OK;
    for (uint32_t i = 0; i < a->index->count; i++) {
        forms[i].text_max = rn_index_text_max(a->index->count);
        forms[i].is_descending = a->index->keys[i].is_descending;
    }
    rc = rn_query_seek(ask->query, ask->after, &s);
    if (rc == RN_BAD_REQUEST)
        return RN_OK; /* the run will say so */
    if (rc)
        return rc;
    if (s.is_cut && a->is_backward) { /* past all that begin so */
        while ((unsigned char)bytes[s.len - 1] == 0xff)
            s.len--;
        bytes[s.len - 1]++;
    } else if (!s.is_cut) {
        for (int i = 0; i < 8; i++)
            bytes[s.len++] = (char)(s.rid >> (56 - 8 * i));
        if (a->is_backward)
            bytes[s.len++] = 0;
    }
    memcpy(a->seek, bytes, s.len);
    a->seek_len = s.len;
    return RN_OK;
}

static bool is_everything(const struct rn_access *a)
{
    return !a->scope.pk &&
           rn_epk_compare(&a->scope.epks.min, &rn_epk_all.min) == 0 &&
           rn_epk_compare(&a->scope.epks.max, &rn_epk_all.max) == 0;
}

static void set_budget(struct rn_access *a, bool has_filter)
{
    uint64_t share = a->kind == RN_ACCESS_KEYS ? 0 : a->about / BUDGET_SHARE;

    if (has_filter || !is_everything(a))
        a->budget = share > BUDGET_LEAST ? share : (uint64_t)BUDGET_LEAST;
}

static enum rn_code use_order(struct rn_access *a,
                              const struct rn_access_ask *ask,
                              struct rn_arena *arena, bool is_backward)
{
    const struct rn_json_path *paths;
    uint32_t filters;
    enum rn_code rc =
        rn_query_span(ask->query, &a->index->keys[0].path,
                      rn_index_text_max(a->index->count), arena, &a->spans);

    a->is_backward = is_backward;
    if (!rc)
        rc = rn_query_filter_paths(ask->query, arena, &paths, &filters);
    if (!rc)
        set_budget(a, filters > 0);
    a->kind = RN_ACCESS_ORDER;
    return rc ? rc : seek(a, ask);
}

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

/* The next span, as far as the page has not passed it. */
static enum rn_code open_span(struct rn_access *a)
{
    struct rn_index_span span = { .is_backward = a->is_backward };
    struct rn_view from = rn_view_of(a->seek, a->seek_len);
    uint32_t count = a->spans.is_bounded ? a->spans.count : 1;

    if (a->span == count)
        return RN_NOT_FOUND;
    if (a->spans.is_bounded) {
        const struct rn_span *s =
            &a->spans.list[a->is_backward ? count - 1 - a->span : a->span];
        span.from = s->from;
        span.before = s->before;
    }
    a->span++;
    if (from.len && !a->is_backward && rn_view_compare(from, span.from) > 0)
        span.from = from;
    if (from.len && a->is_backward &&
        (!span.before.len || rn_view_compare(from, span.before) < 0))
        span.before = from;
    a->is_walking = true;
    return rn_index_walk_open(&a->walk, a->reading->txn,
                              a->reading->container->number, a->index, &span);
}

/* The next row of the index in the request's scope. */
static enum rn_code next_row(struct rn_access *a)
{
    enum rn_code rc;

    do {
        rc = rn_index_walk_next(&a->walk);
        if (!rc && a->budget && ++a->examined > a->budget) {
            a->has_given_up = true;
            rc = RN_NOT_FOUND;
        }
    } while (!rc && !rn_documents_bounds_have(&a->bounds, a->walk.place));
    return rc;
}

static void end_walk(struct rn_access *a)
{
    if (a->is_walking)
        rn_index_walk_close(&a->walk);
    a->is_walking = false;
}

static enum rn_code next_ordered(struct rn_access *a, struct rn_view *body)
{
    uint64_t before = a->walk.group;
    enum rn_code rc = RN_NOT_FOUND;

    while (rc == RN_NOT_FOUND && !a->has_given_up) {
        rc = a->is_walking ? next_row(a) : RN_NOT_FOUND;
        if (!rc) {
            a->group += a->walk.group != before;
            before = a->walk.group;
            a->at = a->walk.place;
            rc = rn_document_at(a->reading, a->walk.place, a->walk.rid, body);
            continue; /* over one that has expired */
        }
        if (rc != RN_NOT_FOUND || a->has_given_up)
            break;
        end_walk(a);
        rc = open_span(a);
        if (rc)
            break;
        before = 0;
        rc = RN_NOT_FOUND;
    }
    return rc;
}

/* ---- extremes ------------------------------------------------------------ */

static enum rn_code use_extremes(struct rn_access *a,
                                 const struct rn_access_ask *ask,
                                 struct rn_arena *arena)
{
    struct rn_index_key key = { .is_descending = false };
    enum rn_code rc = rn_query_extreme(ask->query, arena, &key.path);

    if (rc || !key.path.count)
        return rc;
    a->index = find_index(a, &key, 1);
    if (!a->index)
        return RN_OK;
    set_budget(a, false);
    a->kind = RN_ACCESS_EXTREMES;
    return RN_OK;
}

/* All documents but those without a value, from one end. */
static enum rn_code open_end(struct rn_access *a)
{
    static const char first[] = { RN_SORTKEY_NULL };
    struct rn_index_span span = { .from = { first, 1 },
                                  .is_backward = a->span == 1 };

    if (a->span++ == 2)
        return RN_NOT_FOUND;
    a->end_group = 0;
    a->is_walking = true;
    return rn_index_walk_open(&a->walk, a->reading->txn,
                              a->reading->container->number, a->index, &span);
}

/* True if one of these decides as well as all of them. */
static bool is_one_enough(const struct rn_access *a)
{
    return a->walk.key.at[0] == RN_SORTKEY_ARRAY ||
           a->walk.key.at[0] == RN_SORTKEY_OBJECT;
}

static enum rn_code next_extreme(struct rn_access *a, struct rn_view *body)
{
    enum rn_code rc = RN_NOT_FOUND;

    while (rc == RN_NOT_FOUND && !a->has_given_up) {
        rc = a->is_walking ? next_row(a) : RN_NOT_FOUND;
        if (!rc && a->end_group &&
            (a->walk.group != a->end_group || is_one_enough(a)))
            rc = RN_NOT_FOUND; /* this end is done */
        if (!rc) {
            a->at = a->walk.place;
            rc = rn_document_at(a->reading, a->walk.place, a->walk.rid, body);
            if (!rc)
                a->end_group = a->walk.group;
            continue;
        }
        if (rc != RN_NOT_FOUND || a->has_given_up)
            break;
        end_walk(a);
        rc = open_end(a);
        if (rc)
            break;
        rc = RN_NOT_FOUND;
    }
    return rc;
}

/* ---- choosing ------------------------------------------------------------ */

/* What WHERE leaves few of is gathered; else ORDER BY may find an index. */
static enum rn_code choose(struct rn_access *a, const struct rn_access_ask *ask,
                           struct rn_arena *arena, struct gathered *filter)
{
    struct rn_index_key keys[RN_INDEX_KEYS_MAX];
    uint32_t count = 0;
    bool is_backward = false;
    const struct rn_index *order = NULL;
    enum rn_code rc = RN_OK;

    if (!ask->no_order)
        rc = rn_indexed_order(ask->query, arena, keys, &count, &is_backward);
    if (!rc && count)
        order = find_index(a, keys, count);
    filter->rows_max = order ? GATHER_SORTED : most_rows(a, ask);
    if (!rc)
        rc = find_filter(a, ask, arena, filter);
    if (rc)
        return rc;
    if (filter->index) {
        use_filter(a, filter);
        return RN_OK;
    }
    a->index = order;
    if (order)
        return use_order(a, ask, arena, is_backward);
    return ask->no_order ? RN_OK : use_extremes(a, ask, arena);
}

enum rn_code rn_indexed_open(struct rn_access *a,
                             const struct rn_access_ask *ask,
                             struct rn_arena *arena)
{
    struct gathered filter = { 0 };
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
        rc = choose(a, ask, arena, &filter);
    release(&filter);
    return rc;
}

enum rn_code rn_indexed_next(struct rn_access *a, struct rn_view *body)
{
    if (a->kind == RN_ACCESS_INDEX)
        return next_place(a, body);
    return a->kind == RN_ACCESS_ORDER ? next_ordered(a, body)
                                      : next_extreme(a, body);
}

void rn_indexed_close(struct rn_access *a)
{
    end_walk(a);
    rn_buf_release(&a->places);
    rn_arena_release(&a->held);
}
