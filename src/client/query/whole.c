/* whole.c -- queries that need all rows before the first result: groups,
 * aggregates, counts of distinct values, and orders without an index. */
#include "client/query/own.h"

#include "json/print.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- groups -------------------------------------------------------------- */

static size_t total_count(const struct rn_client_query *q)
{
    return q->plan.alias_count && !q->plan.has_value ? q->plan.alias_count : 1;
}

static enum rn_code add_group(struct rn_client_query *q)
{
    size_t count = total_count(q);
    struct rn_merge_group group = { 0 };

    group.totals = rn_arena_alloc(&q->memory, count * sizeof(*group.totals));
    if (!group.totals)
        return rn_arena_lack(&q->memory, count * sizeof(*group.totals));
    for (size_t i = 0; i < count; i++) {
        rn_total_init(&group.totals[i],
                      q->plan.alias_count && !q->plan.has_value
                          ? q->plan.aliases[i].aggregate
                          : q->plan.aggregate);
    }
    return rn_buf_add(&q->groups, rn_view_of(&group, sizeof(group)));
}

/* SELECT VALUE: the payload is the value, or an array of one aggregate. */
static enum rn_code add_payload(struct rn_client_query *q,
                                struct rn_merge_group *g,
                                struct rn_merge_item payload)
{
    enum rn_code rc = RN_OK;

    if (!q->plan.alias_count || q->plan.has_value) {
        if (q->plan.aggregate != RN_AGGREGATE_NONE)
            payload.at = rn_json_at(payload.j, payload.at, 0);
        return rn_total_add(g->totals, payload, &q->memory);
    }
    for (size_t i = 0; !rc && i < q->plan.alias_count; i++) {
        rc = rn_total_add(
            &g->totals[i],
            rn_merge_item_member(payload, q->plan.aliases[i].name), &q->memory);
    }
    return rc;
}

/* The row's group is found by its key; rows without one are all of one. */
static enum rn_code add_to_group(struct rn_client_query *q,
                                 struct rn_merge_item row)
{
    struct rn_merge_item key =
        rn_merge_item_member(row, RN_LIT("groupByItems"));
    struct rn_merge_item payload =
        q->plan.is_grouped ? rn_merge_item_member(row, RN_LIT("payload")) : row;
    struct rn_merge_group *groups;
    size_t place = 0;
    bool is_new = false;
    enum rn_code rc;

    rn_buf_clear(&q->scratch);
    rc = q->plan.is_grouped ? rn_merge_item_canon(key, &q->scratch) : RN_OK;
    if (!rc)
        rc = rn_seen_add_text(&q->keys, rn_buf_view(&q->scratch), &q->memory,
                              &place, &is_new);
    if (!rc && is_new)
        rc = add_group(q);
    groups = (struct rn_merge_group *)(void *)q->groups.at;
    return rc ? rc : add_payload(q, &groups[place], payload);
}

static enum rn_code print_object(const struct rn_client_query *q,
                                 const struct rn_merge_group *g,
                                 struct rn_buf *out)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(out);
    struct rn_buf value = RN_BUF_INIT(out->ceiling);
    enum rn_code rc = RN_OK;
    bool defined;

    rn_json_out_object_begin(&o);
    for (size_t i = 0; !rc && i < q->plan.alias_count; i++) {
        rn_buf_clear(&value);
        rc = rn_total_print(&g->totals[i], &value, &defined);
        if (rc || !defined)
            continue;
        rn_json_out_key(&o, q->plan.aliases[i].name);
        rn_json_out_raw(&o, rn_buf_view(&value));
    }
    rn_json_out_object_end(&o);
    rn_buf_release(&value);
    return rc ? rc : rn_json_out_finish(&o);
}

static enum rn_code add_result(struct rn_client_query *q, struct rn_view text,
                               struct rn_view items)
{
    struct rn_result_row row = { .text = rn_arena_copy(&q->memory, text),
                                 .items = rn_arena_copy(&q->memory, items),
                                 .place = q->results.len };

    if (!row.text.at || !row.items.at)
        return rn_arena_lack(&q->memory, text.len + items.len);
    return rn_buf_add(&q->results, rn_view_of(&row, sizeof(row)));
}

static enum rn_code print_groups(struct rn_client_query *q)
{
    const struct rn_merge_group *groups =
        (const struct rn_merge_group *)(const void *)q->groups.at;
    size_t count = q->groups.len / sizeof(*groups);
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < count; i++) {
        bool defined = true;
        rn_buf_clear(&q->scratch);
        if (q->plan.alias_count && !q->plan.has_value)
            rc = print_object(q, &groups[i], &q->scratch);
        else
            rc = rn_total_print(groups[i].totals, &q->scratch, &defined);
        if (!rc && defined)
            rc = add_result(q, rn_buf_view(&q->scratch), RN_LIT(""));
    }
    return rc;
}

