/* key_predicates.c -- the partition keys and ids to which WHERE limits a query.
 */
#include "access/key_predicates.h"

#include "query/where/where_equalities.h"

#include <stdlib.h>

enum {
    KEYS_MAX = 1024,   /* with more partition keys it is a scan, */
    POINTS_MAX = 4096, /* with more look-ups it scans their keys */
};

struct rn_pk_value rn_access_key_of(const struct rn_value *v, bool *is_key)
{
    *is_key = true;
    switch ((enum rn_value_kind)v->kind) {
    case RN_VALUE_NULL:
        return (struct rn_pk_value){ .type = RN_PK_NULL };
    case RN_VALUE_BOOL:
        return (struct rn_pk_value){ .type =
                                         v->truth ? RN_PK_TRUE : RN_PK_FALSE };
    case RN_VALUE_NUMBER:
        return (struct rn_pk_value){ .type = RN_PK_NUMBER,
                                     .number = rn_value_real(v) };
    case RN_VALUE_STRING:
        return (struct rn_pk_value){ .type = RN_PK_STRING, .text = v->text };
    case RN_VALUE_UNDEFINED:
    case RN_VALUE_ARRAY:
    case RN_VALUE_OBJECT:
        break;
    }
    *is_key = false;
    return (struct rn_pk_value){ .type = RN_PK_UNDEFINED };
}

/* ---- the values that WHERE leaves --------------------------------------- */

struct key_values {
    struct rn_pk_value *values[RN_PK_MAX];
    uint32_t counts[RN_PK_MAX];
    uint32_t levels; /* leading components of the key */
    const struct rn_view *ids;
    uint32_t id_count;
    bool has_ids;
};

/* The values of one path.  Zero has two forms that are equal and have different
 * keys. */
static enum rn_code find_level(struct rn_access *a, const struct rn_query *q,
                               struct rn_arena *arena, struct key_values *p,
                               bool *is_limited)
{
    const struct rn_pkdef *def = &a->reading->container->pkdef;
    struct rn_where_equalities equal;
    struct rn_pk_value *to;
    uint32_t n = 0;
    enum rn_code rc =
        rn_where_equalities_find(q, &def->paths[p->levels], arena, &equal);

    *is_limited = false;
    if (rc || !equal.is_limited || equal.count > KEYS_MAX)
        return rc;
    to = rn_arena_alloc(arena, (2 * equal.count + 1) * sizeof(*to));
    if (!to)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < equal.count; i++) {
        bool is_key;
        to[n] = rn_access_key_of(&equal.values[i], &is_key);
        if (!is_key)
            return RN_OK; /* no key follows from such a value */
        if (to[n].type == RN_PK_NUMBER && to[n].number == 0) {
            to[n + 1] = to[n];
            to[n].number = 0.0;
            to[++n].number = -0.0;
        }
        n++;
    }
    p->values[p->levels] = to;
    p->counts[p->levels++] = n;
    *is_limited = true;
    return RN_OK;
}

static enum rn_code find_keys(struct rn_access *a, const struct rn_query *q,
                              struct rn_arena *arena, struct key_values *p)
{
    const struct rn_pkdef *def = &a->reading->container->pkdef;
    bool is_limited = true;
    enum rn_code rc = RN_OK;

    for (; a->scope.pk && p->levels < a->scope.pk->count; p->levels++) {
        p->values[p->levels] =
            (struct rn_pk_value *)(uintptr_t)&a->scope.pk->values[p->levels];
        p->counts[p->levels] = 1;
    }
    while (p->levels < def->count && is_limited && !rc)
        rc = find_level(a, q, arena, p, &is_limited);
    if (p->levels < def->count && def->kind != RN_PKDEF_MULTIHASH)
        p->levels = 0;
    return rc;
}

/* Ids are strings; any other value matches nothing. */
static enum rn_code find_ids(const struct rn_query *q, struct rn_arena *arena,
                             struct key_values *p)
{
    const struct rn_view name = RN_LIT("id");
    const struct rn_json_path path = { &name, 1 };
    struct rn_where_equalities equal;
    struct rn_view *ids;
    enum rn_code rc = rn_where_equalities_find(q, &path, arena, &equal);

