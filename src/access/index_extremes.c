/* index_extremes.c -- access path: the first and the last documents of an
 * index.
 *
 * MIN and MAX need the first and the last documents that pass WHERE.
 */
#include "access/index_extremes.h"

#include "access/access_ops.h"
#include "access/index_scan.h"
#include "engine/document/snapshot.h"
#include "query/where/filters.h"
#include "query/where/where_equalities.h"
#include "query/where/where_intervals.h"

/* Checks that the path orders the index: it is the first, or all paths before
 * it are limited by WHERE to one value.  Their sort keys are added to `prefix`.
 */
static enum rn_code find_prefix(const struct rn_access_ask *ask,
                                const struct rn_index *x,
                                const struct rn_json_path *path,
                                struct rn_arena *arena,
                                struct rn_access_prefix *prefix, bool *is_good)
{
    struct rn_sortkey_form form = { .text_max = rn_index_text_max(x->count) };
    struct rn_where_equalities equal;
    bool is_cut;

    prefix->len = 0;
    *is_good = false;
    for (uint32_t i = 0; i < x->count; i++) {
        enum rn_code rc;

        *is_good = rn_json_path_eq(&x->keys[i].path, path) &&
                   !x->keys[i].is_descending;
        if (*is_good)
            return RN_OK;
        rc = rn_where_equalities_find(ask->query, &x->keys[i].path, arena,
                                      &equal);
        if (rc || !equal.is_limited || equal.count != 1)
            return rc;
        form.is_descending = x->keys[i].is_descending;
        prefix->len += rn_sortkey_encode(&equal.values[0], &form,
                                         prefix->bytes + prefix->len, &is_cut);
    }
    return RN_OK;
}

/* An index with the answer at its ends; the one with most paths limited to one
 * value. */
enum rn_code rn_access_find_extreme(struct rn_access *a,
                                    const struct rn_access_ask *ask,
                                    struct rn_arena *arena,
                                    const struct rn_index **out)
{
    enum rn_code rc = rn_query_extreme(ask->query, arena, &a->extremes.what);
    struct rn_access_prefix prefix;
    bool is_good;

    for (uint32_t i = 0; i < a->indexes.count && !rc; i++) {
        const struct rn_index *x = &a->indexes.list[i];

        if (!a->extremes.what.path.count || x->state != RN_INDEX_COMPLETE)
            continue;
        rc = find_prefix(ask, x, &a->extremes.what.path, arena, &prefix,
                         &is_good);
        if (rc || !is_good || (*out && prefix.len <= a->extremes.prefix.len))
            continue;
        a->extremes.prefix = prefix;
        *out = x;
    }
    return rc;
}

static enum rn_code open(struct rn_access *a, const struct rn_access_ask *ask,
                         struct rn_arena *arena)
{
    const struct rn_json_path *paths;
    uint32_t filters;
    enum rn_code rc = rn_where_intervals_find(
        ask->query, &a->extremes.what.path, rn_index_text_max(a->index->count),
        arena, &a->walk.spans);

    if (!rc)
        rc = rn_query_filter_paths(ask->query, arena, &paths, &filters);
    if (!rc)
        rn_access_set_budget(a, filters > 0);
    a->extremes.matched = ask->matched;
    a->walk.is_backward = !a->extremes.what.has_min;
    return rc;
}

static void add_prefix(const struct rn_access *a, struct rn_view end,
                       struct rn_key *out)
{
    memcpy(out->bytes, a->extremes.prefix.bytes, a->extremes.prefix.len);
    memcpy(out->bytes + a->extremes.prefix.len, end.at, end.len);
    out->len = a->extremes.prefix.len + end.len;
}

/* Opens the next interval from this end, limited to rows that can decide.
 * Documents without a value cannot.  Those at the upper end can only for MAX,
 * except arrays and objects, one of which makes MIN undefined too. */
static enum rn_code open_end(struct rn_access *a)
{
    static const char tags[] = { RN_SORTKEY_NULL, RN_SORTKEY_ARRAY,
                                 RN_SORTKEY_END };
    struct rn_view least = rn_view_of(
        a->walk.is_backward && !a->extremes.what.has_max ? &tags[1] : &tags[0],
        1);
    struct rn_sortkey_interval s = { .from = least,
                                     .before = rn_view_of(&tags[2], 1) };
    uint32_t count = a->walk.spans.is_bounded ? a->walk.spans.count : 1;
    struct rn_index_span span = { .is_backward = a->walk.is_backward };
    struct rn_key from, before;

    if (a->walk.span == count)
        return RN_NOT_FOUND;
    if (a->walk.spans.is_bounded)
        s = a->walk.spans.list[a->walk.is_backward ? count - 1 - a->walk.span
                                                   : a->walk.span];
    if (rn_view_compare(s.from, least) < 0)
        s.from = least;
    a->walk.span++;
    add_prefix(a, s.from, &from);
    add_prefix(a, s.before, &before);
    span.from = rn_key_view(&from);
    span.before = rn_key_view(&before);
    a->walk.is_open = true;
    return rn_index_walk_open(&a->walk.rows, a->reading->txn,
                              a->reading->container->number, a->index, &span);
}

/* Goes on to the upper end, unless the lower end was empty: then so is the
 * upper. */
static bool turn_round(struct rn_access *a)
{
    bool is_done = a->walk.is_backward || !a->extremes.has_end;

    rn_access_end_walk(a);
    a->walk.is_backward = true;
    a->extremes.has_end = false;
    a->walk.span = 0;
    return !is_done;
}

/* If the last document returned passed WHERE, it and the rows that are not
 * ordered after it (its group) are this end. */
static void note_end(struct rn_access *a)
{
    if (*a->extremes.matched == a->extremes.matched_before)
        return;
    a->extremes.matched_before = *a->extremes.matched;
    a->extremes.has_end = true;
    a->extremes.group = a->walk.rows.group;
}

/* True if one such row decides as well as all of them. */
static bool is_one_enough(const struct rn_access *a)
{
    char tag = a->walk.rows.key.at[a->extremes.prefix.len];

    return tag == RN_SORTKEY_ARRAY || tag == RN_SORTKEY_OBJECT;
}

static enum rn_code next(struct rn_access *a, struct rn_view *body)
{
    enum rn_code rc = RN_NOT_FOUND;

    note_end(a);
    while (rc == RN_NOT_FOUND && !a->has_given_up) {
        bool is_past = false;

        rc = a->walk.is_open ? rn_access_next_row(a) : RN_NOT_FOUND;
        if (!rc && a->extremes.has_end)
            is_past =
                a->walk.rows.group != a->extremes.group || is_one_enough(a);
        if (!rc && !is_past) {
            a->at = a->walk.rows.place;
            rc = rn_document_at(a->reading, a->walk.rows.place,
                                a->walk.rows.rid, body);
            continue; /* skips an expired one */
        }
        if ((rc && rc != RN_NOT_FOUND) || a->has_given_up)
            break;
        rn_access_end_walk(a);
        rc = is_past || a->extremes.has_end ? RN_NOT_FOUND : open_end(a);
        if (rc == RN_NOT_FOUND && !turn_round(a))
            break;
        if (rc && rc != RN_NOT_FOUND)
            break;
        rc = RN_NOT_FOUND;
    }
    return rc;
}

const struct rn_access_ops rn_access_index_extremes = { "extremes", open, next,
                                                        rn_access_end_walk };
