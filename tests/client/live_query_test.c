/* live_query_test.c -- queries over one range and over four give the same.
 *
 * Goal: what the client merges is what a server with a single range answers.
 * Method: the same items, of all types and with many ties, are put into a
 * container with one range and into one with four.  Each query of a table is
 * sent to the first as it is, so that the server answers it alone, and asked of
 * both by the client: whole, in small pages, and in pages each of which is
 * asked for by a new handle with the token of the one before.
 */
#include "client/live_rows.h"

#include "client/query/value_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 240 };

static runnel_container *one, *four;

/* ---- rows ---------------------------------------------------------------- */

/* What the server says by itself of the container with one range. */
static void ask_server(struct live *l, const char *text, const char *parameters,
                       struct live_rows *out)
{
    static const runnel_header headers[] = {
        { "content-type", "application/query+json" },
        { "x-ms-documentdb-isquery", "true" },
        { "x-ms-documentdb-query-enablecrosspartition", "true" },
        { "x-ms-max-item-count", "1000" },
    };
    runnel_request r = { .method = "POST",
                         .headers = headers,
                         .header_count = 4 };
    char path[100], body[1000];
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    struct rn_json_walk w;
    struct rn_json j;

    *out = (struct live_rows){ 0 };
    snprintf(path, sizeof(path), "/dbs/%s/colls/one/docs", l->database);
    snprintf(body, sizeof(body), "{\"query\":\"%s\",\"parameters\":%s}", text,
             parameters ? parameters : "[]");
    r.path = path;
    r.body = runnel_text(body);
    must(runnel_client_send(l->client, &r, &reply, &error));
    assert_string_equal(runnel_reply_header(reply, "x-ms-continuation"), "");
    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j,
                                   rn_view_of(runnel_reply_body(reply).at,
                                              runnel_reply_body(reply).len),
                                   NULL),
                     RN_OK);
    w = rn_json_walk_begin(&j, rn_json_find(&j, 0, RN_LIT("Documents")));
    while (rn_json_walk_next(&w)) {
        struct rn_buf row = RN_BUF_INIT(1 << 20);
        assert_int_equal(
            rn_merge_item_print((struct rn_merge_item){ &j, w.value }, &row),
            RN_OK);
        live_add_row(out, (runnel_bytes){ row.at, row.len });
        rn_buf_release(&row);
    }
    rn_json_release(&j);
    runnel_reply_close(reply);
}

static void assert_same(const char *text, struct live_rows *a,
                        struct live_rows *b, bool ordered)
{
    if (!ordered) {
        qsort(a->of, a->count, sizeof(a->of[0]), live_by_text);
        qsort(b->of, b->count, sizeof(b->of[0]), live_by_text);
    }
    if (a->count != b->count)
        fail_msg("%s: %zu rows by the server, %zu by the client", text,
                 a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->of[i], b->of[i]) != 0)
            fail_msg("%s: row %zu is %s by the server, %s by the client", text,
                     i, a->of[i], b->of[i]);
    }
}

/* ---- items --------------------------------------------------------------- */

static void print_item(int i, char *out, size_t size)
{
    static const char *const odd[] = { "null",  "true",     "false", "\"b\"",
                                       "\"a\"", "1.5",      "-3",    "\"\"",
                                       "[1,2]", "{\"x\":1}" };
    int n = i * 7919 % 100;
    char mixed[40] = "";

    if (i % 11 != 10)
        snprintf(mixed, sizeof(mixed), ",\"mixed\":%s", odd[i % 10]);
    snprintf(
        out, size,
        "{\"id\":\"i%03d\",\"pk\":\"k%d\",\"n\":%d,\"half\":%d.5,"
        "\"team\":\"t%d\",\"tags\":[\"x%d\",\"y\"],\"u\":%d,\"huge\":1e306%s}",
        i, i % 37, n, i % 9, i % 5, i % 3, i, mixed);
}