    if (rc || !equal.is_limited || equal.count > POINTS_MAX)
        return rc;
    ids = rn_arena_alloc(arena, (equal.count + 1) * sizeof(*ids));
    if (!ids)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < equal.count; i++) {
        if (equal.values[i].kind == RN_VALUE_STRING && equal.values[i].text.len)
            ids[p->id_count++] = equal.values[i].text;
    }
    p->ids = ids;
    p->has_ids = true;
    return RN_OK;
}

/* ---- keys ---------------------------------------------------------------- */

/* The key of a document, or the lower bound of a key or of a prefix of one;
 * false if it is outside the request's scope. */
static bool aim(struct rn_access *a, const struct rn_access_key *key,
                struct rn_key *out)
{
    const struct rn_container *c = a->reading->container;
    struct rn_epk_range epks;

    rn_epk_range_of(&c->pkdef, &key->pk, &epks);
    if (!rn_epk_range_meet(&epks, &a->scope.epks, &epks))
        return false;
    if (key->pk.count == c->pkdef.count)
        rn_key_document(c->number, &epks.min, &key->pk, key->id, out);
    else
        rn_key_document_bound(c->number, &epks.min, out);
    return true;
}

static enum rn_code add_key(struct rn_access *a, struct rn_arena *arena,
                            const struct rn_pk *pk, struct rn_view id)
{
    struct rn_access_key *key = &a->keys.list[a->keys.count];
    struct rn_key place;

    *key = (struct rn_access_key){ .pk = *pk, .id = id };
    if (rn_pk_check_size(pk, NULL) || !aim(a, key, &place))
        return RN_OK; /* no document can have such a key */
    key->start = rn_arena_copy(
        arena, rn_view_of(place.bytes + RN_KEY_HEAD, place.len - RN_KEY_HEAD));
    if (!key->start.at)
        return RN_TOO_LARGE;
    a->keys.count++;
    return RN_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct rn_access_key *x = a, *y = b;

    return rn_view_compare(x->start, y->start);
}

static void sort_keys(struct rn_access *a)
{
    uint32_t n = 0;

    if (a->keys.count == 0)
        return;
    qsort(a->keys.list, a->keys.count, sizeof(*a->keys.list), by_start);
    for (uint32_t i = 1; i < a->keys.count; i++) {
        if (!rn_view_eq(a->keys.list[i].start, a->keys.list[n].start))
            a->keys.list[++n] = a->keys.list[i];
    }
    a->keys.count = n + 1;
}

/* Makes every combination of the values, and of ids if they are few enough. */
static enum rn_code make_keys(struct rn_access *a, struct rn_arena *arena,
                              const struct key_values *p)
{
    bool is_whole = p->levels == a->reading->container->pkdef.count;
    uint64_t total = 1, ids;
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < p->levels && total <= KEYS_MAX; i++)
        total *= p->counts[i];
    if (p->levels == 0 || total > KEYS_MAX)
        return RN_OK;
    a->kind = is_whole && p->has_ids && total * p->id_count <= POINTS_MAX
                  ? RN_ACCESS_POINTS
                  : RN_ACCESS_KEYS;
    ids = a->kind == RN_ACCESS_POINTS ? p->id_count : 1;
    a->keys.list =
        rn_arena_alloc(arena, (total * ids + 1) * sizeof(*a->keys.list));
    if (!a->keys.list)
        return RN_TOO_LARGE;
    for (uint64_t n = 0; n < total && !rc; n++) {
        struct rn_pk pk = { .count = p->levels };
        uint64_t left = n;
        for (uint32_t i = 0; i < p->levels; i++) {
            pk.values[i] = p->values[i][left % p->counts[i]];
            left /= p->counts[i];
        }
        for (uint64_t i = 0; i < ids && !rc; i++) {
            rc = add_key(a, arena, &pk,
                         a->kind == RN_ACCESS_POINTS ? p->ids[i]
                                                     : (struct rn_view){ 0 });
        }
    }
    sort_keys(a);
    return rc;
}

enum rn_code rn_access_choose_keys(struct rn_access *a,
                                   const struct rn_query *q,
                                   struct rn_arena *arena)
{
    struct key_values p = { 0 };
    enum rn_code rc = find_keys(a, q, arena, &p);

    if (!rc)
        rc = find_ids(q, arena, &p);
    return rc ? rc : make_keys(a, arena, &p);
}
