/* routing.c -- the routing map; see routing.h. */
#include "client/account/routing.h"

#include "json/json.h"

#include <stdlib.h>

enum {
    ARENA_MAX = 64 << 20,
    RANGES_MAX = 100000,
};

struct rn_routing *rn_routing_ref(struct rn_routing *m)
{
    if (m)
        atomic_fetch_add(&m->refs, 1);
    return m;
}

void rn_routing_unref(struct rn_routing *m)
{
    if (!m || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    rn_arena_release(&m->arena);
    rn_free(m);
}

/* ---- making -------------------------------------------------------------- */

/* The view with a NUL, in the arena. */
static const char *keep(struct rn_arena *arena, struct rn_view text)
{
    char *copy = rn_arena_alloc(arena, text.len + 1);

    if (copy) {
        if (text.len)
            memcpy(copy, text.at, text.len);
        copy[text.len] = '\0';
    }
    return copy;
}

static enum rn_code get_text(const struct rn_json *j, uint32_t value,
                             struct rn_arena *arena, const char **out)
{
    struct rn_view text;
    enum rn_code rc;

    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return RN_CORRUPT;
    rc = rn_json_string_get(j, value, arena, &text);
    if (rc)
        return rc;
    if (memchr(text.at, '\0', text.len))
        return RN_CORRUPT;
    *out = keep(arena, text);
    return *out ? RN_OK : RN_NOMEM;
}

/* Some servers write it as a number. */
static enum rn_code get_id(const struct rn_json *j, uint32_t value,
                           struct rn_arena *arena, const char **out)
{
    if (rn_json_kind(j, value) != RN_JSON_NUMBER)
        return get_text(j, value, arena, out);
    *out = keep(arena, rn_json_text(j, value));
    return *out ? RN_OK : RN_NOMEM;
}

static enum rn_code get_epk(const struct rn_json *j, uint32_t value,
                            struct rn_epk *out)
{
    if (rn_json_kind(j, value) != RN_JSON_STRING ||
        rn_epk_parse(rn_json_text(j, value), out, NULL) != RN_OK)
        return RN_CORRUPT;
    return RN_OK;
}

static enum rn_code get_parents(const struct rn_json *j, uint32_t value,
                                struct rn_arena *arena,
                                struct rn_range_route *out)
{
    uint32_t count = rn_json_count(j, value);
    struct rn_json_walk w = rn_json_walk_begin(j, value);
    const char **ids = NULL;
    enum rn_code rc = RN_OK;

    if (rn_json_kind(j, value) != RN_JSON_ARRAY || count == 0)
        return RN_OK;
    ids = rn_arena_alloc(arena, count * sizeof(*ids));
    if (!ids)
        return RN_NOMEM;
    out->parents = ids;
    while (!rc && rn_json_walk_next(&w)) {
        rc = get_text(j, w.value, arena, &ids[out->parent_count]);
        out->parent_count += !rc;
    }
    return rc;
}

static enum rn_code get_route(const struct rn_json *j, uint32_t value,
                              struct rn_arena *arena,
                              struct rn_range_route *out)
{
    enum rn_code rc;

    *out = (struct rn_range_route){ 0 };
    rc = get_id(j, rn_json_find(j, value, RN_LIT("id")), arena, &out->id);
    if (!rc)
        rc = get_epk(j, rn_json_find(j, value, RN_LIT("minInclusive")),
                     &out->range.min);
    if (!rc)
        rc = get_epk(j, rn_json_find(j, value, RN_LIT("maxExclusive")),
                     &out->range.max);
    if (!rc)
        rc = get_parents(j, rn_json_find(j, value, RN_LIT("parents")), arena,
                         out);
    return rc;
}

/* A copy of a route in another map. */
static enum rn_code copy_route(const struct rn_range_route *from,
                               struct rn_arena *arena,
                               struct rn_range_route *out)
{
    const char **ids = NULL;

    *out = *from;
    out->id = keep(arena, rn_view_text(from->id));
    if (!out->id)
        return RN_NOMEM;
    if (from->parent_count == 0)
        return RN_OK;
    ids = rn_arena_alloc(arena, from->parent_count * sizeof(*ids));
    if (!ids)
        return RN_NOMEM;
    for (size_t i = 0; i < from->parent_count; i++) {
        ids[i] = keep(arena, rn_view_text(from->parents[i]));
        if (!ids[i])
            return RN_NOMEM;
    }
    out->parents = ids;
    return RN_OK;
}

/* Is the i-th range superseded by its child, or by its newer version? */
static bool is_replaced(const struct rn_routing *m, size_t i)
{
    for (size_t k = 0; k < m->count; k++) {
        const struct rn_range_route *one = &m->routes[k];
        if (k > i && strcmp(one->id, m->routes[i].id) == 0)
            return true;
        for (size_t p = 0; p < one->parent_count; p++) {
            if (strcmp(one->parents[p], m->routes[i].id) == 0)
                return true;
        }
    }
    return false;
}

static int by_min(const void *a, const void *b)
{
    const struct rn_range_route *one = a, *other = b;

    return rn_epk_compare(&one->range.min, &other->range.min);
}

/* Drops superseded ranges and sorts the rest. */
static enum rn_code finish(struct rn_routing *m)
{
    struct rn_range_route *left =
        rn_arena_alloc(&m->arena, (m->count + 1) * sizeof(*left));
    size_t count = 0;

    if (!left)
        return RN_NOMEM;
    for (size_t i = 0; i < m->count; i++) {
        if (!is_replaced(m, i))
            left[count++] = m->routes[i];
    }
    m->routes = left;
    m->count = count;
    qsort(m->routes, m->count, sizeof(*m->routes), by_min);
    return RN_OK;
}

static enum rn_code fill(struct rn_routing *m, const struct rn_routing *base,
                         const struct rn_json *j, struct rn_view etag)
{
    uint32_t list = rn_json_find(j, 0, RN_LIT("PartitionKeyRanges"));
    struct rn_json_walk w = rn_json_walk_begin(j, list);
    size_t room = (base ? base->count : 0) + rn_json_count(j, list);
    enum rn_code rc = RN_OK;

    if (rn_json_kind(j, list) != RN_JSON_ARRAY || room > RANGES_MAX)
        return RN_CORRUPT;
    m->etag = keep(&m->arena, etag);
    m->routes = rn_arena_alloc(&m->arena, (room + 1) * sizeof(*m->routes));
    if (!m->etag || !m->routes)
        return RN_NOMEM;
    for (size_t i = 0; !rc && base && i < base->count; i++) {
        rc = copy_route(&base->routes[i], &m->arena, &m->routes[m->count]);
        m->count += !rc;
    }
    while (!rc && rn_json_walk_next(&w)) {
        rc = get_route(j, w.value, &m->arena, &m->routes[m->count]);
        m->count += !rc;
    }
    return rc ? rc : finish(m);
}

runnel_code rn_routing_apply(const struct rn_routing *base, struct rn_view body,
                             struct rn_view etag, struct rn_routing **out,
                             runnel_error *error)
{
    struct rn_routing *m = rn_new(sizeof(*m));
    struct rn_json j;
    enum rn_code rc;

    if (!m)
        return rn_error_no_memory(error);
    atomic_init(&m->refs, 1);
    m->arena = RN_ARENA_INIT(ARENA_MAX);
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, body, NULL);
    if (rc == RN_BAD_REQUEST)
        rc = RN_CORRUPT;
    if (!rc)
        rc = fill(m, base, &j, etag);
    rn_json_release(&j);
    if (!rc) {
        *out = m;
        return RUNNEL_OK;
    }
    rn_routing_unref(m);
    if (rc == RN_CORRUPT) {
        return rn_error_set(error, RUNNEL_PROTOCOL,
                            "the server's list of partition key ranges cannot "
                            "be read");
    }
    return rn_error_take(error, rc, NULL);
}