static int make_items(void **state)
{
    struct live *l;
    static char text[ITEMS][300];
    static runnel_operation ops[ITEMS];
    runnel_error error = { 0 };

    if (live_set_up(state))
        return -1;
    l = *state;
    one = live_container(l, "one", "/pk", 1);
    four = live_container(l, "four", "/pk", 4);
    for (int i = 0; i < ITEMS; i++) {
        print_item(i, text[i], sizeof(text[i]));
        ops[i].kind = RUNNEL_CREATE;
        ops[i].json = runnel_text(text[i]);
    }
    must(runnel_items_bulk(one, ops, ITEMS, NULL, &error));
    must(runnel_items_bulk(four, ops, ITEMS, NULL, &error));
    return 0;
}

static int drop_items(void **state)
{
    runnel_container_close(one);
    runnel_container_close(four);
    return live_tear_down(state);
}

/* ---- cases --------------------------------------------------------------- */

static const struct {
    const char *text;
    bool ordered; /* the order of the rows is the query's */
    const char *parameters;
} queries[] = {
    { "SELECT c.id, c.n, c.mixed FROM c", false, NULL },
    { "SELECT VALUE c.id FROM c WHERE c.n > @n", false,
      "[{\"name\":\"@n\",\"value\":50}]" },
    { "SELECT VALUE c.id FROM c WHERE c.pk = 'k3'", false, NULL },
    { "SELECT VALUE c.id FROM c WHERE c.pk IN ('k1','k2','k30')", false, NULL },
    { "SELECT VALUE t FROM c JOIN t IN c.tags", false, NULL },
    { "SELECT VALUE c.n FROM c ORDER BY c.n", true, NULL },
    { "SELECT VALUE c.n FROM c ORDER BY c.n DESC", true, NULL },
    { "SELECT c.u FROM c ORDER BY c.u DESC", true, NULL },
    { "SELECT VALUE c.mixed FROM c ORDER BY c.mixed", true, NULL },
    { "SELECT VALUE c.mixed FROM c ORDER BY c.mixed DESC", true, NULL },
    { "SELECT VALUE c.id FROM c ORDER BY c.id", true, NULL },
    { "SELECT c.half FROM c WHERE c.n < 60 ORDER BY c.half", true, NULL },
    { "SELECT c.u, t FROM c JOIN t IN c.tags ORDER BY c.u", true, NULL },
    { "SELECT c.u, t FROM c JOIN t IN c.tags ORDER BY c.u DESC", true, NULL },
    { "SELECT TOP 7 VALUE c.u FROM c ORDER BY c.u", true, NULL },
    { "SELECT VALUE c.u FROM c ORDER BY c.u OFFSET 5 LIMIT 9", true, NULL },
    { "SELECT VALUE c.u FROM c ORDER BY c.u OFFSET 235 LIMIT 50", true, NULL },
    { "SELECT DISTINCT VALUE c.team FROM c", false, NULL },
    { "SELECT DISTINCT c.team, c.half FROM c", false, NULL },
    { "SELECT DISTINCT VALUE c.mixed FROM c", false, NULL },
    { "SELECT DISTINCT VALUE c.n FROM c ORDER BY c.n", true, NULL },
    { "SELECT VALUE COUNT(1) FROM c", true, NULL },
    { "SELECT VALUE COUNT(c.mixed) FROM c", true, NULL },
    { "SELECT VALUE SUM(c.n) FROM c", true, NULL },
    { "SELECT VALUE SUM(c.mixed) FROM c", true, NULL },
    { "SELECT VALUE AVG(c.half) FROM c", true, NULL },
    { "SELECT VALUE AVG(c.nothing) FROM c", true, NULL },
    { "SELECT VALUE MIN(c.n) FROM c", true, NULL },
    { "SELECT VALUE MAX(c.id) FROM c", true, NULL },
    { "SELECT VALUE MAX(c.mixed) FROM c", true, NULL },
    { "SELECT VALUE MIN(c.nothing) FROM c", true, NULL },
    { "SELECT COUNT(1) AS n, MIN(c.n) AS low, AVG(c.half) AS mean FROM c", true,
      NULL },
    { "SELECT MAX(c.nothing) AS m FROM c", true, NULL },
    { "SELECT c.team, COUNT(1) AS n, SUM(c.n) AS s, MIN(c.u) AS low, "
      "MAX(c.u) AS high, AVG(c.half) AS mean FROM c GROUP BY c.team",
      false, NULL },
    { "SELECT c.mixed, COUNT(1) AS n FROM c GROUP BY c.mixed", false, NULL },
    { "SELECT VALUE COUNT(1) FROM c GROUP BY c.team", false, NULL },
    { "SELECT VALUE c.team FROM c GROUP BY c.team", false, NULL },
    { "SELECT c.team, c.half, COUNT(1) AS n FROM c WHERE c.n > 20 "
      "GROUP BY c.team, c.half",
      false, NULL },
    { "SELECT c.team, COUNT(1) AS n FROM c GROUP BY c.team "
      "ORDER BY c.team DESC",
      true, NULL },
    { "SELECT c.half, c.team, COUNT(1) AS n, MAX(c.u) AS u FROM c "
      "GROUP BY c.half, c.team ORDER BY c.half DESC",
      true, NULL },
    { "SELECT TOP 4 c.mixed, COUNT(1) AS n FROM c GROUP BY c.mixed "
      "ORDER BY c.mixed",
      true, NULL },
    { "SELECT VALUE c.mixed FROM c GROUP BY c.mixed ORDER BY c.mixed DESC",
      true, NULL },
    { "SELECT c.team, SUM(c.n) AS s FROM c GROUP BY c.team, c.half "
      "ORDER BY c.team OFFSET 3 LIMIT 20",
      true, NULL },
    { "SELECT DISTINCT VALUE c.team FROM c GROUP BY c.half, c.team "
      "ORDER BY c.half",
      true, NULL },
    { "SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.team FROM c)", true,
      NULL },
    { "SELECT VALUE c.n FROM c WHERE false", false, NULL },
    { "SELECT VALUE COUNT(1) FROM c WHERE c.n > 1000", true, NULL },
};

