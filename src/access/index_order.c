/* index_order.c -- access path: follows an index in the order of ORDER BY. */
#include "access/index_order.h"

#include "access/access_ops.h"
#include "access/index_scan.h"
#include "engine/document/snapshot.h"
#include "query/run/seek.h"
#include "query/where/filters.h"
#include "query/where/where_intervals.h"

enum rn_code rn_access_order_keys(const struct rn_query *q,
                                  struct rn_arena *arena,
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
            *count = 0; /* not a path of the document */
            break;
        }
    }
    return rc;
}

/* Moves the bound past all rows with this prefix. */
static void step_over(struct rn_query_seek *s)
{
    while ((unsigned char)s->out[s->len - 1] == 0xff)
        s->len--;
    s->out[s->len - 1]++;
}

/* Makes a bound of the scan from sort keys: a lower bound if it goes forward,
 * an upper one if backward.  Unwanted rows may remain inside the bound, and the
 * sorter drops them; no wanted row is outside. */
static void make_bound(const struct rn_access *a, struct rn_query_seek *s,
                       bool is_exclusive)
{
    bool is_backward = a->walk.is_backward;

    if (!s->is_cut && s->has_rid) {
        for (int i = 0; i < 8; i++)
            s->out[s->len++] = (char)(s->rid >> (56 - 8 * i));
        if (is_backward)
            s->out[s->len++] = 0;
    } else if (s->is_cut ? is_backward : is_backward != is_exclusive) {
        step_over(s);
    }
}

/* Uses the bound if it is later than the current one. */
static void take_bound(struct rn_access *a, const struct rn_query_seek *s)
{
    struct rn_view new = rn_view_of(s->out, s->len);
    int found =
        rn_view_compare(new, rn_view_of(a->order.seek, a->order.seek_len));

    if (a->order.seek_len && (a->walk.is_backward ? found >= 0 : found <= 0))
        return;
    memcpy(a->order.seek, s->out, s->len);
    a->order.seek_len = s->len;
}

/* Finds the start of a page: the row that the last page ended with, or the
 * client's start. */
static enum rn_code seek(struct rn_access *a, const struct rn_access_ask *ask)
{
    struct rn_sortkey_form forms[RN_INDEX_KEYS_MAX];
    char bytes[RN_KEY_MAX + RN_SORTKEY_MAX];
    struct rn_query_seek s = { .forms = forms, .out = bytes };
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < a->index->count; i++) {
        forms[i].text_max = rn_index_text_max(a->index->count);
        forms[i].is_descending = a->index->keys[i].is_descending;
    }
    if (ask->resume) {
        rn_query_seek_resume(ask->query, ask->resume, &s);
        make_bound(a, &s, ask->resume->is_exclusive);
        take_bound(a, &s);
    }
    if (!ask->after.len)
        return RN_OK;
    rc = rn_query_seek(ask->query, ask->after, &s);
    if (rc == RN_BAD_REQUEST)
        return RN_OK; /* the query run will report it */
    if (!rc) {
        make_bound(a, &s, true);
        take_bound(a, &s);
    }
    return rc;
}

static enum rn_code open(struct rn_access *a, const struct rn_access_ask *ask,
                         struct rn_arena *arena)
{
    const struct rn_json_path *paths;
    uint32_t filters;
    enum rn_code rc = rn_where_intervals_find(
        ask->query, &a->index->keys[0].path, rn_index_text_max(a->index->count),
        arena, &a->walk.spans);

    if (!rc)
        rc = rn_query_filter_paths(ask->query, arena, &paths, &filters);
    if (!rc)
        rn_access_set_budget(a, filters > 0);
    return rc ? rc : seek(a, ask);
}

/* Opens the next interval, unless the page starts after it. */
static enum rn_code open_span(struct rn_access *a)
{
    struct rn_index_span span = { .is_backward = a->walk.is_backward };
    struct rn_view from = rn_view_of(a->order.seek, a->order.seek_len);
    uint32_t count = a->walk.spans.is_bounded ? a->walk.spans.count : 1;

    if (a->walk.span == count)
        return RN_NOT_FOUND;
    if (a->walk.spans.is_bounded) {
        const struct rn_sortkey_interval *s =
            &a->walk.spans.list[a->walk.is_backward ? count - 1 - a->walk.span
                                                    : a->walk.span];
        span.from = s->from;
        span.before = s->before;
    }
    a->walk.span++;
    if (from.len && !a->walk.is_backward &&
        rn_view_compare(from, span.from) > 0)
        span.from = from;
    if (from.len && a->walk.is_backward &&
        (!span.before.len || rn_view_compare(from, span.before) < 0))
        span.before = from;
    a->walk.is_open = true;
    return rn_index_walk_open(&a->walk.rows, a->reading->txn,
                              a->reading->container->number, a->index, &span);
}

static enum rn_code next(struct rn_access *a, struct rn_view *body)
{
    uint64_t before = a->walk.rows.group;
    enum rn_code rc = RN_NOT_FOUND;

    while (rc == RN_NOT_FOUND && !a->has_given_up) {
        rc = a->walk.is_open ? rn_access_next_row(a) : RN_NOT_FOUND;
        if (!rc) {
            a->group += a->walk.rows.group != before;
            before = a->walk.rows.group;
            a->at = a->walk.rows.place;
            rc = rn_document_at(a->reading, a->walk.rows.place,
                                a->walk.rows.rid, body);
            continue; /* skips an expired one */
        }
        if (rc != RN_NOT_FOUND || a->has_given_up)
            break;
        rn_access_end_walk(a);
        rc = open_span(a);
        if (rc)
            break;
        before = 0;
        rc = RN_NOT_FOUND;
    }
    return rc;
}

const struct rn_access_ops rn_access_index_order = { "order", open, next,
                                                     rn_access_end_walk };
