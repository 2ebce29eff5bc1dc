/* merge.c -- ORDER BY over several ranges. */
#include "client/query/merge.h"

#include "client/query/fetch.h"
#include "client/query/query.h"
#include "client/query/state.h"
#include "cosmos/rid.h"

enum { PAGE_ROWS = 100 };

static struct rn_merge_item items_of(struct rn_merge_item row)
{
    return rn_merge_item_member(row, RN_LIT("orderByItems"));
}

enum rn_code rn_client_query_compare_keys(const struct rn_client_query *q,
                                          struct rn_merge_item a,
                                          struct rn_merge_item b, int *order)
{
    struct rn_json_walk v = rn_json_walk_begin(a.j, a.at);
    struct rn_json_walk w = rn_json_walk_begin(b.j, b.at);
    enum rn_code rc = RN_OK;

    *order = 0;
    for (size_t i = 0;
         !rc && *order == 0 && rn_json_walk_next(&v) && rn_json_walk_next(&w);
         i++) {
        struct rn_merge_item x = { a.j, v.value }, y = { b.j, w.value };
        rc = rn_merge_item_compare(rn_merge_item_member(x, RN_LIT("item")),
                                   rn_merge_item_member(y, RN_LIT("item")),
                                   order);
        if (i < q->plan.order_count && q->plan.is_descending[i])
            *order = -*order;
    }
    return rc;
}

/* Compares two rows by their ORDER BY items. */
static runnel_code compare(const struct rn_client_query *q,
                           struct rn_merge_item a, struct rn_merge_item b,
                           int *order, runnel_error *error)
{
    return rn_error_take(
        error, rn_client_query_compare_keys(q, items_of(a), items_of(b), order),
        NULL);
}

/* ---- resuming inside a page ---------------------------------------------- */

static struct rn_view rid_of(struct rn_merge_item row)
{
    struct rn_merge_item rid = rn_merge_item_member(row, RN_LIT("_rid"));

    return rn_json_kind(rid.j, rid.at) == RN_JSON_STRING
               ? rn_json_text(rid.j, rid.at)
               : RN_LIT("");
}

/* Servers order rows that are equal by the numbers of their documents: upwards,
 * or downwards if the first key descends. */
static bool comes_before(const struct rn_client_query *q, struct rn_view a,
                         struct rn_view b)
{
    struct rn_rid x, y;

    if (!rn_rid_parse(a, &x) || !rn_rid_parse(b, &y))
        return false;
    return q->plan.is_descending[0] ? x.number > y.number : x.number < y.number;
}

/* Was the row, equal in order to the one that the token names, taken before?
 * That one's document may have been deleted; a document may have several
 * rows. */
static bool was_taken(const struct rn_client_query *q,
                      struct rn_merge_source *s, struct rn_merge_item row)
{
    struct rn_view rid = rn_buf_view(&s->resume_rid);

    if (q->plan.distinct == RN_DISTINCT_ORDERED)
        return true;
    if (rn_view_eq(rid_of(row), rid))
        return s->resume_count-- > 0;
    return comes_before(q, rid_of(row), rid);
}

/* Drops the rows that an earlier query took, from a page that was read again.
 */
static runnel_code skip_taken(struct rn_client_query *q,
                              struct rn_merge_source *s, runnel_error *error)
{
    struct rn_json_walk at = s->rows;
    uint32_t row = s->row;
    struct rn_json j;
    enum rn_code rc;
    int order = -1;

    if (s->resume_items.len == 0)
        return RUNNEL_OK;
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, rn_buf_view(&s->resume_items), NULL);
    while (!rc && row != RN_JSON_NONE && order <= 0) {
        struct rn_merge_item one = { &s->j, row };
        rc = rn_client_query_compare_keys(
            q, items_of(one), (struct rn_merge_item){ &j, 0 }, &order);
        if (rc || order > 0)
            break;
        row = rn_json_walk_next(&at) ? at.value : RN_JSON_NONE;
        if (order < 0 || was_taken(q, s, one)) {
            while (s->row != row)
                rn_merge_source_next(s);
        }
    }
    rn_json_release(&j);
    if (rn_merge_source_has_row(s) ||
        s->is_over) { /* else the next page, too */
        rn_buf_clear(&s->resume_items);
        rn_buf_clear(&s->resume_rid);
    }
    return rn_error_take(error, rc, NULL);
}

/* ---- merging ------------------------------------------------------------- */

/* Makes sure that every source has a row, or is over. */
static runnel_code fill(struct rn_client_query *q, double *charge,
                        runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;
    bool some = true;

    while (!rc && some) {
        some = false;
        for (size_t i = 0; i < q->count; i++) {
            struct rn_merge_source *s = q->sources[i];
            if (rn_merge_source_has_row(s) || s->is_over)
                continue;
            s->wants_page = some = true;
        }
        if (some)
            rc = rn_client_query_fetch(q, charge, error);
        for (size_t i = 0; !rc && i < q->count; i++)
            rc = skip_taken(q, q->sources[i], error);
    }
    return rc;
}

/* Ties go to the range that comes first. */
static runnel_code find_least(struct rn_client_query *q,
                              struct rn_merge_source **out, runnel_error *error)
{
    struct rn_merge_source *best = NULL;
    runnel_code rc = RUNNEL_OK;

    for (size_t i = 0; !rc && i < q->count; i++) {
        struct rn_merge_source *s = q->sources[i];
        int order = -1;
        if (!rn_merge_source_has_row(s))
            continue;
        if (best) {
            rc = compare(q, rn_merge_source_row(s), rn_merge_source_row(best),
                         &order, error);
        }
        if (order < 0)
            best = s;
    }
    *out = best;
    return rc;
}

/* Takes the source's row. */
static runnel_code take(struct rn_client_query *q, struct rn_merge_source *s,
                        struct rn_rows *out, runnel_error *error)
{
    struct rn_merge_item row = rn_merge_source_row(s);
    runnel_code rc = rn_client_query_emit(
        q, rn_merge_item_member(row, RN_LIT("payload")), out, error);
    enum rn_code code;

    rn_merge_source_next(s);
    if (rc || items_of(row).at == RN_JSON_NONE)
        return rc;
    rn_buf_clear(&q->last_items);
    code = rn_merge_item_print(items_of(row), &q->last_items);
    q->is_broken = q->is_broken || code;
    return rn_error_take(error, code, NULL);
}

runnel_code rn_client_query_merge(struct rn_client_query *q,
                                  struct rn_rows *out, runnel_error *error)
{
    size_t limit = (q->page_limit ? q->page_limit : PAGE_ROWS) * sizeof(size_t);
    runnel_code rc = RUNNEL_OK;

    while (!rc && !q->is_over && out->ends.len < limit) {
        struct rn_merge_source *s = NULL;

        rc = fill(q, &out->charge, error);
        if (!rc)
            rc = find_least(q, &s, error);
        if (rc)
            break;
        if (!s) {
            q->is_over = true;
            break;
        }
        rc = take(q, s, out, error);
    }
    return rc;
}
