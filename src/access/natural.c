/* natural.c -- access path: documents in the order of their creation.
 *
 * Without ORDER BY the documents of a range come by their rids, and ranges in
 * the order of their intervals.  A scan of ranges follows the rids; for any
 * other path the places of all documents are collected and sorted, which is
 * only done while they are few.  A position has the interval that is being
 * read, as bounds and not as a range id, so that a split or a merge does not
 * change it, and the rid of the document:
 *
 *   min length 1 | min | max length 1 | max | rid 8
 */
#include "access/natural.h"

#include "access/access_ops.h"
#include "access/key_predicates.h"
#include "access/places.h"
#include "base/bytes.h"
#include "engine/document/rid_scan.h"
#include "engine/document/snapshot.h"

#include <stdlib.h>

/* So many places are sorted at a time: a page seldom needs more.  After them,
 * the next ones are collected. */
enum { SORTED_MAX = 1024 };

/* An interval whose documents are in the order of their rids. */
struct rn_access_segment {
    struct rn_epk_range epks; /* as in positions */
    bool has_range;           /* its part of the scope has a full range */
    struct rn_view from;      /* its lowest place */
};

/* ---- positions ----------------------------------------------------------- */

static size_t put_epk(const struct rn_epk *epk, char *out)
{
    out[0] = (char)epk->len;
    memcpy(out + 1, epk->bytes, epk->len);
    return 1 + epk->len;
}

size_t rn_access_position_put(const struct rn_epk_range *epks, uint64_t rid,
                              char out[RN_PLACE_MAX])
{
    size_t len = put_epk(&epks->min, out);

    len += put_epk(&epks->max, out + len);
    rn_put_u64_be(out + len, rid);
    return len + 8;
}

static bool get_epk(struct rn_view *in, struct rn_epk *out)
{
    if (!in->len || (unsigned char)in->at[0] > sizeof(out->bytes) ||
        in->len - 1 < (unsigned char)in->at[0])
        return false;
    out->len = (unsigned char)in->at[0];
    memcpy(out->bytes, in->at + 1, out->len);
    *in = rn_view_of(in->at + 1 + out->len, in->len - 1 - out->len);
    return true;
}

bool rn_access_position_get(struct rn_view in, struct rn_epk_range *epks,
                            uint64_t *rid)
{
    if (!get_epk(&in, &epks->min) || !get_epk(&in, &epks->max) || in.len != 8 ||
        rn_epk_compare(&epks->min, &epks->max) > 0)
        return false;
    *rid = rn_get_u64_be(in.at);
    return true;
}

enum rn_code rn_access_begin_natural(struct rn_access *a,
                                     const struct rn_access_ask *ask)
{
    struct rn_access_natural *n = &a->natural;
    struct rn_epk_range rest;

    if (ask->order != RN_ORDER_RIDS || !ask->scope.after.len)
        return RN_OK;
    if (!rn_access_position_get(ask->scope.after, &n->begun, &n->from))
        return RN_BAD_REQUEST;
    n->has_begun = true;
    n->from += !ask->scope.from_there;
    a->scope.after = (struct rn_view){ 0 };
    rest = (struct rn_epk_range){ n->begun.min, a->scope.epks.max };
    if (!rn_epk_range_meet(&rest, &a->scope.epks, &a->scope.epks))
        a->scope.epks.max = a->scope.epks.min; /* it was read completely */
    return RN_OK;
}

/* ---- segments ------------------------------------------------------------ */

static enum rn_code add_segment(struct rn_access *a,
                                const struct rn_epk_range *epks, bool has_range,
                                struct rn_arena *arena)
{
    struct rn_access_natural *n = &a->natural;
    struct rn_access_segment *s = &n->segments[n->count];
    const struct rn_container *c = a->reading->container;
    struct rn_key from;

    *s = (struct rn_access_segment){ .epks = *epks, .has_range = has_range };
    rn_key_document_bound(c->number, &epks->min, &from);
    s->from = rn_arena_copy(
        arena, rn_view_of(from.bytes + RN_KEY_HEAD, from.len - RN_KEY_HEAD));
    if (!s->from.at)
        return RN_TOO_LARGE;
    n->count++;
    return RN_OK;
}

static bool has_whole(const struct rn_epk_range *epks,
                      const struct rn_epk_range *range)
{
    return rn_epk_compare(&epks->min, &range->min) <= 0 &&
           rn_epk_compare(&range->max, &epks->max) <= 0;
}