/* ---- counts and orders --------------------------------------------------- */

static enum rn_code print_count(struct rn_client_query *q)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(&q->scratch);

    rn_buf_clear(&q->scratch);
    if (q->plan.count_alias.len) {
        rn_json_out_object_begin(&o);
        rn_json_out_key(&o, q->plan.count_alias);
    }
    rn_json_out_uint(&o, q->keys.count);
    if (q->plan.count_alias.len)
        rn_json_out_object_end(&o);
    return rn_json_out_finish(&o)
               ? rn_json_out_finish(&o)
               : add_result(q, rn_buf_view(&q->scratch), RN_LIT(""));
}

static enum rn_code keep_sorted(struct rn_client_query *q,
                                struct rn_merge_item row)
{
    struct rn_merge_item payload = rn_merge_item_member(row, RN_LIT("payload"));
    enum rn_code rc;

    if (payload.at == RN_JSON_NONE)
        return RN_OK;
    rn_buf_clear(&q->scratch);
    rc = rn_merge_item_print(payload, &q->scratch);
    /* The whole row: its keys are compared where they are. */
    return rc ? rc
              : add_result(q, rn_buf_view(&q->scratch),
                           rn_json_text(row.j, row.at));
}

struct sorting {
    const struct rn_client_query *q;
    enum rn_code rc;
};

static int by_items(const void *a, const void *b, void *context)
{
    const struct rn_result_row *x = a, *y = b;
    struct sorting *s = context;
    struct rn_json j, k;
    int order = 0;

    rn_json_init(&j, NULL);
    rn_json_init(&k, NULL);
    if (!s->rc)
        s->rc = rn_json_parse(&j, x->items, NULL);
    if (!s->rc)
        s->rc = rn_json_parse(&k, y->items, NULL);
    if (!s->rc &&
        rn_client_query_compare(s->q, (struct rn_merge_item){ &j, 0 },
                                (struct rn_merge_item){ &k, 0 }, &order, NULL))
        s->rc = RN_NOMEM;
    rn_json_release(&j);
    rn_json_release(&k);
    /* Rows came in the order of ranges, which breaks ties. */
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static enum rn_code sort(struct rn_client_query *q)
{
    struct sorting s = { .q = q };

    qsort_r(q->results.at, q->results.len / sizeof(struct rn_result_row),
            sizeof(struct rn_result_row), by_items, &s);
    return s.rc;
}

/* ---- all rows ------------------------------------------------------------ */

static enum rn_code add_row(struct rn_client_query *q, struct rn_merge_item row)
{
    bool is_new;

    if (q->plan.is_grouped || q->plan.aggregate != RN_AGGREGATE_NONE)
        return add_to_group(q, row);
    if (q->plan.counts_distinct)
        return rn_seen_add(&q->keys, row, &q->memory, &is_new);
    return keep_sorted(q, row);
}

static enum rn_code add_rows(struct rn_client_query *q)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < q->count; i++) {
        struct rn_merge_source *s = q->sources[i];
        while (!rc && rn_merge_source_has_row(s)) {
            rc = add_row(q, rn_merge_source_row(s));
            rn_merge_source_next(s);
        }
    }
    return rc;
}

static bool want_more(struct rn_client_query *q)
{
    bool some = false;

    for (size_t i = 0; i < q->count; i++) {
        q->sources[i]->wants_page = !q->sources[i]->is_over;
        some = some || q->sources[i]->wants_page;
    }
    return some;
}

static runnel_code explain(enum rn_code rc, runnel_error *error)
{
    if (rc == RN_TOO_LARGE)
        return rn_error_set(error, RUNNEL_TOO_LARGE,
                            "the query needs more memory than memory_limit");
    if (rc == RN_CORRUPT)
        return rn_error_set(error, RUNNEL_PROTOCOL,
                            "a row is not of the form that the plan says");
    return rn_error_take(error, rc, NULL);
}

runnel_code rn_client_query_compute(struct rn_client_query *q, double *charge,
                                    runnel_error *error)
{
    enum rn_code code = RN_OK;
    runnel_code rc = RUNNEL_OK;

    while (!rc && !code && want_more(q)) {
        rc = rn_client_query_fetch(q, charge, error);
        if (!rc)
            code = add_rows(q);
    }
    if (rc)
        return rc;
    if (!code && (q->plan.is_grouped || q->plan.aggregate != RN_AGGREGATE_NONE))
        code = print_groups(q);
    else if (!code && q->plan.counts_distinct)
        code = print_count(q);
    else if (!code)
        code = sort(q);
    q->is_computed = !code;
    q->is_broken = code != RN_OK;
    return explain(code, error);
}
