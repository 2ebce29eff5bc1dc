/* live_vectors_test.c -- recorded queries over four ranges.
 *
 * Goal: aggregates and groups of values of all types are put together as the
 * service's own client does it.  Method: the recorded queries of tests/vectors
 * that name a set of documents; each set lies in a container with four ranges,
 * and the rows are compared with the recorded ones.  The order of elements of
 * MAKELIST and MAKESET is left open, and doubles may differ in their last
 * digits: ranges are added up in another order.
 */
#include "client/live.h"

#include "client/query/value_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 16 << 20, ROWS_MAX = 1000 };

struct vectors {
    struct rn_buf cases_text, sets_text;
    struct rn_json cases, sets;
};

static struct vectors v;

static void load(const char *path, struct rn_buf *text, struct rn_json *j)
{
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    *text = RN_BUF_INIT(TEXT_MAX);
    assert_int_equal(rn_buf_reserve(text, 2 << 20), RN_OK);
    text->len = fread(text->at, 1, 2 << 20, file);
    fclose(file);
    rn_json_init(j, NULL);
    assert_int_equal(rn_json_parse(j, rn_buf_view(text), NULL), RN_OK);
}

/* ---- rows ---------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *canon(struct rn_merge_item item)
{
    struct rn_buf text = RN_BUF_INIT(TEXT_MAX);

    assert_int_equal(rn_merge_item_canon(item, &text), RN_OK);
    assert_int_equal(rn_buf_add(&text, rn_view_of("", 1)), RN_OK);
    return rn_buf_take(&text);
}

/* The canonical texts of an array's elements; `sorted`: in an order that does
 * not depend on theirs. */
static size_t list(struct rn_merge_item array, bool sorted, char **out)
{
    struct rn_json_walk w = rn_json_walk_begin(array.j, array.at);
    size_t count = 0;

    while (rn_json_walk_next(&w)) {
        assert_true(count < ROWS_MAX);
        out[count++] = canon((struct rn_merge_item){ array.j, w.value });
    }
    if (sorted)
        qsort(out, count, sizeof(out[0]), by_text);
    return count;
}

static bool same_text(const char *a, const char *b)
{
    double x, y;
    char *end_x, *end_y;

    if (strcmp(a, b) == 0)
        return true;
    x = strtod(a, &end_x);
    y = strtod(b, &end_y);
    return *end_x == '\0' && *end_y == '\0' && end_x != a &&
           fabs(x - y) <= 1e-9 * fabs(x);
}

/* Rows, or elements of MAKELIST in a single row. */
static bool same_list(struct rn_merge_item a, struct rn_merge_item b,
                      bool sorted)
{
    static char *x[ROWS_MAX], *y[ROWS_MAX];
    size_t n = list(a, sorted, x), m = list(b, sorted, y);
    bool same = n == m;

    for (size_t i = 0; same && i < n; i++)
        same = same_text(x[i], y[i]);
    for (size_t i = 0; i < n; i++)
        rn_free(x[i]);
    for (size_t i = 0; i < m; i++)
        rn_free(y[i]);
    return same;
}

static bool is_list(const struct rn_json *j, uint32_t rows)
{
    return rn_json_count(j, rows) == 1 &&
           rn_json_kind(j, rn_json_at(j, rows, 0)) == RN_JSON_ARRAY;
}

static bool same_rows(const struct rn_json *j, const struct rn_json *k,
                      uint32_t expected, bool unordered)
{
    if (is_list(j, 0) && is_list(k, expected))
        return same_list(
            (struct rn_merge_item){ j, rn_json_at(j, 0, 0) },
            (struct rn_merge_item){ k, rn_json_at(k, expected, 0) }, true);
    return same_list((struct rn_merge_item){ j, 0 },
                     (struct rn_merge_item){ k, expected }, unordered);
}

/* ---- sets ---------------------------------------------------------------- */

static runnel_container *make_set(struct live *l, const char *name)
{
    runnel_container_definition d = {
        RUNNEL_CONTAINER_INIT, .id = name, .partition_key = "/id",
        .throughput = { 40000, false },
        .json = "{\"indexingPolicy\":{\"compositeIndexes\":[[{\"path\":"
                "\"/Index\"},{\"path\":\"/MixedTypeField\"}],[{\"path\":"
                "\"/MixedTypeField\"},{\"path\":\"/Index\"}],[{\"path\":"
                "\"/Index\",\"order\":\"descending\"},{\"path\":"
                "\"/MixedTypeField\"}],[{\"path\":\"/MixedTypeField\","
                "\"order\":\"descending\"},{\"path\":\"/Index\"}]]}}"
    };
    uint32_t set = rn_json_find(&v.sets, 0, rn_view_text(name));
    struct rn_json_walk w = rn_json_walk_begin(&v.sets, set);
    static runnel_operation ops[ROWS_MAX];
    runnel_container *c = NULL;
    runnel_error error = { 0 };
    size_t count = 0;

    assert_true(rn_json_count(&v.sets, set) > 0);
    while (rn_json_walk_next(&w)) {
        struct rn_view text = rn_json_text(&v.sets, w.value);
        ops[count++] = (runnel_operation){ .kind = RUNNEL_CREATE,
                                           .json = { text.at, text.len } };
    }
    must(runnel_container_create(l->client, l->database, &d, NULL, &error));
    must(runnel_container_open(l->client, l->database, name, &c, &error));
    must(runnel_items_bulk(c, ops, count, NULL, &error));
    return c;
}