/* Adds the interval that a page has begun; it may no longer be a range. */
static enum rn_code add_begun(struct rn_access *a, struct rn_arena *arena)
{
    const struct rn_container *c = a->reading->container;
    struct rn_epk_range epks;
    bool has_range = false;

    if (rn_epk_range_meet(&a->natural.begun, &a->scope.epks, &epks)) {
        for (size_t i = 0; i < c->range_count && !has_range; i++)
            has_range = has_whole(&epks, &c->ranges[i].epks);
    } else {
        has_range = true; /* no part of it is left */
    }
    return add_segment(a, &a->natural.begun, has_range, arena);
}

/* The interval that a page has begun, then the current ranges after it. */
static enum rn_code find_segments(struct rn_access *a, struct rn_arena *arena)
{
    const struct rn_container *c = a->reading->container;
    struct rn_access_natural *n = &a->natural;
    struct rn_epk_range rest = a->scope.epks, epks;
    enum rn_code rc = RN_OK;

    n->segments =
        rn_arena_alloc(arena, (c->range_count + 1) * sizeof(*n->segments));
    if (!n->segments)
        return RN_TOO_LARGE;
    if (n->has_begun) {
        rc = add_begun(a, arena);
        if (rn_epk_compare(&rest.min, &n->begun.max) < 0)
            rest.min = n->begun.max;
    }
    for (size_t i = 0; i < c->range_count && !rc; i++) {
        if (rn_epk_compare(&rest.min, &rest.max) < 0 &&
            rn_epk_range_meet(&c->ranges[i].epks, &rest, &epks))
            rc = add_segment(a, &epks, has_whole(&epks, &c->ranges[i].epks),
                             arena);
    }
    return rc;
}

/* The last segment that begins before a place. */
static uint32_t segment_of(const struct rn_access_natural *n,
                           struct rn_view place)
{
    uint32_t low = 0, high = n->count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (rn_view_compare(n->segments[middle].from, place) <= 0)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The documents of a segment within the scope; false if there are none. */
static bool scan_of(const struct rn_access *a, uint32_t segment,
                    struct rn_documents_scan *out)
{
    *out = a->scope;
    return rn_epk_range_meet(&a->natural.segments[segment].epks, &a->scope.epks,
                             &out->epks);
}

/* ---- collected places ---------------------------------------------------- */

static int by_rid(const void *a, const void *b)
{
    const struct rn_access_place *x = a, *y = b;

    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    return (x->rid > y->rid) - (x->rid < y->rid);
}

static void sort_places(struct rn_access_places *p)
{
    if (p->list.len)
        qsort(p->list.at, rn_access_places_count(p),
              sizeof(struct rn_access_place), by_rid);
}

static bool is_behind(const struct rn_access_place *p, uint32_t segment,
                      uint64_t rid)
{
    return p->segment > segment || (p->segment == segment && p->rid >= rid);
}

/* Keeps the places with the least rids, in memory of their own; places after
 * the last of them are no longer collected. */
static enum rn_code cut_places(struct rn_access *a)
{
    struct rn_access_places kept = RN_ACCESS_PLACES_INIT, *p = &a->places;
    const struct rn_access_place *list = rn_access_places_list(p);
    enum rn_code rc = RN_OK;

    sort_places(p);
    for (size_t i = 0; i < SORTED_MAX && !rc; i++)
        rc = rn_access_places_add(&kept, &list[i]);
    a->natural.is_cut = true;
    a->natural.end_segment = list[SORTED_MAX - 1].segment;
    a->natural.end = list[SORTED_MAX - 1].rid + 1;
    rn_access_places_release(p);
    *p = kept;
    return rc;
}

/* RN_TOO_LARGE if there are too many, and another order is allowed. */
static enum rn_code collect_place(struct rn_access *a, struct rn_view place,
                                  uint64_t rid, uint32_t key)
{
    struct rn_access_natural *n = &a->natural;
    struct rn_access_place p = {
        .place = place, .rid = rid, .key = key, .segment = segment_of(n, place)
    };
    enum rn_code rc = RN_OK;

    if (!n->is_forced && ++n->collected > RN_ACCESS_NATURAL_MAX)
        return RN_TOO_LARGE;
    if (!is_behind(&p, n->at, n->from))
        return RN_OK; /* it was returned before */
    if (a->kind != RN_ACCESS_INDEX &&
        rn_access_places_count(&a->places) == (size_t)2 * SORTED_MAX)
        rc = cut_places(a);
    if (rc || (n->is_cut && is_behind(&p, n->end_segment, n->end)))
        return rc;
    return rn_access_places_add(&a->places, &p);
}

static enum rn_code collect_points(struct rn_access *a)
{
    enum rn_code rc = RN_OK;
    uint64_t rid;

