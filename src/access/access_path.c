/* access_path.c -- the way to the documents that a query may want. */
#include "access/access_path.h"

#include <math.h>
#include <stdlib.h>

enum {
    KEYS_MAX = 1024,   /* more partition keys than this are a scan, */
    POINTS_MAX = 4096, /* more look-ups are scans of their keys */
};

struct rn_access_key {
    struct rn_pk pk;
    struct rn_view id;    /* of a point */
    struct rn_view start; /* the place where its documents begin */
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

/* ---- what WHERE pins ----------------------------------------------------- */

struct pinned {
    struct rn_pk_value *values[RN_PK_MAX];
    uint32_t counts[RN_PK_MAX];
    uint32_t levels; /* of the key, from the first on */
    const struct rn_view *ids;
    uint32_t id_count;
    bool has_ids;
};

/* The values of one path.  Zero has two forms that are equal and lie apart. */
static enum rn_code pin_level(struct rn_access *a, const struct rn_query *q,
                              struct rn_arena *arena, struct pinned *p,
                              bool *is_pinned)
{
    const struct rn_pkdef *def = &a->reading->container->pkdef;
    struct rn_query_pins pins;
    struct rn_pk_value *to;
    uint32_t n = 0;
    enum rn_code rc = rn_query_pin(q, &def->paths[p->levels], arena, &pins);

    *is_pinned = false;
    if (rc || !pins.is_pinned || pins.count > KEYS_MAX)
        return rc;
    to = rn_arena_alloc(arena, (2 * pins.count + 1) * sizeof(*to));
    if (!to)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < pins.count; i++) {
        bool is_key;
        to[n] = rn_access_key_of(&pins.values[i], &is_key);
        if (!is_key)
            return RN_OK; /* nobody knows where such documents lie */
        if (to[n].type == RN_PK_NUMBER && to[n].number == 0) {
            to[n + 1] = to[n];
            to[n].number = 0.0;
            to[++n].number = -0.0;
        }
        n++;
    }
    p->values[p->levels] = to;
    p->counts[p->levels++] = n;
    *is_pinned = true;
    return RN_OK;
}

static enum rn_code pin_keys(struct rn_access *a, const struct rn_query *q,
                             struct rn_arena *arena, struct pinned *p)
{
    const struct rn_pkdef *def = &a->reading->container->pkdef;
    bool is_pinned = true;
    enum rn_code rc = RN_OK;

    for (; a->scope.pk && p->levels < a->scope.pk->count; p->levels++) {
        p->values[p->levels] =
            (struct rn_pk_value *)(uintptr_t)&a->scope.pk->values[p->levels];
        p->counts[p->levels] = 1;
    }
    while (p->levels < def->count && is_pinned && !rc)
        rc = pin_level(a, q, arena, p, &is_pinned);
    if (p->levels < def->count && def->kind != RN_PKDEF_MULTIHASH)
        p->levels = 0;
    return rc;
}

/* Ids are strings; anything else finds nothing. */
static enum rn_code pin_ids(const struct rn_query *q, struct rn_arena *arena,
                            struct pinned *p)
{
    const struct rn_view name = RN_LIT("id");
    const struct rn_json_path path = { &name, 1 };
    struct rn_query_pins pins;
    struct rn_view *ids;
    enum rn_code rc = rn_query_pin(q, &path, arena, &pins);

    if (rc || !pins.is_pinned || pins.count > POINTS_MAX)
        return rc;
    ids = rn_arena_alloc(arena, (pins.count + 1) * sizeof(*ids));
    if (!ids)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < pins.count; i++) {
        if (pins.values[i].kind == RN_VALUE_STRING && pins.values[i].text.len)
            ids[p->id_count++] = pins.values[i].text;
    }
    p->ids = ids;
    p->has_ids = true;
    return RN_OK;
}

/* ---- keys ---------------------------------------------------------------- */

/* Where the documents of a key, of a prefix of one, or one of them lie; false
 * if outside the request's scope. */
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
    struct rn_access_key *key = &a->keys[a->count];
    struct rn_key place;

    *key = (struct rn_access_key){ .pk = *pk, .id = id };
    if (rn_pk_check_size(pk, NULL) || !aim(a, key, &place))
        return RN_OK; /* no document has such a key */
    key->start = rn_arena_copy(
        arena, rn_view_of(place.bytes + RN_KEY_HEAD, place.len - RN_KEY_HEAD));
    if (!key->start.at)
        return RN_TOO_LARGE;
    a->count++;
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

    if (a->count == 0)
        return;
    qsort(a->keys, a->count, sizeof(*a->keys), by_start);
    for (uint32_t i = 1; i < a->count; i++) {
        if (!rn_view_eq(a->keys[i].start, a->keys[n].start))
            a->keys[++n] = a->keys[i];
    }
    a->count = n + 1;
}

