/* client_memory_test.c -- no allocation of the client may fail unnoticed, and
 * none may leak.
 *
 * A user's day (open, create, read, patch, transaction, bulk, a sorted and a
 * grouped query over two ranges, and the second page by its token) is done
 * again and again with its first, second, third ... allocation failing, until a
 * day meets no failure.  Each call must then fail with RUNNEL_NO_MEMORY; a
 * write whose answer could not be kept, with RUNNEL_UNCERTAIN.
 */
#include "client/api/client.h"
#include "client/api/container.h"
#include "client/canned.h"
#include "lib/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const char container_body[] =
    "{\"id\":\"c\",\"_rid\":\"AbcdAKzQ9AY=\",\"partitionKey\":{\"paths\":"
    "[\"/pk\"],\"kind\":\"Hash\",\"version\":2}}";
static const char ranges_body[] =
    "{\"PartitionKeyRanges\":[{\"id\":\"1\",\"minInclusive\":\"\","
    "\"maxExclusive\":\"1F\",\"parents\":[\"0\"]},{\"id\":\"2\","
    "\"minInclusive\":\"1F\",\"maxExclusive\":\"FF\",\"parents\":[\"0\"]}]}";
static const char sorted_plan[] =
    "{\"queryInfo\":{\"distinctType\":\"None\",\"orderBy\":[\"Ascending\"],"
    "\"rewrittenQuery\":\"SELECT sorted\"},\"queryRanges\":[{\"min\":\"\","
    "\"max\":\"FF\"}]}";
static const char grouped_plan[] =
    "{\"queryInfo\":{\"distinctType\":\"Unordered\",\"groupByExpressions\":"
    "[\"c.t\"],\"groupByAliases\":[\"t\",\"n\",\"l\"],"
    "\"groupByAliasToAggregateType\":{\"t\":null,\"n\":\"Count\",\"l\":"
    "\"MakeSet\"},\"rewrittenQuery\":\"SELECT grouped\"},\"queryRanges\":"
    "[{\"min\":\"\",\"max\":\"FF\"}]}";
static const char sorted_rows[] =
    "{\"Documents\":[{\"_rid\":\"a\",\"orderByItems\":[{\"item\":\"x\\u0061\"}"
    "],\"payload\":1},{\"_rid\":\"b\",\"orderByItems\":[{\"item\":{\"k\":[2]}}"
    "],\"payload\":{\"q\":\"r\"}}]}";
static const char grouped_rows[] =
    "{\"Documents\":[{\"groupByItems\":[{\"item\":{\"b\":1,\"a\":2}}],"
    "\"payload\":{\"t\":\"x\",\"n\":{\"item\":2},\"l\":{\"item\":[1,2]}}}]}";

static bool has(const struct rn_exchange *x, const char *text)
{
    return x->body.len > 0 &&
           memmem(x->body.at, x->body.len, text, strlen(text)) != NULL;
}

static void answer_query(struct rn_exchange *x)
{
    bool is_plan = rn_headers_find(&x->headers, RN_HEADER_IS_QUERY_PLAN).at;

    if (is_plan)
        canned_reply(x, 200, 0, "",
                     has(x, "GROUP") ? grouped_plan : sorted_plan);
    else
        canned_reply(x, 200, 0, "x-ms-request-charge: 2.5",
                     has(x, "grouped") ? grouped_rows : sorted_rows);
}

static void serve(struct canned *c, struct rn_exchange *x, int n)
{
    const char *token = "x-ms-session-token: 1:-1#5\netag: \"e\"\n"
                        "x-ms-content-path: AbcdAKzQ9AY=";

    (void)c;
    (void)n;
    if (strstr(x->url.at, "/pkranges")) {
        if (rn_headers_find(&x->headers, "if-none-match").at)
            canned_reply(x, 304, 0, "etag: \"2\"", "");
        else
            canned_reply(x, 200, 0, "etag: \"2\"", ranges_body);
    } else if (!strstr(x->url.at, "/docs")) {
        canned_reply(x, 200, 0, "", container_body);
    } else if (has(x, "\"query\"")) {
        answer_query(x);
    } else if (rn_headers_find(&x->headers, RN_HEADER_BATCH).at) {
        canned_reply(x, 200, 0, token,
                     "[{\"statusCode\":201,\"eTag\":\"\\\"e\\u0031\\\"\","
                     "\"resourceBody\":{\"id\":\"1\"}}]");
    } else {
        canned_reply(x, 200, 0, token, "{\"id\":\"1\",\"pk\":\"p\"}");
    }
}

