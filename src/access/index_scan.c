/* index_scan.c -- the way to documents through an index; see access_path.h.
 *
 * Three ways.  What WHERE bounds is gathered (index_fetch.c).  ORDER BY follows
 * an index in its order.  MIN and MAX want the first documents and the last
 * that WHERE lets through.
 */
#include "access/access_path.h"

#include "base/hash.h"

enum {
    BUDGET_SHARE = 8, /* of all, to be looked at in vain */
    BUDGET_LEAST = 1000,
};

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

static bool is_same_path(const struct rn_json_path *a,
                         const struct rn_json_path *b)
{
    bool same = a->count == b->count;

    for (uint32_t i = 0; same && i < a->count; i++)
        same = rn_view_eq(a->names[i], b->names[i]);
    return same;
}

/* Where an index has the path in order: from the start, or behind other paths
 * each of which WHERE pins to one value.  Their sort keys go to `prefix`. */
static enum rn_code find_prefix(const struct rn_access_ask *ask,
                                const struct rn_index *x,
                                const struct rn_json_path *path,
                                struct rn_arena *arena,
                                struct rn_access_prefix *prefix, bool *is_good)
{
    struct rn_sortkey_form form = { .text_max = rn_index_text_max(x->count) };
    struct rn_query_pins pins;
    bool is_cut;

    prefix->len = 0;
    *is_good = false;
    for (uint32_t i = 0; i < x->count; i++) {
        enum rn_code rc;

        *is_good =
            is_same_path(&x->keys[i].path, path) && !x->keys[i].is_descending;
        if (*is_good)
            return RN_OK;
        rc = rn_query_pin(ask->query, &x->keys[i].path, arena, &pins);
        if (rc || !pins.is_pinned || pins.count != 1)
            return rc;
        form.is_descending = x->keys[i].is_descending;
        prefix->len += rn_sortkey_encode(&pins.values[0], &form,
                                         prefix->bytes + prefix->len, &is_cut);
    }
    return RN_OK;
}

/* An index at whose ends the answer is; the one of which most is pinned. */
static enum rn_code find_extreme(struct rn_access *a,
                                 const struct rn_access_ask *ask,
                                 struct rn_arena *arena,
                                 const struct rn_index **out)
{
    enum rn_code rc = rn_query_extreme(ask->query, arena, &a->extreme);
    struct rn_access_prefix prefix;
    bool is_good;

    for (uint32_t i = 0; i < a->indexes.count && !rc; i++) {
        const struct rn_index *x = &a->indexes.list[i];

        if (!a->extreme.path.count || x->state != RN_INDEX_COMPLETE)
            continue;
        rc = find_prefix(ask, x, &a->extreme.path, arena, &prefix, &is_good);
        if (rc || !is_good || (*out && prefix.len <= a->prefix.len))
            continue;
        a->prefix = prefix;
        *out = x;
    }
    return rc;
}

static enum rn_code use_extremes(struct rn_access *a,
                                 const struct rn_access_ask *ask,
                                 struct rn_arena *arena)
{
    const struct rn_json_path *paths;
    uint32_t filters;
    enum rn_code rc =
        rn_query_span(ask->query, &a->extreme.path,
                      rn_index_text_max(a->index->count), arena, &a->spans);

    if (!rc)
        rc = rn_query_filter_paths(ask->query, arena, &paths, &filters);
    if (!rc)
        set_budget(a, filters > 0);
    a->matched = ask->matched;
    a->is_backward = !a->extreme.has_min;
    a->kind = RN_ACCESS_EXTREMES;
    return rc;
}

static void add_prefix(const struct rn_access *a, struct rn_view end,
                       struct rn_key *out)
{
    memcpy(out->bytes, a->prefix.bytes, a->prefix.len);
    memcpy(out->bytes + a->prefix.len, end.at, end.len);
    out->len = a->prefix.len + end.len;
}

/* The next span from this end, as far as it decides anything: documents without
 * a value do not, and those at the upper end only for MAX, but for arrays and
 * objects, of which one spoils MIN too. */
static enum rn_code open_end(struct rn_access *a)
{
    static const char tags[] = { RN_SORTKEY_NULL, RN_SORTKEY_ARRAY,
                                 RN_SORTKEY_END };
    struct rn_view least = rn_view_of(
        a->is_backward && !a->extreme.has_max ? &tags[1] : &tags[0], 1);
    struct rn_span s = { .from = least, .before = rn_view_of(&tags[2], 1) };
    uint32_t count = a->spans.is_bounded ? a->spans.count : 1;
    struct rn_index_span span = { .is_backward = a->is_backward };
    struct rn_key from, before;