enum { QUERIES = sizeof(queries) / sizeof(queries[0]) };

static void the_ranges_are_one_and_four(void **state)
{
    runnel_ranges *r = NULL;
    runnel_error error = { 0 };

    (void)state;
    must(runnel_ranges_read(one, 0, &r, &error));
    assert_int_equal(runnel_ranges_count(r), 1);
    runnel_ranges_close(r);
    must(runnel_ranges_read(four, 0, &r, &error));
    assert_int_equal(runnel_ranges_count(r), 4);
    runnel_ranges_close(r);
}

static void compare_all(struct live *l, runnel_container *c,
                        uint32_t page_limit, bool resume)
{
    struct live_rows *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));

    for (size_t i = 0; i < QUERIES; i++) {
        runnel_query_options o = { RUNNEL_QUERY_INIT };

        o.text = queries[i].text;
        o.parameters = queries[i].parameters;
        o.page_limit = page_limit;
        ask_server(l, o.text, o.parameters, a);
        live_read_all(c, o, resume, b);
        assert_same(o.text, a, b, queries[i].ordered);
        live_free_rows(a);
        live_free_rows(b);
    }
    free(a);
    free(b);
}

static void a_query_of_four_ranges_answers_as_the_server_of_one(void **state)
{
    compare_all(*state, one, 0, false);
    compare_all(*state, four, 0, false);
}

static void it_does_so_in_small_pages(void **state)
{
    compare_all(*state, four, 7, false);
}

static void it_goes_on_by_tokens_alone(void **state)
{
    compare_all(*state, four, 11, true);
}