/* ---- a day --------------------------------------------------------------- */

static runnel_code use_items(runnel_container *c, runnel_error *error)
{
    runnel_item_options o = { RUNNEL_ITEM_INIT, .want_body = true,
                              .condition = "FROM c" };
    runnel_bytes item = runnel_text("{\"id\":\"1\",\"pk\":\"p\\u0041\"}");
    runnel_operation op = { .kind = RUNNEL_UPSERT, .json = item };
    runnel_key key = { "\"p\"", "1" };
    runnel_results *results = NULL;
    runnel_reply *reply = NULL;
    runnel_code rc = runnel_item_create(c, item, NULL, &reply, error);

    runnel_reply_close(reply);
    reply = NULL;
    if (!rc)
        rc = runnel_item_read(c, key, NULL, &reply, error);
    runnel_reply_close(reply);
    if (!rc)
        rc = runnel_item_patch(
            c, key, runnel_text("[{\"op\":\"remove\",\"path\":\"/a\"}]"), &o,
            NULL, error);
    if (!rc)
        rc = runnel_items_transact(c, "\"p\"", &op, 1, &results, error);
    runnel_results_close(results);
    results = NULL;
    if (!rc)
        rc = runnel_items_bulk(c, &op, 1, &results, error);
    if (!rc)
        rc = runnel_results_at(results, 0)->code;
    runnel_results_close(results);
    return rc;
}

static runnel_code use_query(runnel_container *c, const char *text,
                             runnel_error *error)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT, .text = text,
                               .parameters = "[]", .page_limit = 3 };
    runnel_query *q = NULL, *again = NULL;
    runnel_page *page = NULL, *second = NULL;
    runnel_code rc = runnel_query_open(c, &o, &q, error);

    if (!rc)
        rc = runnel_query_next(q, &page, error);
    if (!rc && page && runnel_page_token(page)) {
        o.token = runnel_page_token(page);
        rc = runnel_query_open(c, &o, &again, error);
        if (!rc)
            rc = runnel_query_next(again, &second, error);
    }
    runnel_page_close(page);
    runnel_page_close(second);
    runnel_query_close(q);
    runnel_query_close(again);
    return rc;
}

static runnel_code do_a_day(struct canned *net, runnel_error *error)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT };
    runnel_client client = { 0 };
    runnel_container *c = NULL;
    runnel_ranges *ranges = NULL;
    runnel_code rc;

    o.preferred_regions = "";
    o.user_agent = "day";
    rc = canned_open(net, &o, &client.account, error);
    if (!rc)
        rc = runnel_container_open(&client, "d", "c", &c, error);
    if (!rc)
        rc = use_items(c, error);
    if (!rc)
        rc = use_query(c, "SELECT * ORDER", error);
    if (!rc)
        rc = use_query(c, "SELECT * GROUP", error);
    if (!rc)
        rc = runnel_ranges_read(c, 5, &ranges, error);
    runnel_ranges_close(ranges);
    runnel_container_close(c);
    rn_account_unref(client.account);
    return rc;
}

static void a_failed_allocation_is_an_error_like_any_other(void **state)
{
    long before = rn_fault_live();
    long nth = 0;
    bool struck = true;

    (void)state;
    while (struck) {
        runnel_error error = { 0 };
        struct canned net;
        runnel_code rc;

        canned_init(&net, serve, NULL);
        rn_fault_arm(++nth);
        rc = do_a_day(&net, &error);
        struck = rn_fault_struck();
        rn_fault_arm(0);
        if (struck && rc != RUNNEL_NO_MEMORY && rc != RUNNEL_UNCERTAIN)
            fail_msg("allocation %ld failed, and the day ended with %s: %s",
                     nth, runnel_code_name(rc), error.message);
        if (!struck && rc)
            fail_msg("nothing failed but the day: %s: %s", runnel_code_name(rc),
                     error.message);
        if (rn_fault_live() != before)
            fail_msg("allocation %ld failed, and %ld leaked", nth,
                     rn_fault_live() - before);
    }
    print_message("%ld allocations\n", nth - 1);
    assert_true(nth > 200);
}