bool rn_routing_is_complete(const struct rn_routing *m)
{
    const struct rn_epk *at = &rn_epk_all.min;

    for (size_t i = 0; i < m->count; i++) {
        const struct rn_epk_range *one = &m->routes[i].range;
        if (rn_epk_compare(&one->min, at) != 0 ||
            rn_epk_compare(&one->max, at) <= 0)
            return false;
        at = &one->max;
    }
    return m->count > 0 && rn_epk_compare(at, &rn_epk_all.max) == 0;
}

/* ---- asking -------------------------------------------------------------- */

const struct rn_range_route *rn_routing_find(const struct rn_routing *m,
                                             const struct rn_epk *epk)
{
    size_t low = 0, high = m->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (rn_epk_compare(&m->routes[middle].range.min, epk) <= 0)
            low = middle;
        else
            high = middle;
    }
    return &m->routes[low];
}

const struct rn_range_route *rn_routing_named(const struct rn_routing *m,
                                              struct rn_view id)
{
    for (size_t i = 0; i < m->count; i++) {
        if (rn_view_eq(rn_view_text(m->routes[i].id), id))
            return &m->routes[i];
    }
    return NULL;
}

size_t rn_routing_overlap(const struct rn_routing *m,
                          const struct rn_epk_range *range, size_t *first)
{
    size_t at = (size_t)(rn_routing_find(m, &range->min) - m->routes);
    size_t count = 1;

    *first = at;
    while (at + count < m->count &&
           rn_epk_compare(&m->routes[at + count].range.min, &range->max) < 0)
        count++;
    return count;
}
