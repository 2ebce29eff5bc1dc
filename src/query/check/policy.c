/* policy.c -- the parts of a container's definition that queries use; see
 * policy.h. */
#include "query/check/policy.h"

#include <strings.h>

static bool is_text(struct rn_view text, const char *word)
{
    return text.len == strlen(word) &&
           strncasecmp(text.at, word, text.len) == 0;
}

bool rn_distance_named(struct rn_view name, enum rn_distance *out)
{
    if (is_text(name, "cosine"))
        *out = RN_DISTANCE_COSINE;
    else if (is_text(name, "dotproduct"))
        *out = RN_DISTANCE_DOT;
    else if (is_text(name, "euclidean"))
        *out = RN_DISTANCE_EUCLID;
    else
        return false;
    return true;
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
    const struct rn_json *json;
    struct rn_arena *arena;
};

/* Reads one element; false skips it. */
typedef bool read_fn(const struct reader *r, uint32_t at, void *to);

static enum rn_code read_list(const struct reader *r, uint32_t list,
                              size_t size, read_fn *read, const void **out,
                              uint32_t *count)
{
    struct rn_json_walk w = rn_json_walk_begin(r->json, list);
    char *at =
        rn_arena_alloc(r->arena, (rn_json_count(r->json, list) + 1) * size);

    *count = 0;
    *out = at;
    if (!at)
        return RN_TOO_LARGE;
    if (rn_json_kind(r->json, list) != RN_JSON_ARRAY)
        return RN_OK;
    while (rn_json_walk_next(&w)) {
        memset(at + *count * size, 0, size);
        if (read(r, w.value, at + *count * size))
            ++*count;
    }
    return RN_OK;
}

static struct rn_view text_of(const struct reader *r, uint32_t at,
                              const char *name)
{
    struct rn_view text = { 0 };
    uint32_t value = rn_json_find(r->json, at, rn_view_text(name));

    if (rn_json_kind(r->json, value) != RN_JSON_STRING ||
        rn_json_string_get(r->json, value, r->arena, &text))
        return (struct rn_view){ 0 };
    return text;
}

static bool read_computed(const struct reader *r, uint32_t at, void *to)
{
    struct rn_policy_computed *c = to;

    c->name = text_of(r, at, "name");
    c->query = text_of(r, at, "query");
    return c->name.len && c->query.len;
}

/* Paths into arrays ("/tags/[]/?") cannot serve ORDER BY and are skipped. */
static bool read_path(const struct reader *r, uint32_t at, void *to)
{
    struct rn_policy_path *p = to;
    struct rn_view text = text_of(r, at, "path");

    if (rn_view_eq(text, RN_LIT("/"))) /* an old spelling */
        text = RN_LIT("/*");
    if (text.len < 2 || text.at[text.len - 2] != '/')
        return false;
    p->is_tree = text.at[text.len - 1] == '*';
    if (!p->is_tree && text.at[text.len - 1] != '?')
        return false;
    text.len -= 2;
    return text.len == 0 ||
           rn_json_path_parse(text, r->arena, &p->path, NULL) == RN_OK;
}

static bool read_key(const struct reader *r, uint32_t at, void *to)
{
    struct rn_policy_key *k = to;

    k->is_descending = is_text(text_of(r, at, "order"), "descending");
    return rn_json_path_parse(text_of(r, at, "path"), r->arena, &k->path,
                              NULL) == RN_OK;
}

static bool read_composite(const struct reader *r, uint32_t at, void *to)
{
    struct rn_policy_composite *c = to;
    const void *keys;

    if (read_list(r, at, sizeof(*c->keys), read_key, &keys, &c->count))
        return false;
    c->keys = (struct rn_policy_key *)(uintptr_t)keys;
    return c->count == rn_json_count(r->json, at) && c->count > 0;
}

static bool read_vector(const struct reader *r, uint32_t at, void *to)
{
    struct rn_policy_vector *v = to;

    return rn_distance_named(text_of(r, at, "distanceFunction"),
                             &v->distance) &&
           rn_json_path_parse(text_of(r, at, "path"), r->arena, &v->path,
                              NULL) == RN_OK;
}

static uint32_t find(const struct reader *r, const char *outer,
                     const char *inner)
{
    uint32_t at = rn_json_find(r->json, 0, rn_view_text(outer));

    return inner ? rn_json_find(r->json, at, rn_view_text(inner)) : at;
}

enum list { COMPUTED, INCLUDED, EXCLUDED, COMPOSITES, VECTORS, LISTS };

