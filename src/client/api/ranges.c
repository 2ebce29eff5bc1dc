/* ranges.c -- the partition key ranges of a container, cut as finely as asked.
 *
 * They are cut in hash space: keys of hash version 2 all lie below 40, and
 * those of version 1 are encoded numbers, so that halving "" to FF as text
 * would leave one half empty.
 */
#include "client/account/routing.h"
#include "client/api/container.h"

#include <stdio.h>

enum { RANGES_MAX = 100000, TEXT_MAX = 2 * RN_EPK_TEXT_MAX + 2 };

/* The piece of a range that is listed. */
struct piece {
    struct rn_epk_range range;
    const struct rn_range_route *route;
};

struct runnel_ranges {
    struct rn_arena arena;
    runnel_range *of;
    size_t count;
};

/* ---- cutting ------------------------------------------------------------- */

/* Halves the last ones, as many as it takes; returns how many there are then.
 * The first pass counts, the second moves each piece once. */
static size_t halve(const struct rn_pkdef *def, struct piece *pieces,
                    size_t count, size_t want)
{
    struct rn_epk middle;
    size_t halved = 0, to;

    for (size_t i = count; i-- > 0 && count + halved < want;)
        halved += rn_epk_middle(def, &pieces[i].range, &middle);
    to = count + halved;
    for (size_t i = count; i-- > 0 && to > i + 1;) {
        pieces[--to] = pieces[i];
        if (!rn_epk_middle(def, &pieces[i].range, &middle))
            continue;
        pieces[to].range.min = middle;
        pieces[--to] = pieces[i];
        pieces[to].range.max = middle;
    }
    return count + halved;
}

/* In rounds, until there are enough or none can be halved. */
static size_t cut(const struct rn_pkdef *def, struct piece *pieces,
                  size_t count, size_t want)
{
    size_t before = 0;

    while (count < want && count > before) {
        before = count;
        count = halve(def, pieces, count, want);
    }
    return count;
}

/* ---- the list ------------------------------------------------------------ */

static const char *print_bound(struct rn_arena *arena, const struct rn_epk *e)
{
    char text[RN_EPK_TEXT_MAX];
    struct rn_view hex = rn_epk_print(e, text);
    char *copy = rn_arena_alloc(arena, hex.len + 1);

    if (copy) {
        memcpy(copy, hex.at, hex.len);
        copy[hex.len] = '\0';
    }
    return copy;
}

static enum rn_code fill(runnel_ranges *r, const struct piece *pieces,
                         size_t count)
{
    r->of = rn_arena_alloc(&r->arena, (count + 1) * sizeof(*r->of));
    if (!r->of)
        return RN_NOMEM;
    for (size_t i = 0; i < count; i++) {
        runnel_range *to = &r->of[i];
        struct rn_view id = rn_view_text(pieces[i].route->id);
        char *text = rn_arena_alloc(&r->arena, TEXT_MAX);
        char *copy = rn_arena_alloc(&r->arena, id.len + 1);

        to->min = print_bound(&r->arena, &pieces[i].range.min);
        to->max = print_bound(&r->arena, &pieces[i].range.max);
        if (!to->min || !to->max || !text || !copy)
            return RN_NOMEM;
        memcpy(copy, id.at, id.len + 1);
        snprintf(text, TEXT_MAX, "%s-%s", to->min, to->max);
        to->id = copy;
        to->text = text;
        r->count++;
    }
    return RN_OK;
}

static enum rn_code make(const struct rn_pkdef *def,
                         const struct rn_routing *map, size_t at_least,
                         runnel_ranges **out)
{
    size_t want = at_least > map->count ? at_least : map->count;
    struct piece *pieces = rn_new((want + 1) * sizeof(*pieces));
    runnel_ranges *r = rn_new(sizeof(*r));
    enum rn_code rc = pieces && r ? RN_OK : RN_NOMEM;
    size_t count = map->count;

    if (!rc) {
        r->arena = RN_ARENA_INIT((want + 1) * (6 * RN_EPK_TEXT_MAX + 256));
        for (size_t i = 0; i < count; i++)
            pieces[i] = (struct piece){ .range = map->routes[i].range,
                                        .route = &map->routes[i] };
        count = cut(def, pieces, count, want);
        rc = fill(r, pieces, count);
    }
    rn_free(pieces);
    if (rc || !out)
        runnel_ranges_close(r);
    else
        *out = r;
    return rc;
}

runnel_code runnel_ranges_read(runnel_container *container, size_t at_least,
                               runnel_ranges **out, runnel_error *error)
{
    struct rn_definition *d = NULL;
    struct rn_routing *map = NULL, *stale;
    runnel_code rc;

    if (at_least > RANGES_MAX)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "at_least is more than %d", RANGES_MAX);
    rc = rn_client_container_define(container->inner, NULL, &d, error);
    /* "Now" is not what was cached: what is new is asked for. */
    stale = rn_client_container_routing(container->inner);
    if (!rc)
        rc = rn_client_container_route(container->inner, NULL, stale, &map,
                                       error);
    if (!rc)
        rc = rn_error_take(error, make(&d->key, map, at_least, out), NULL);
    rn_routing_unref(stale);
    rn_routing_unref(map);
    rn_definition_unref(d);
    return rc;
}

size_t runnel_ranges_count(const runnel_ranges *ranges)
{
    return ranges->count;
}

const runnel_range *runnel_ranges_at(const runnel_ranges *ranges, size_t i)
{
    return i < ranges->count ? &ranges->of[i] : NULL;
}

void runnel_ranges_close(runnel_ranges *ranges)
{
    if (!ranges)
        return;
    rn_arena_release(&ranges->arena);
    rn_free(ranges);
}