/* The writes of items that have come to the server. */
static int writes;

static void count_writes(struct canned *c, struct rn_exchange *x, int n)
{
    writes += strstr(x->url.at, "/docs") != NULL;
    serve(c, x, n);
}

/* One item is written alone, by a transaction or in bulk. */
static runnel_code write_one(runnel_container *c, int way, runnel_error *error)
{
    runnel_bytes item = runnel_text("{\"id\":\"1\",\"pk\":\"p\"}");
    runnel_operation op = { .kind = RUNNEL_UPSERT, .json = item };
    runnel_results *results = NULL;
    runnel_reply *reply = NULL;
    runnel_code rc;

    if (way == 0)
        rc = runnel_item_create(c, item, NULL, &reply, error);
    else if (way == 1)
        rc = runnel_items_transact(c, "\"p\"", &op, 1, &results, error);
    else
        rc = runnel_items_bulk(c, &op, 1, &results, error);
    if (!rc && results)
        rc = runnel_results_at(results, 0)->code;
    runnel_reply_close(reply);
    runnel_results_close(results);
    return rc;
}

/* Returns whether an allocation failed. */
static bool write_without(long nth, int way)
{
    runnel_client client = { 0 };
    runnel_container *c = NULL;
    runnel_error error = { 0 };
    struct canned net;
    runnel_code rc;
    bool struck;

    writes = 0;
    canned_init(&net, count_writes, NULL);
    assert_int_equal(canned_open(&net, NULL, &client.account, NULL), RUNNEL_OK);
    assert_int_equal(runnel_container_open(&client, "d", "c", &c, NULL),
                     RUNNEL_OK);
    rn_fault_arm(nth);
    rc = write_one(c, way, &error);
    struck = rn_fault_struck();
    rn_fault_arm(0);
    runnel_container_close(c);
    rn_account_unref(client.account);
    if (rc == RUNNEL_NO_MEMORY)
        assert_int_equal(writes, 0);
    else
        assert_int_equal(writes, 1);
    return struck;
}

static void a_write_that_is_done_is_not_said_not_to_be(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        long nth = 1;

        while (write_without(nth, way))
            nth++;
        assert_true(nth > 10);
    }
}

/* Reads a whole query; a call without memory is made again.  Returns whether an
 * allocation failed. */
static bool read_whole(long nth, const char *text, size_t expected)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT, .text = text,
                               .page_limit = 1 };
    runnel_client client = { 0 };
    runnel_container *c = NULL;
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    size_t rows = 0;
    struct canned net;
    runnel_code rc;
    bool struck;

    canned_init(&net, serve, NULL);
    assert_int_equal(canned_open(&net, NULL, &client.account, NULL), RUNNEL_OK);
    assert_int_equal(runnel_container_open(&client, "d", "c", &c, NULL),
                     RUNNEL_OK);
    rn_fault_arm(nth);
    do
        rc = runnel_query_open(c, &o, &q, NULL);
    while (rc == RUNNEL_NO_MEMORY);
    do {
        rc = runnel_query_next(q, &page, NULL);
        if (!rc && page)
            rows += runnel_page_count(page);
        if (!rc)
            runnel_page_close(page);
    } while (rc == RUNNEL_NO_MEMORY || (!rc && page));
    struck = rn_fault_struck();
    rn_fault_arm(0);
    /* A query that cannot go on says so. */
    if (rc != RUNNEL_BAD_REQUEST || !struck)
        assert_int_equal(rc, RUNNEL_OK);
    if (!rc && rows != expected)
        fail_msg("allocation %ld failed, and %s had %zu rows", nth, text, rows);
    runnel_query_close(q);
    runnel_container_close(c);
    rn_account_unref(client.account);
    return struck;
}

static void no_row_is_lost_with_an_allocation(void **state)
{
    long nth = 1;

    (void)state;
    while (read_whole(nth, "SELECT * ORDER", 4))
        nth++;
    assert_true(nth > 50);
    for (nth = 1; read_whole(nth, "SELECT * GROUP", 1);)
        nth++;
    assert_true(nth > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_allocation_is_an_error_like_any_other),
        cmocka_unit_test(a_write_that_is_done_is_not_said_not_to_be),
        cmocka_unit_test(no_row_is_lost_with_an_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