enum rn_code rn_policy_read(const struct rn_json *definition,
                            struct rn_arena *a, struct rn_policy *out)
{
    static const struct {
        const char *outer, *inner;
        size_t size;
        read_fn *read;
    } lists[LISTS] = {
        [COMPUTED] = { "computedProperties", NULL, sizeof(*out->computed),
                       read_computed },
        [INCLUDED] = { "indexingPolicy", "includedPaths",
                       sizeof(*out->included), read_path },
        [EXCLUDED] = { "indexingPolicy", "excludedPaths",
                       sizeof(*out->excluded), read_path },
        [COMPOSITES] = { "indexingPolicy", "compositeIndexes",
                         sizeof(*out->composites), read_composite },
        [VECTORS] = { "vectorEmbeddingPolicy", "vectorEmbeddings",
                      sizeof(*out->vectors), read_vector },
    };
    struct reader r = { definition, a };
    const void *found[LISTS] = { 0 };
    uint32_t counts[LISTS] = { 0 };
    enum rn_code rc = RN_OK;

    for (size_t i = 0; i < LISTS && !rc; i++)
        rc = read_list(&r, find(&r, lists[i].outer, lists[i].inner),
                       lists[i].size, lists[i].read, &found[i], &counts[i]);
    *out = (struct rn_policy){
        .computed = found[COMPUTED],
        .computed_count = counts[COMPUTED],
        .included = found[INCLUDED],
        .included_count = counts[INCLUDED],
        .excluded = found[EXCLUDED],
        .excluded_count = counts[EXCLUDED],
        .composites = found[COMPOSITES],
        .composite_count = counts[COMPOSITES],
        .vectors = found[VECTORS],
        .vector_count = counts[VECTORS],
    };
    out->is_planar = is_text(
        text_of(&r, find(&r, "geospatialConfig", NULL), "type"), "Geometry");
    out->is_unindexed = rn_json_string_is(
        definition, find(&r, "indexingPolicy", "indexingMode"), RN_LIT("none"));
    return rc;
}

/* ---- lookups ------------------------------------------------------------- */

const struct rn_policy_computed *
rn_policy_find_computed(const struct rn_policy *p, struct rn_view name)
{
    for (uint32_t i = 0; p && i < p->computed_count; i++) {
        if (rn_view_eq(p->computed[i].name, name))
            return &p->computed[i];
    }
    return NULL;
}

static bool starts(const struct rn_json_path *path,
                   const struct rn_json_path *with)
{
    if (with->count > path->count)
        return false;
    for (uint32_t i = 0; i < with->count; i++) {
        if (!rn_view_eq(path->names[i], with->names[i]))
            return false;
    }
    return true;
}

const struct rn_policy_vector *
rn_policy_find_vector(const struct rn_policy *p,
                      const struct rn_json_path *path)
{
    for (uint32_t i = 0; p && i < p->vector_count; i++) {
        if (p->vectors[i].path.count == path->count &&
            starts(path, &p->vectors[i].path))
            return &p->vectors[i];
    }
    return NULL;
}

/* The score of the best matching pattern; 0 if none matches.  A longer pattern
 * wins; of two equally long ones, the one without a star. */
static uint32_t fit(const struct rn_policy_path *list, uint32_t count,
                    const struct rn_json_path *path)
{
    uint32_t best = 0;

    for (uint32_t i = 0; i < count; i++) {
        bool fits = starts(path, &list[i].path) &&
                    (list[i].is_tree || list[i].path.count == path->count);
        uint32_t how = 2 * list[i].path.count + (list[i].is_tree ? 1 : 2);
        if (fits && how > best)
            best = how;
    }
    return best;
}

bool rn_policy_is_indexed(const struct rn_policy *p,
                          const struct rn_json_path *path)
{
    bool is_always =
        path->count == 1 && (rn_view_eq(path->names[0], RN_LIT("id")) ||
                             rn_view_eq(path->names[0], RN_LIT("_ts")));

    if (p->is_unindexed)
        return false;
    return is_always || fit(p->included, p->included_count, path) >
                            fit(p->excluded, p->excluded_count, path);
}

static bool is_same(const struct rn_policy_composite *c,
                    const struct rn_policy_key *keys, bool is_reversed)
{
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->keys[i].path.count != keys[i].path.count ||
            !starts(&c->keys[i].path, &keys[i].path) ||
            (c->keys[i].is_descending != keys[i].is_descending) != is_reversed)
            return false;
    }
    return true;
}

bool rn_policy_has_composite(const struct rn_policy *p,
                             const struct rn_policy_key *keys, uint32_t count)
{
    for (uint32_t i = 0; i < p->composite_count && !p->is_unindexed; i++) {
        const struct rn_policy_composite *c = &p->composites[i];
        if (c->count == count &&
            (is_same(c, keys, false) || is_same(c, keys, true)))
            return true;
    }
    return false;
}