static void the_read_feed_gives_every_item_once(void **state)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT };
    struct live_rows *a = calloc(1, sizeof(*a));

    (void)state;
    o.page_limit = 13;
    live_read_all(four, o, true, a);
    assert_int_equal(a->count, ITEMS);
    assert_true(a->pages > 4);
    qsort(a->of, a->count, sizeof(a->of[0]), live_by_text);
    for (size_t i = 1; i < a->count; i++)
        assert_string_not_equal(a->of[i - 1], a->of[i]);
    live_free_rows(a);
    free(a);
}

static void the_pieces_of_the_ranges_have_every_item_once(void **state)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT };
    struct live_rows *a = calloc(1, sizeof(*a));
    runnel_ranges *r = NULL;
    size_t total = 0, filled = 0;
    runnel_error error = { 0 };

    (void)state;
    must(runnel_ranges_read(four, 9, &r, &error));
    assert_int_equal(runnel_ranges_count(r), 9);
    assert_string_equal(runnel_ranges_at(r, 0)->min, "");
    assert_string_equal(runnel_ranges_at(r, 8)->max, "FF");
    for (int text = 0; text < 2; text++) {
        total = filled = 0;
        for (size_t i = 0; i < 9; i++) {
            o.text = text ? "SELECT VALUE c.id FROM c" : NULL;
            o.range = runnel_ranges_at(r, i)->text;
            live_read_all(four, o, false, a);
            total += a->count;
            filled += a->count > 0;
            live_free_rows(a);
        }
        assert_int_equal(total, ITEMS);
        assert_true(filled > 4); /* 37 keys, cut in hash space */
    }
    runnel_ranges_close(r);
    free(a);
}

static void a_query_of_one_key_stays_with_it(void **state)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT, .partition_key = "\"k5\"" };
    struct live_rows *a = calloc(1, sizeof(*a));

    (void)state;
    o.text = "SELECT VALUE c.pk FROM c";
    o.page_limit = 2;
    live_read_all(four, o, true, a);
    assert_int_equal(a->count, 7); /* 5, 42, ... 227 */
    for (size_t i = 0; i < a->count; i++)
        assert_string_equal(a->of[i], "\"k5\"");
    live_free_rows(a);
    o.text = NULL;
    live_read_all(four, o, true, a);
    assert_int_equal(a->count, 7);
    live_free_rows(a);
    free(a);
}

static void a_prefix_of_a_hierarchical_key_is_a_scope(void **state)
{
    struct live *l = *state;
    runnel_container *c = live_container(l, "tree", "/a,/b", 1);
    runnel_query_options o = { RUNNEL_QUERY_INIT, .partition_key = "[\"a1\"]" };
    struct live_rows *a = calloc(1, sizeof(*a));
    runnel_error error = { 0 };
    char item[80];

    for (int i = 0; i < 12; i++) {
        snprintf(item, sizeof(item), "{\"id\":\"%d\",\"a\":\"a%d\",\"b\":%d}",
                 i, i % 3, i);
        must(runnel_item_create(c, runnel_text(item), NULL, NULL, &error));
    }
    o.text = "SELECT VALUE c.a FROM c ORDER BY c.id";
    live_read_all(c, o, false, a);
    assert_int_equal(a->count, 4);
    live_free_rows(a);
    free(a);
    runnel_container_close(c);
}

static void a_token_that_is_damaged_or_of_another_query_is_refused(void **state)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT, .page_limit = 5,
                               .text = "SELECT * FROM c" };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    char *damaged;

    (void)state;
    must(runnel_query_open(four, &o, &q, &error));
    must(runnel_query_next(q, &page, &error));
    runnel_query_close(q);
    o.text = "SELECT VALUE c.id FROM c";
    o.token = runnel_page_token(page);
    must_be(runnel_query_open(four, &o, &q, &error), RUNNEL_BAD_REQUEST);
    o.token = "rnq2.e30";
    must_be(runnel_query_open(four, &o, &q, &error), RUNNEL_BAD_REQUEST);
    o.token = "nonsense";
    must_be(runnel_query_open(four, &o, &q, &error), RUNNEL_BAD_REQUEST);
    o.text = "SELECT * FROM c";
    damaged = strdup(runnel_page_token(page));
    o.token = damaged;
    for (size_t i = 0; damaged[i]; i++) {
        char was = damaged[i];
        damaged[i] = was == 'A' ? 'B' : 'A';
        must_be(runnel_query_open(four, &o, &q, &error), RUNNEL_BAD_REQUEST);
        damaged[i] = was;
    }
    damaged[strlen(damaged) - 4] = '\0';
    must_be(runnel_query_open(four, &o, &q, &error), RUNNEL_BAD_REQUEST);
    free(damaged);
    runnel_page_close(page);
}