    for (uint32_t i = 0; i < a->keys.count && !rc; i++) {
        rc = rn_document_rid_at(a->reading, a->keys.list[i].start, &rid);
        if (!rc)
            rc = collect_place(a, a->keys.list[i].start, rid, i);
        else if (rc == RN_NOT_FOUND)
            rc = RN_OK;
    }
    return rc;
}

/* Collects along the chosen path, without reading documents. */
static enum rn_code collect_documents(struct rn_access *a,
                                      const struct rn_access_ask *ask,
                                      struct rn_arena *arena)
{
    const struct rn_access_ops *path =
        a->kind == RN_ACCESS_KEYS ? &rn_access_keys : &rn_access_scan;
    uint64_t examined = a->examined;
    struct rn_view body;
    enum rn_code rc;

    a->scope.no_bodies = true;
    a->keys.next = 0;
    rc = path->open(a, ask, arena);
    while (!rc) {
        rc = path->next(a, &body);
        if (!rc)
            rc = collect_place(a, a->at, a->documents.rid, 0);
    }
    path->close(a);
    a->keys.next = 0;
    a->scope.no_bodies = false;
    a->examined = examined;
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

/* Collects from the places that an index range already has. */
static enum rn_code collect_gathered(struct rn_access *a)
{
    struct rn_access_places all = a->places;
    const struct rn_access_place *list = rn_access_places_list(&all);
    enum rn_code rc = RN_OK;

    a->places = RN_ACCESS_PLACES_INIT;
    for (size_t i = 0; i < rn_access_places_count(&all) && !rc; i++)
        rc = collect_place(a, list[i].place, list[i].rid, 0);
    if (rc == RN_TOO_LARGE) {
        rn_access_places_release(&a->places);
        a->places = all; /* restored */
        return rc;
    }
    rn_access_places_release(&all);
    return rc;
}

static enum rn_code collect(struct rn_access *a,
                            const struct rn_access_ask *ask,
                            struct rn_arena *arena)
{
    enum rn_code rc;

    a->natural.is_cut = false;
    if (a->kind == RN_ACCESS_POINTS)
        rc = collect_points(a);
    else if (a->kind == RN_ACCESS_INDEX)
        rc = collect_gathered(a);
    else
        rc = collect_documents(a, ask, arena);
    if (!rc)
        sort_places(&a->places);
    return rc;
}

static enum rn_code read_place(struct rn_access *a,
                               const struct rn_access_place *p,
                               struct rn_view *body)
{
    const struct rn_access_key *key;
    struct rn_document_place where;

    if (a->kind != RN_ACCESS_POINTS)
        return rn_document_at(a->reading, p->place, p->rid, body);
    key = &a->keys.list[p->key];
    return rn_document_read(a->reading, &key->pk, key->id, body, &where);
}

static void set_position(struct rn_access *a, uint32_t segment, uint64_t rid)
{
    struct rn_access_natural *n = &a->natural;

    n->at = segment;
    n->from = rid + 1;
    a->at = rn_view_of(
        n->position,
        rn_access_position_put(&n->segments[segment].epks, rid, n->position));
}

static enum rn_code next_sorted(struct rn_access *a, struct rn_view *body)
{
    enum rn_code rc = RN_NOT_FOUND;

    while (rc == RN_NOT_FOUND) {
        const struct rn_access_place *p;

        if (a->places.next == rn_access_places_count(&a->places)) {
            if (!a->natural.is_cut)
                break;
            rn_access_places_release(&a->places);
            a->places = RN_ACCESS_PLACES_INIT;
            rc = collect(a, &a->natural.ask, a->natural.arena);
            if (rc)
                return rc;
            rc = RN_NOT_FOUND;
            continue;
        }
        p = &rn_access_places_list(&a->places)[a->places.next++];
        set_position(a, p->segment, p->rid);
        rc = read_place(a, p, body); /* RN_NOT_FOUND if it has expired */
    }
    return rc;
}

static void close_sorted(struct rn_access *a)
{
    rn_access_places_release(&a->places);
}

static const struct rn_access_ops sorted = { NULL, NULL, next_sorted,
                                             close_sorted };

/* ---- along the rids ------------------------------------------------------ */

static enum rn_code next_by_rid(struct rn_access *a, struct rn_view *body)
{
    struct rn_access_natural *n = &a->natural;
    struct rn_documents_scan scan;
    enum rn_code rc = RN_NOT_FOUND;

