/* materialize.c -- queries that need all rows before the first result: groups,
 * aggregates, counts of distinct values, and orders without an index. */
#include "client/query/materialize.h"

#include "client/query/fetch.h"
#include "client/query/merge.h"
#include "client/query/rank.h"
#include "client/query/state.h"
#include "json/print.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- groups -------------------------------------------------------------- */

static size_t total_count(const struct rn_client_query *q)
{
    return q->plan.alias_count && !q->plan.has_value ? q->plan.alias_count : 1;
}

/* The arrays' elements, and the text as one more. */
static enum rn_code print_keys(struct rn_merge_item order,
                               struct rn_merge_item rest, struct rn_view text,
                               struct rn_buf *out)
{
    struct rn_json_walk v = rn_json_walk_begin(order.j, order.at);
    struct rn_json_walk w = rn_json_walk_begin(rest.j, rest.at);
    struct rn_json_out o = RN_JSON_OUT_INIT(out);

    rn_json_out_array_begin(&o);
    while (rn_json_walk_next(&v))
        rn_json_out_value(&o, order.j, v.value);
    while (rn_json_walk_next(&w))
        rn_json_out_value(&o, rest.j, w.value);
    if (text.at) {
        rn_json_out_object_begin(&o);
        rn_json_out_key(&o, RN_LIT("item"));
        rn_json_out_string(&o, text);
        rn_json_out_object_end(&o);
    }
    rn_json_out_array_end(&o);
    return rn_json_out_finish(&o);
}

static enum rn_code add_group(struct rn_client_query *q,
                              struct rn_merge_item order,
                              struct rn_merge_item key)
{
    size_t count = total_count(q);
    struct rn_merge_group group = { 0 };
    enum rn_code rc;

    rn_buf_clear(&q->scratch);
    rc = print_keys(order, key, (struct rn_view){ 0 }, &q->scratch);
    if (rc)
        return rc;
    group.keys = rn_arena_copy(&q->memory, rn_buf_view(&q->scratch));
    if (!group.keys.at)
        return rn_arena_lack(&q->memory, q->scratch.len);
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

/* The row's group is found by its key; rows without one are all of one.  With
 * ORDER BY, which names expressions of GROUP BY only, the group's row is the
 * payload of an ordered one. */
static enum rn_code add_to_group(struct rn_client_query *q,
                                 struct rn_merge_item row)
{
    struct rn_merge_item order =
        rn_merge_item_member(row, RN_LIT("orderByItems"));
    struct rn_merge_item inner =
        q->plan.order_count ? rn_merge_item_member(row, RN_LIT("payload"))
                            : row;
    struct rn_merge_item key =
        rn_merge_item_member(inner, RN_LIT("groupByItems"));
    struct rn_merge_item payload =
        q->plan.is_grouped ? rn_merge_item_member(inner, RN_LIT("payload"))
                           : inner;
    struct rn_merge_group *groups;
    size_t place = 0;
    bool is_new = false;
    enum rn_code rc;

    rn_buf_clear(&q->scratch);
    rc = q->plan.is_grouped ? rn_merge_item_canon(key, &q->scratch) : RN_OK;
    if (!rc)
        rc = rn_value_set_add_text(&q->keys, rn_buf_view(&q->scratch),
                                   &q->memory, &place, &is_new);
    if (!rc && is_new)
        rc = add_group(q, order, key);
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

enum rn_code rn_client_query_add_result(struct rn_client_query *q,
                                        struct rn_view text,
                                        struct rn_view keys)
{
    struct rn_result_row row = { .text = rn_arena_copy(&q->memory, text) };
    enum rn_code rc;

    if (!row.text.at)
        return rn_arena_lack(&q->memory, text.len);
    rc =
        rn_buf_add(&q->keys_text, q->keys_text.len ? RN_LIT(",") : RN_LIT("["));
    if (!rc)
        rc = rn_buf_add(&q->keys_text, keys);
    return rc ? rc : rn_buf_add(&q->results, rn_view_of(&row, sizeof(row)));
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
            rc = rn_client_query_add_result(q, rn_buf_view(&q->scratch),
                                            groups[i].keys);
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
               : rn_client_query_add_result(q, rn_buf_view(&q->scratch),
                                            RN_LIT("[]"));
}

static enum rn_code keep_sorted(struct rn_client_query *q,
                                struct rn_merge_item row)
{
    struct rn_merge_item payload = rn_merge_item_member(row, RN_LIT("payload"));
    struct rn_merge_item rid = rn_merge_item_member(row, RN_LIT("_rid"));
    struct rn_buf keys = RN_BUF_INIT(q->scratch.ceiling);
    enum rn_code rc;