/* Every combination of the values, and of ids if they are few enough. */
static enum rn_code make_keys(struct rn_access *a, struct rn_arena *arena,
                              const struct pinned *p)
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
    a->keys = rn_arena_alloc(arena, (total * ids + 1) * sizeof(*a->keys));
    if (!a->keys)
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

/* ---- documents ----------------------------------------------------------- */

static bool is_everything(const struct rn_documents_scan *scope)
{
    return !scope->pk && !scope->after.len &&
           rn_epk_compare(&scope->epks.min, &rn_epk_all.min) == 0 &&
           rn_epk_compare(&scope->epks.max, &rn_epk_all.max) == 0;
}

const char *rn_access_name(enum rn_access_kind kind)
{
    static const char *const names[RN_ACCESS_KINDS] = {
        [RN_ACCESS_SCAN] = "scan",     [RN_ACCESS_KEYS] = "partition keys",
        [RN_ACCESS_POINTS] = "points", [RN_ACCESS_INDEX] = "index",
        [RN_ACCESS_ORDER] = "order",   [RN_ACCESS_EXTREMES] = "extremes",
    };

    return names[kind];
}

enum rn_code rn_access_open(struct rn_access *a, struct rn_reading *r,
                            const struct rn_access_ask *ask,
                            struct rn_arena *arena)
{
    struct pinned p = { 0 };
    enum rn_code rc;

    *a = (struct rn_access){ .reading = r, .scope = ask->scope };
    rc = pin_keys(a, ask->query, arena, &p);
    if (!rc)
        rc = pin_ids(ask->query, arena, &p);
    if (!rc)
        rc = make_keys(a, arena, &p);
    if (!rc && a->kind != RN_ACCESS_POINTS && !ask->no_index)
        rc = rn_indexed_open(a, ask, arena);
    if (!rc && !a->index && a->kind != RN_ACCESS_POINTS)
        rc = rn_query_only_counts(ask->query, arena, &a->scope.no_bodies);
    if (rc || a->kind != RN_ACCESS_SCAN)
        return rc;
    a->is_whole = !a->scope.no_bodies && is_everything(&ask->scope) &&
                  rn_query_is_orderless(ask->query);
    if (a->is_whole)
        return rn_whole_open(&a->whole, r);
    a->is_open = true;
    return rn_documents_open(&a->documents, r, &a->scope);
}

static enum rn_code open_keys(struct rn_access *a,
                              const struct rn_access_key *key)
{
    struct rn_documents_scan scan = a->scope;

    scan.pk = &key->pk;
    rn_epk_range_of(&a->reading->container->pkdef, &key->pk, &scan.epks);
    if (!rn_epk_range_meet(&scan.epks, &a->scope.epks, &scan.epks))
        return RN_OK;
    a->is_open = true;
    return rn_documents_open(&a->documents, a->reading, &scan);
}

static void close_documents(struct rn_access *a)
{
    if (a->is_open)
        rn_documents_close(&a->documents);
    a->is_open = false;
}

static enum rn_code next_point(struct rn_access *a, struct rn_view *body)
{
    struct rn_document_place place;
    enum rn_code rc = RN_NOT_FOUND;

    while (rc == RN_NOT_FOUND && a->next < a->count) {
        const struct rn_access_key *key = &a->keys[a->next++];
        int order = rn_view_compare(key->start, a->scope.after);
        if (a->scope.after.len &&
            (order < 0 || (order == 0 && !a->scope.from_there)))
            continue; /* on an earlier page */
        rc = rn_document_read(a->reading, &key->pk, key->id, body, &place);
        a->at = key->start;
    }
    return rc;
}

enum rn_code rn_access_next(struct rn_access *a, struct rn_view *body)
{
    enum rn_code rc = RN_NOT_FOUND;

    if (a->kind == RN_ACCESS_POINTS)
        return next_point(a, body);
    if (a->index)
        return rn_indexed_next(a, body);
    if (a->is_whole) {
        a->at = RN_LIT(""); /* there is no place to go on from */
        return rn_whole_next(&a->whole, body);
    }
    for (;;) {
        if (a->is_open) {
            rc = rn_documents_next(&a->documents, body);
            a->at = a->documents.at;
            a->examined += !rc && a->scope.no_bodies;
        }
        if (rc != RN_NOT_FOUND || a->next == a->count)
            return rc;
        close_documents(a);
        rc = open_keys(a, &a->keys[a->next++]);
        if (rc)
            return rc;
        rc = RN_NOT_FOUND;
    }
}

void rn_access_close(struct rn_access *a)
{
    close_documents(a);
    rn_indexed_close(a);
    rn_whole_close(&a->whole);
}