    while (rc == RN_NOT_FOUND) {
        if (n->is_open)
            rc = rn_rid_scan_next(&n->scan);
        if (!rc) {
            set_position(a, n->at, n->scan.rid);
            rc = rn_document_at(a->reading, n->scan.place, n->scan.rid, body);
            continue; /* skips an expired one */
        }
        if (rc != RN_NOT_FOUND)
            return rc;
        if (n->is_open) {
            rn_rid_scan_close(&n->scan);
            n->is_open = false;
            n->at++;
            n->from = 0;
        }
        while (n->at < n->count && !scan_of(a, n->at, &scan)) {
            n->at++;
            n->from = 0;
        }
        if (n->at == n->count)
            return RN_NOT_FOUND;
        n->is_open = true;
        rc = rn_rid_scan_open(&n->scan, a->reading, &n->counts, &scan, n->from);
        rc = rc ? rc : RN_NOT_FOUND;
    }
    return rc;
}

static void close_by_rid(struct rn_access *a)
{
    rn_rid_scan_close(&a->natural.scan);
}

static const struct rn_access_ops by_rids = { NULL, NULL, next_by_rid,
                                              close_by_rid };

/* ---- the choice ---------------------------------------------------------- */

/* Has a segment few enough documents?  The number created includes deleted
 * ones, so the existing ones may have to be counted. */
static enum rn_code is_small(struct rn_access *a, uint32_t segment, bool *out)
{
    struct rn_documents_scan scan;
    struct rn_documents d = { 0 };
    struct rn_view body;
    uint64_t count = 0;
    enum rn_code rc;

    *out = !scan_of(a, segment, &scan) ||
           rn_creation_counts_sum(&a->natural.counts, &scan.epks) <=
               RN_ACCESS_NATURAL_MAX;
    if (*out)
        return RN_OK;
    scan.no_bodies = true;
    rc = rn_documents_open(&d, a->reading, &scan);
    while (!rc && count <= RN_ACCESS_NATURAL_MAX) {
        rc = rn_documents_next(&d, &body);
        count += !rc;
    }
    rn_documents_close(&d);
    *out = count <= RN_ACCESS_NATURAL_MAX;
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static enum rn_code are_small(struct rn_access *a, bool *out)
{
    enum rn_code rc = RN_OK;

    *out = true;
    if (rn_creation_counts_sum(&a->natural.counts, &a->scope.epks) <=
        RN_ACCESS_NATURAL_MAX)
        return RN_OK; /* few enough in total */
    for (uint32_t i = 0; i < a->natural.count && *out && !rc; i++)
        rc = is_small(a, i, out);
    return rc;
}

/* Can a scan follow the rids without reading many others? */
static bool is_of_ranges(const struct rn_access *a)
{
    bool yes = a->kind == RN_ACCESS_SCAN && !a->scope.pk;

    for (uint32_t i = 0; i < a->natural.count && yes; i++)
        yes = a->natural.segments[i].has_range;
    return yes;
}

enum rn_code rn_access_open_natural(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena)
{
    struct rn_access_natural *n = &a->natural;
    bool is_good = true;
    enum rn_code rc = find_segments(a, arena);

    n->is_forced = ask->order == RN_ORDER_RIDS;
    n->ask = *ask;
    n->arena = arena;
    if (rc)
        return rc;
    if (is_of_ranges(a)) {
        rc = rn_creation_counts_read(&n->counts, a->reading, arena);
        if (!rc && !n->is_forced)
            rc = are_small(a, &is_good);
        if (!rc && is_good)
            a->ops = &by_rids;
        return rc;
    }
    if (a->kind != RN_ACCESS_INDEX)
        a->places = RN_ACCESS_PLACES_INIT;
    rc = collect(a, ask, arena);
    if (rc == RN_TOO_LARGE && !n->is_forced) {
        if (a->kind != RN_ACCESS_INDEX)
            rn_access_places_release(&a->places);
        return RN_OK;
    }
    n->is_forced = true; /* later pages keep this order */
    if (!rc)
        a->ops = &sorted;
    return rc;
}