/* All rows as one JSON array. */
static void ask(runnel_container *c, const char *text, struct rn_buf *out)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT, .text = text };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    const char *mark = "[";

    must(runnel_query_open(c, &o, &q, &error));
    for (;;) {
        must(runnel_query_next(q, &page, &error));
        if (!page)
            break;
        for (size_t i = 0; i < runnel_page_count(page); i++) {
            runnel_bytes row = runnel_page_at(page, i);
            assert_int_equal(rn_buf_add(out, rn_view_text(mark)), RN_OK);
            assert_int_equal(rn_buf_add(out, rn_view_of(row.at, row.len)),
                             RN_OK);
            mark = ",";
        }
        runnel_page_close(page);
    }
    assert_int_equal(rn_buf_add(out, *mark == '[' ? RN_LIT("[]") : RN_LIT("]")),
                     RN_OK);
    runnel_query_close(q);
}

static void check(runnel_container *c, uint32_t at)
{
    uint32_t expected = rn_json_find(&v.cases, at, RN_LIT("expected"));
    uint32_t value = rn_json_find(&v.cases, at, RN_LIT("query"));
    bool unordered =
        rn_json_kind(&v.cases,
                     rn_json_find(&v.cases, at, RN_LIT("unordered"))) ==
        RN_JSON_TRUE;
    struct rn_arena arena = RN_ARENA_INIT(1 << 20);
    struct rn_buf rows = RN_BUF_INIT(TEXT_MAX);
    struct rn_view text;
    struct rn_json j;
    char query[4000];

    assert_int_equal(rn_json_string_get(&v.cases, value, &arena, &text), RN_OK);
    snprintf(query, sizeof(query), "%.*s", RN_FMT(text));
    ask(c, query, &rows);
    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, rn_buf_view(&rows), NULL), RN_OK);
    if (!same_rows(&j, &v.cases, expected, unordered))
        fail_msg("%s: %.*s, not %.*s", query, RN_FMT(rn_buf_view(&rows)),
                 RN_FMT(rn_json_text(&v.cases, expected)));
    rn_json_release(&j);
    rn_buf_release(&rows);
    rn_arena_release(&arena);
}

static void run_set(struct live *l, const char *name, int least)
{
    struct rn_json_walk w = rn_json_walk_begin(&v.cases, 0);
    runnel_container *c = make_set(l, name);
    int count = 0;

    while (rn_json_walk_next(&w)) {
        uint32_t docs = rn_json_find(&v.cases, w.value, RN_LIT("docs"));
        uint32_t set = rn_json_find(&v.cases, docs, RN_LIT("dataset"));
        uint32_t expected = rn_json_find(&v.cases, w.value, RN_LIT("expected"));
        if (!rn_json_string_is(&v.cases, set, rn_view_text(name)) ||
            rn_json_kind(&v.cases, expected) != RN_JSON_ARRAY)
            continue;
        check(c, w.value);
        count++;
    }
    assert_true(count >= least);
    runnel_container_close(c);
}

static void aggregates_of_all_types_are_as_recorded(void **state)
{
    run_set(*state, "mixed243", 70);
}

static void groups_are_as_recorded(void **state)
{
    run_set(*state, "people64", 15);
}

static void orders_of_all_types_are_as_recorded(void **state)
{
    run_set(*state, "mixed21", 5);
}

static int begin(void **state)
{
    load(VECTORS_DIR "/query-cases.json", &v.cases_text, &v.cases);
    load(VECTORS_DIR "/query-datasets.json", &v.sets_text, &v.sets);
    return live_set_up(state);
}

static int end(void **state)
{
    rn_json_release(&v.cases);
    rn_json_release(&v.sets);
    rn_buf_release(&v.cases_text);
    rn_buf_release(&v.sets_text);
    return live_tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aggregates_of_all_types_are_as_recorded),
        cmocka_unit_test(groups_are_as_recorded),
        cmocka_unit_test(orders_of_all_types_are_as_recorded),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