static void a_query_that_needs_more_memory_is_refused(void **state)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT, .memory_limit = 4096,
                               .text = "SELECT DISTINCT VALUE c.id FROM c" };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    runnel_code rc;

    (void)state;
    must(runnel_query_open(four, &o, &q, &error));
    while (!(rc = runnel_query_next(q, &page, &error)) && page)
        runnel_page_close(page);
    assert_int_equal(rc, RUNNEL_TOO_LARGE);
    assert_non_null(strstr(error.message, "memory_limit"));
    runnel_query_close(q);
}

static void a_query_that_is_none_is_refused_by_the_server(void **state)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT, .text = "SELEKT" };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };

    (void)state;
    must(runnel_query_open(four, &o, &q, &error));
    must_be(runnel_query_next(q, &page, &error), RUNNEL_BAD_REQUEST);
    assert_non_null(strstr(error.message, "yntax"));
    runnel_query_close(q);
    o.parameters = "{}";
    must_be(runnel_query_open(four, &o, &q, &error), RUNNEL_BAD_REQUEST);
}

/* Of a range the sum is a number, of all items it is too large for one. */
static void a_sum_that_no_number_can_hold_is_refused(void **state)
{
    static const char *const texts[] = {
        "SELECT VALUE SUM(c.huge) FROM c",
        "SELECT VALUE AVG(c.huge) FROM c",
        "SELECT COUNT(1) AS n, SUM(-c.huge) AS s FROM c",
        "SELECT c.nothing, SUM(c.huge) AS s FROM c GROUP BY c.nothing",
    };
    runnel_container *const both[] = { one, four };
    runnel_error error = { 0 };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(texts) / sizeof(texts[0]); i++) {
        runnel_query_options o = { RUNNEL_QUERY_INIT, .text = texts[i / 2] };
        runnel_query *q = NULL;
        runnel_page *page = NULL;

        must(runnel_query_open(both[i % 2], &o, &q, &error));
        must_be(runnel_query_next(q, &page, &error), RUNNEL_BAD_REQUEST);
        runnel_query_close(q);
    }
}

static void the_catalog_is_listed(void **state)
{
    struct live *l = *state;
    runnel_query_options o = { RUNNEL_QUERY_INIT, .page_limit = 1 };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    size_t count = 0;

    must(runnel_query_catalog(l->client, l->database, &o, &q, &error));
    for (;;) {
        must(runnel_query_next(q, &page, &error));
        if (!page)
            break;
        count += runnel_page_count(page);
        runnel_page_close(page);
    }
    runnel_query_close(q);
    assert_true(count >= 3);
    o.text = "SELECT VALUE d.id FROM d WHERE d.id = 'none'";
    must(runnel_query_catalog(l->client, NULL, &o, &q, &error));
    must(runnel_query_next(q, &page, &error));
    assert_null(page);
    runnel_query_close(q);
}