    if (payload.at == RN_JSON_NONE)
        return RN_OK;
    rn_buf_clear(&q->scratch);
    rc = rn_merge_item_print(payload, &q->scratch);
    if (!rc) {
        rc = print_keys(rn_merge_item_member(row, RN_LIT("orderByItems")),
                        (struct rn_merge_item){ row.j, RN_JSON_NONE },
                        rn_json_text(rid.j, rid.at), &keys);
    }
    if (!rc)
        rc = rn_client_query_add_result(q, rn_buf_view(&q->scratch),
                                        rn_buf_view(&keys));
    rn_buf_release(&keys);
    return rc;
}

struct sorting {
    const struct rn_client_query *q;
    enum rn_code rc;
};

static int by_keys(const void *a, const void *b, void *context)
{
    const struct rn_result_row *x = a, *y = b;
    struct sorting *s = context;
    const struct rn_json *j = &s->q->result_keys;
    int order = 0;

    if (!s->rc) {
        s->rc = rn_client_query_compare_keys(
            s->q, (struct rn_merge_item){ j, x->keys },
            (struct rn_merge_item){ j, y->keys }, &order);
    }
    return order;
}

/* Parses the keys of all results at once. */
static enum rn_code parse_keys(struct rn_client_query *q)
{
    struct rn_result_row *rows = (struct rn_result_row *)(void *)q->results.at;
    struct rn_json_walk w;
    enum rn_code rc = rn_buf_add(&q->keys_text,
                                 q->keys_text.len ? RN_LIT("]") : RN_LIT("[]"));

    if (!rc)
        rc = rn_json_parse(&q->result_keys, rn_buf_view(&q->keys_text), NULL);
    if (rc)
        return rc;
    w = rn_json_walk_begin(&q->result_keys, 0);
    for (size_t i = 0; rn_json_walk_next(&w); i++)
        rows[i].keys = w.value;
    return RN_OK;
}

static enum rn_code sort(struct rn_client_query *q)
{
    struct sorting s = { .q = q };

    /* The best come first as they are. */
    if (!q->plan.is_ranked && q->results.len)
        qsort_r(q->results.at, q->results.len / sizeof(struct rn_result_row),
                sizeof(struct rn_result_row), by_keys, &s);
    return s.rc;
}

/* Of a query that goes on by a token: passes over the results up to it. */
static enum rn_code drop_given(struct rn_client_query *q)
{
    const struct rn_result_row *rows =
        (const struct rn_result_row *)(const void *)q->results.at;
    size_t count = q->results.len / sizeof(*rows);
    struct rn_json j;
    int order = -1;
    enum rn_code rc;

    if (q->after.len == 0)
        return RN_OK;
    rn_json_init(&j, &rn_page_limits);
    rc = rn_json_parse(&j, rn_buf_view(&q->after), NULL);
    while (!rc && q->next_result < count) {
        struct rn_merge_item keys = { &q->result_keys,
                                      rows[q->next_result].keys };
        rc = rn_client_query_compare_keys(
            q, keys, (struct rn_merge_item){ &j, 0 }, &order);
        if (rc || order > 0)
            break;
        q->next_result++;
    }
    rn_json_release(&j);
    return rc;
}

/* ---- all rows ------------------------------------------------------------ */

static enum rn_code add_row(struct rn_client_query *q, struct rn_merge_item row)
{
    bool is_new;

    if (q->plan.is_grouped || q->plan.aggregate != RN_AGGREGATE_NONE)
        return add_to_group(q, row);
    if (q->plan.counts_distinct)
        return rn_value_set_add(&q->keys, row, &q->memory, &is_new);
    return keep_sorted(q, row);
}

static enum rn_code each_row(struct rn_client_query *q, rn_each_row_fn each)
{
    enum rn_code rc = RN_OK;

    for (size_t i = 0; !rc && i < q->count; i++) {
        struct rn_merge_source *s = q->sources[i];
        while (!rc && rn_merge_source_has_row(s)) {
            rc = each(q, rn_merge_source_row(s));
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

runnel_code rn_client_query_explain(enum rn_code rc, runnel_error *error)
{
    if (rc == RN_TOO_LARGE)
        return rn_error_set(error, RUNNEL_TOO_LARGE,
                            "the query needs more memory than memory_limit");
    if (rc == RN_CORRUPT)
        return rn_error_set(error, RUNNEL_PROTOCOL,
                            "a row is not of the form that the plan says");
    if (rc == RN_BAD_REQUEST) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "a sum or an average is too large for a number of "
                            "JSON");
    }
    return rn_error_take(error, rc, NULL);
}

runnel_code rn_client_query_read_all(struct rn_client_query *q,
                                     rn_each_row_fn each, double *charge,
                                     runnel_error *error)
{
    enum rn_code code = RN_OK;
    runnel_code rc = RUNNEL_OK;

    while (!rc && !code && want_more(q)) {
        rc = rn_client_query_fetch(q, charge, error);
        /* If a range failed, the pages of others have arrived all the same,
         * and the next call asks for those behind them. */
        code = each_row(q, each);
    }
    q->is_broken = q->is_broken || code;
    return rc ? rc : rn_client_query_explain(code, error);
}

static enum rn_code compute(struct rn_client_query *q)
{
    enum rn_code rc = RN_OK;

    if (q->plan.is_grouped || q->plan.aggregate != RN_AGGREGATE_NONE)
        rc = print_groups(q);
    else if (q->plan.counts_distinct)
        rc = print_count(q);
    if (!rc)
        rc = parse_keys(q);
    if (!rc)
        rc = sort(q);
    return rc ? rc : drop_given(q);
}

runnel_code rn_client_query_materialize(struct rn_client_query *q,
                                        double *charge, runnel_error *error)
{
    enum rn_code code;
    runnel_code rc = q->plan.is_ranked
                         ? rn_client_query_rank(q, charge, error)
                         : rn_client_query_read_all(q, add_row, charge, error);

    if (rc)
        return rc;
    code = compute(q);
    q->is_computed = !code;
    q->is_broken = code != RN_OK;
    return rn_client_query_explain(code, error);
}