    if (a->span == count)
        return RN_NOT_FOUND;
    if (a->spans.is_bounded)
        s = a->spans.list[a->is_backward ? count - 1 - a->span : a->span];
    if (rn_view_compare(s.from, least) < 0)
        s.from = least;
    a->span++;
    add_prefix(a, s.from, &from);
    add_prefix(a, s.before, &before);
    span.from = rn_key_view(&from);
    span.before = rn_key_view(&before);
    a->is_walking = true;
    return rn_index_walk_open(&a->walk, a->reading->txn,
                              a->reading->container->number, a->index, &span);
}

/* Goes on to the upper end, unless the lower had nothing: so has that. */
static bool turn_round(struct rn_access *a)
{
    bool is_done = a->is_backward || !a->has_end;

    end_walk(a);
    a->is_backward = true;
    a->has_end = false;
    a->span = 0;
    return !is_done;
}

/* The document that was given before is one that WHERE let through: it, and
 * those that cannot be told from it, are this end. */
static void note_end(struct rn_access *a)
{
    if (*a->matched == a->matched_before)
        return;
    a->matched_before = *a->matched;
    a->has_end = true;
    a->end_group = a->walk.group;
}

/* True if one of these decides as well as all of them. */
static bool is_one_enough(const struct rn_access *a)
{
    char tag = a->walk.key.at[a->prefix.len];

    return tag == RN_SORTKEY_ARRAY || tag == RN_SORTKEY_OBJECT;
}

static enum rn_code next_extreme(struct rn_access *a, struct rn_view *body)
{
    enum rn_code rc = RN_NOT_FOUND;

    note_end(a);
    while (rc == RN_NOT_FOUND && !a->has_given_up) {
        bool is_past = false;

        rc = a->is_walking ? next_row(a) : RN_NOT_FOUND;
        if (!rc && a->has_end)
            is_past = a->walk.group != a->end_group || is_one_enough(a);
        if (!rc && !is_past) {
            a->at = a->walk.place;
            rc = rn_document_at(a->reading, a->walk.place, a->walk.rid, body);
            continue; /* over one that has expired */
        }
        if ((rc && rc != RN_NOT_FOUND) || a->has_given_up)
            break;
        end_walk(a);
        rc = is_past || a->has_end ? RN_NOT_FOUND : open_end(a);
        if (rc == RN_NOT_FOUND && !turn_round(a))
            break;
        if (rc && rc != RN_NOT_FOUND)
            break;
        rc = RN_NOT_FOUND;
    }
    return rc;
}

/* ---- choosing ------------------------------------------------------------ */

/* What WHERE leaves few of is gathered; else ORDER BY may find an index. */
static enum rn_code choose(struct rn_access *a, const struct rn_access_ask *ask,
                           struct rn_arena *arena)
{
    struct rn_index_key keys[RN_INDEX_KEYS_MAX];
    uint32_t count = 0;
    bool is_backward = false;
    const struct rn_index *order = NULL, *extreme = NULL;
    enum rn_code rc = RN_OK;

    if (!ask->no_order)
        rc = rn_indexed_order(ask->query, arena, keys, &count, &is_backward);
    if (!rc && count)
        order = find_index(a, keys, count);
    if (!rc && !order && !ask->no_order && ask->matched)
        rc = find_extreme(a, ask, arena, &extreme);
    if (!rc)
        rc = rn_gathered_open(a, ask, order || extreme, arena);
    if (rc || a->index)
        return rc;
    a->index = order ? order : extreme;
    if (order)
        return use_order(a, ask, arena, is_backward);
    return extreme ? use_extremes(a, ask, arena) : RN_OK;
}

enum rn_code rn_indexed_open(struct rn_access *a,
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

enum rn_code rn_indexed_next(struct rn_access *a, struct rn_view *body)
{
    if (a->kind == RN_ACCESS_INDEX)
        return rn_gathered_next(a, body);
    return a->kind == RN_ACCESS_ORDER ? next_ordered(a, body)
                                      : next_extreme(a, body);
}

void rn_indexed_close(struct rn_access *a)
{
    end_walk(a);
    rn_buf_release(&a->places);
    rn_arena_release(&a->held);
}