/* A query that met failures is asked again and has every row once. */
static void a_query_goes_on_after_a_failure(void **state)
{
    struct live *l = *state;
    runnel_client_options co = { RUNNEL_CLIENT_INIT, .retry_limit = 1 };
    runnel_client *client = live_client(&co);
    runnel_container *c = NULL;
    runnel_query_options o = { RUNNEL_QUERY_INIT, .page_limit = 9,
                               .text = "SELECT VALUE c.u FROM c ORDER BY c.u" };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    char text[200];
    struct live_rows *a = calloc(1, sizeof(*a));
    int failures = 0;

    must(runnel_container_open(client, l->database, "four", &c, &error));
    must(runnel_query_open(c, &o, &q, &error));
    for (int i = 0;; i++) {
        runnel_code rc;
        snprintf(text, sizeof(text),
                 "{\"path\":\"/dbs/%s/colls/four/docs\",\"status\":503,"
                 "\"skip\":%d,\"count\":3}",
                 l->database, i % 3);
        if (i % 2 == 0)
            live_control(l, "POST", "/_runnel/fault", text);
        rc = runnel_query_next(q, &page, &error);
        if (rc) {
            assert_int_equal(rc, RUNNEL_BUSY);
            failures++;
            continue;
        }
        if (!page)
            break;
        live_take_page(a, page);
        runnel_page_close(page);
    }
    live_control(l, "DELETE", "/_runnel/fault", "");
    assert_true(failures > 0);
    assert_int_equal(a->count, ITEMS);
    for (size_t i = 0; i < a->count; i++) {
        snprintf(text, sizeof(text), "%zu", i);
        assert_string_equal(a->of[i], text);
    }
    runnel_query_close(q);
    live_free_rows(a);
    free(a);
    runnel_container_close(c);
    runnel_client_close(client);
}

/* Splits under way: a query that has begun goes on in the children. */
static void a_query_follows_a_split(void **state)
{
    struct live *l = *state;
    runnel_container *c = live_container(l, "split", "/pk", 1);
    runnel_query_options o = { RUNNEL_QUERY_INIT, .page_limit = 10,
                               .text = "SELECT VALUE c.u FROM c ORDER BY c.u" };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    char text[200];
    struct live_rows *a = calloc(1, sizeof(*a));

    for (int i = 0; i < 60; i++) {
        print_item(i, text, sizeof(text));
        must(runnel_item_create(c, runnel_text(text), NULL, NULL, &error));
    }
    must(runnel_query_open(c, &o, &q, &error));
    must(runnel_query_next(q, &page, &error));
    live_take_page(a, page);
    runnel_page_close(page);
    snprintf(text, sizeof(text),
             "{\"container\":\"dbs/%s/colls/split\",\"range\":0}", l->database);
    live_control(l, "POST", "/_runnel/split", text);
    for (;;) {
        must(runnel_query_next(q, &page, &error));
        if (!page)
            break;
        live_take_page(a, page);
        runnel_page_close(page);
    }
    assert_int_equal(a->count, 60);
    for (size_t i = 0; i < a->count; i++) {
        snprintf(text, sizeof(text), "%zu", i);
        assert_string_equal(a->of[i], text);
    }
    runnel_query_close(q);
    live_free_rows(a);
    free(a);
    runnel_container_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ranges_are_one_and_four),
        cmocka_unit_test(a_query_of_four_ranges_answers_as_the_server_of_one),
        cmocka_unit_test(it_does_so_in_small_pages),
        cmocka_unit_test(it_goes_on_by_tokens_alone),
        cmocka_unit_test(the_read_feed_gives_every_item_once),
        cmocka_unit_test(the_pieces_of_the_ranges_have_every_item_once),
        cmocka_unit_test(a_query_of_one_key_stays_with_it),
        cmocka_unit_test(a_prefix_of_a_hierarchical_key_is_a_scope),
        cmocka_unit_test(
            a_token_that_is_damaged_or_of_another_query_is_refused),
        cmocka_unit_test(a_query_that_needs_more_memory_is_refused),
        cmocka_unit_test(a_query_that_is_none_is_refused_by_the_server),
        cmocka_unit_test(a_sum_that_no_number_can_hold_is_refused),
        cmocka_unit_test(the_catalog_is_listed),
        cmocka_unit_test(a_query_goes_on_after_a_failure),
        cmocka_unit_test(a_query_follows_a_split),
    };

    return cmocka_run_group_tests(tests, make_items, drop_items);
}
