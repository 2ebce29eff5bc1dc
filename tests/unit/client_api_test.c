/* client_api_test.c -- the calls of client.h at their edges.
 *
 * Goal: what the header promises holds where callers seldom go, such as
 * behind a failure in the middle of a query, and for arguments that are absent.
 * Method: the public calls on a network whose answers are written here.
 */
#include "client/api/client.h"
#include "client/api/container.h"
#include "client/canned.h"

#include <runnel/runnel.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

static const char container_body[] =
    "{\"id\":\"c\",\"_rid\":\"AbcdAKzQ9AY=\",\"partitionKey\":{\"paths\":"
    "[\"/pk\"],\"kind\":\"Hash\",\"version\":2}}";
static const char ranges_body[] =
    "{\"PartitionKeyRanges\":[{\"id\":\"1\",\"minInclusive\":\"\","
    "\"maxExclusive\":\"1F\"},{\"id\":\"2\",\"minInclusive\":\"1F\","
    "\"maxExclusive\":\"FF\"}]}";

/* An account, and its container of two ranges. */
struct opened {
    struct canned net;
    runnel_client client;
    runnel_container *container;
    const char *definition;
    canned_fn *documents; /* answers what is asked of the container's items */
    canned_fn *ranges;    /* answers what is new of its ranges; NULL: nothing */
    bool is_split;        /* range 1 is gone */
    int failures;         /* that are left, or what `documents` wants */
};

static void serve(struct canned *c, struct rn_exchange *x, int n)
{
    const struct opened *o = c->context;

    if (strstr(x->url.at, "/pkranges")) {
        bool is_more = rn_headers_find(&x->headers, "if-none-match").at;

        if (is_more && o->ranges)
            o->ranges(c, x, n);
        else if (is_more)
            canned_reply(x, 304, 0, "etag: \"2\"", "");
        else
            canned_reply(x, 200, 0, "etag: \"2\"", ranges_body);
    } else if (strstr(x->url.at, "/docs")) {
        o->documents(c, x, n);
    } else {
        canned_reply(x, 200, 0, "", o->definition);
    }
}

static void open_with(struct opened *o, uint32_t retry_limit,
                      canned_fn *documents)
{
    runnel_client_options options = { RUNNEL_CLIENT_INIT,
                                      .retry_limit = retry_limit };
    runnel_error error = { 0 };

    *o =
        (struct opened){ .definition = container_body, .documents = documents };
    canned_init(&o->net, serve, o);
    assert_int_equal(canned_open(&o->net, &options, &o->client.account, &error),
                     RUNNEL_OK);
    assert_int_equal(
        runnel_container_open(&o->client, "d", "c", &o->container, &error),
        RUNNEL_OK);
}

static void open_all(struct opened *o, canned_fn *documents)
{
    open_with(o, RUNNEL_OFF, documents);
}

static void close_all(struct opened *o)
{
    runnel_container_close(o->container);
    rn_account_unref(o->client.account);
}

/* ---- ranges -------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void assert_tiled(const runnel_ranges *ranges)
{
    const char *at = "";
    char text[600];

    for (size_t i = 0; i < runnel_ranges_count(ranges); i++) {
        const runnel_range *one = runnel_ranges_at(ranges, i);

        assert_string_equal(one->min, at);
        assert_string_not_equal(one->min, one->max);
        snprintf(text, sizeof(text), "%s-%s", one->min, one->max);
        assert_string_equal(one->text, text);
        assert_string_equal(one->id, strcmp(one->min, "1F") < 0 ? "1" : "2");
        at = one->max;
    }
    assert_string_equal(at, "FF");
}

/* Moving all that lie behind at each cut took minutes. */
static void many_ranges_are_cut_in_little_time(void **state)
{
    static const size_t counts[] = { 0, 2, 3, 5, 64, 1000, 99999, 100000 };
    double began = cpu_seconds();
    runnel_error error = { 0 };
    struct opened o;

    (void)state;
    open_all(&o, NULL);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        runnel_ranges *ranges = NULL;

        assert_int_equal(
            runnel_ranges_read(o.container, counts[i], &ranges, &error),
            RUNNEL_OK);
        assert_int_equal(runnel_ranges_count(ranges),
                         counts[i] > 2 ? counts[i] : 2);
        assert_tiled(ranges);
        runnel_ranges_close(ranges);
    }
    close_all(&o);
    assert_true(cpu_seconds() - began < 60);
}

/* ---- queries ------------------------------------------------------------- */

static const char sum_plan[] =
    "{\"queryInfo\":{\"aggregates\":[\"Sum\"],\"hasSelectValue\":true,"
    "\"rewrittenQuery\":\"SELECT sum\"},\"queryRanges\":[{\"min\":\"\","
    "\"max\":\"FF\"}]}";

/* Range 1 has two pages, of 1 and 10; range 2 one of 100, which fails first. */
static void answer_sum(struct canned *c, struct rn_exchange *x, int n)
{
    struct opened *o = c->context;
    struct rn_view range = rn_headers_find(&x->headers, RN_HEADER_RANGE_ID);

    (void)n;
    if (rn_headers_find(&x->headers, RN_HEADER_IS_QUERY_PLAN).at)
        canned_reply(x, 200, 0, "", sum_plan);
    else if (rn_view_eq(range, RN_LIT("2")) && o->failures-- > 0)
        canned_fail(x, RUNNEL_BUSY, true);
    else if (rn_view_eq(range, RN_LIT("2")))
        canned_reply(x, 200, 0, "", "{\"Documents\":[[{\"item\":100}]]}");
    else if (rn_headers_find(&x->headers, RN_HEADER_CONTINUATION).at)
        canned_reply(x, 200, 0, "", "{\"Documents\":[[{\"item\":10}]]}");
    else
        canned_reply(x, 200, 0, "x-ms-continuation: p2",
                     "{\"Documents\":[[{\"item\":1}]]}");
}

/* The sum is 111, after so many failures. */
static void assert_sum(struct opened *o, int failures, runnel_code code)
{
    runnel_query_options q = { RUNNEL_QUERY_INIT, .text = "SELECT SUM" };
    runnel_query *query = NULL;
    runnel_page *page = NULL;
    runnel_error error = { 0 };
    runnel_bytes row;

    o->failures = failures;
    assert_int_equal(runnel_query_open(o->container, &q, &query, &error),
                     RUNNEL_OK);
    for (int i = 0; i < failures; i++)
        assert_int_equal(runnel_query_next(query, &page, &error), code);
    assert_int_equal(runnel_query_next(query, &page, &error), RUNNEL_OK);
    assert_int_equal(runnel_page_count(page), 1);
    row = runnel_page_at(page, 0);
    assert_int_equal(row.len, 3);
    assert_memory_equal(row.at, "111", 3);
    runnel_page_close(page);
    runnel_query_close(query);
}

/* The page of one range had arrived when the other failed. */
static void a_sum_goes_on_where_a_failure_interrupted_it(void **state)
{
    struct opened o;

    (void)state;
    for (int failures = 1; failures < 4; failures++) {
        open_all(&o, answer_sum);
        assert_sum(&o, failures, RUNNEL_BUSY);
        close_all(&o);
    }
}

/* Range 1 was split into 3 and 4, which the list of ranges has when it can be
 * read. */
static void answer_split(struct canned *c, struct rn_exchange *x, int n)
{
    struct opened *o = c->context;

    (void)n;
    if (!o->is_split)
        canned_reply(x, 304, 0, "etag: \"2\"", "");
    else if (o->failures-- > 0)
        canned_fail(x, RUNNEL_TIMEOUT, true);
    else if (rn_view_eq(rn_headers_find(&x->headers, "if-none-match"),
                        RN_LIT("\"2\"")))
        canned_reply(x, 200, 0, "etag: \"3\"",
                     "{\"PartitionKeyRanges\":[{\"id\":\"3\",\"minInclusive\":"
                     "\"\",\"maxExclusive\":\"0F\",\"parents\":[\"1\"]},"
                     "{\"id\":\"4\",\"minInclusive\":\"0F\",\"maxExclusive\":"
                     "\"1F\",\"parents\":[\"1\"]}]}");
    else
        canned_reply(x, 304, 0, "etag: \"3\"", "");
}

static void answer_sum_of_split(struct canned *c, struct rn_exchange *x, int n)
{
    struct rn_view range = rn_headers_find(&x->headers, RN_HEADER_RANGE_ID);
    struct opened *o = c->context;

    (void)n;
    o->is_split |= rn_view_eq(range, RN_LIT("1"));
    if (rn_headers_find(&x->headers, RN_HEADER_IS_QUERY_PLAN).at)
        canned_reply(x, 200, 0, "", sum_plan);
    else if (rn_view_eq(range, RN_LIT("1")))
        canned_reply(x, 410, 1002, "", "{}");
    else if (rn_view_eq(range, RN_LIT("2")))
        canned_reply(x, 200, 0, "", "{\"Documents\":[[{\"item\":100}]]}");
    else if (rn_view_eq(range, RN_LIT("3")))
        canned_reply(x, 200, 0, "", "{\"Documents\":[[{\"item\":10}]]}");
    else
        canned_reply(x, 200, 0, "", "{\"Documents\":[[{\"item\":1}]]}");
}

static void a_split_that_cannot_be_read_at_once_loses_no_row(void **state)
{
    struct opened o;

    (void)state;
    for (int failures = 0; failures < 3; failures++) {
        open_all(&o, answer_sum_of_split);
        o.ranges = answer_split;
        assert_sum(&o, failures, RUNNEL_TIMEOUT);
        close_all(&o);
    }
}

enum { LONG_KEY = 1200000 };

/* Two rows of each range, in the order of long texts. */
static void answer_long_order(struct canned *c, struct rn_exchange *x, int n)
{
    static const char plan[] =
        "{\"queryInfo\":{\"orderBy\":[\"Ascending\"],\"rewrittenQuery\":\"S\"},"
        "\"queryRanges\":[{\"min\":\"\",\"max\":\"FF\"}]}";
    int first = rn_view_eq(rn_headers_find(&x->headers, RN_HEADER_RANGE_ID),
                           RN_LIT("1"))
                    ? 1
                    : 3;
    struct rn_buf body = RN_BUF_INIT(4 * LONG_KEY);

    (void)c;
    (void)n;
    assert_int_equal(rn_buf_add(&body, RN_LIT("{\"Documents\":[")), RN_OK);
    for (int i = first; i < first + 2; i++)
        assert_int_equal(
            rn_buf_printf(&body,
                          "%s{\"_rid\":\"%d\",\"orderByItems\":[{\"item\":"
                          "\"%d%0*d\"}],\"payload\":%d}",
                          i > first ? "," : "", i, i, LONG_KEY, 0, i),
            RN_OK);
    assert_int_equal(rn_buf_add(&body, rn_view_of("]}", 3)), RN_OK);
    if (rn_headers_find(&x->headers, RN_HEADER_IS_QUERY_PLAN).at)
        canned_reply(x, 200, 0, "", plan);
    else
        canned_reply(x, 200, 0, "", body.at);
    rn_buf_release(&body);
}

static void a_token_has_room_for_what_is_ordered(void **state)
{
    runnel_query_options options = { RUNNEL_QUERY_INIT, .text = "SELECT ORDER",
                                     .page_limit = 1 };
    runnel_page *page = NULL, *before = NULL;
    runnel_error error = { 0 };
    struct opened o;

    (void)state;
    open_all(&o, answer_long_order);
    for (char row = '1'; row <= '4'; row++) {
        runnel_query *query = NULL;

        options.token = before ? runnel_page_token(before) : NULL;
        assert_int_equal(
            runnel_query_open(o.container, &options, &query, &error),
            RUNNEL_OK);
        assert_int_equal(runnel_query_next(query, &page, &error), RUNNEL_OK);
        assert_int_equal(runnel_page_count(page), 1);
        assert_int_equal(*runnel_page_at(page, 0).at, row);
        runnel_query_close(query);
        runnel_page_close(before);
        before = page;
    }
    runnel_page_close(before);
    close_all(&o);
}

/* ---- keys of deleted items ------------------------------------------------
 */

#define DEFINITION(kind, paths)                                                \
    "{\"id\":\"c\",\"_rid\":\"AbcdAKzQ9AY=\",\"partitionKey\":{"               \
    "\"paths\":" paths ",\"kind\":\"" kind "\",\"version\":2}}"
#define HASH(path) DEFINITION("Hash", "[\"" path "\"]")
#define MULTIHASH DEFINITION("MultiHash", "[\"/a\",\"/b/c\"]")

static const struct {
    const char *definition;
    const char *metadata; /* what the server says of the key */
    const char *key;
} deleted[] = {
    { HASH("/pk"), "{\"pk\":\"x\"}", "\"x\"" },
    { HASH("/pk"), "{\"pk\":null}", "null" },
    { HASH("/pk"), "{}", "{}" },
    { HASH("/pk"), "{\"pk\":{\"x\":1}}", "{}" },
    { HASH("/pk"), "{\"pk\":[1]}", "{}" },
    { HASH("/a/pk"), "{\"a/pk\":1}", "1" },
    { HASH("/a/pk"), "{\"pk\":1}", "1" },
    { MULTIHASH, "{\"a\":1,\"b/c\":2}", "[1,2]" },
    { MULTIHASH, "{\"b/c\":2,\"a\":1}", "[1,2]" },
    { MULTIHASH, "{\"b/c\":\"x\"}", "[{},\"x\"]" },
    { MULTIHASH, "{\"a\":null}", "[null,{}]" },
    { MULTIHASH, "{\"a\":[],\"c\":true}", "[{},true]" },
    { MULTIHASH, "{}", "[{},{}]" },
    { MULTIHASH, "[1,\"x\"]", "[1,\"x\"]" },
};

static const char *said_of_key;

static void answer_delete(struct canned *c, struct rn_exchange *x, int n)
{
    char body[400];

    (void)c;
    (void)n;
    snprintf(body, sizeof(body),
             "{\"_rid\":\"AbcdAKzQ9AY=\",\"Documents\":[{\"current\":{},"
             "\"metadata\":{\"operationType\":\"delete\",\"lsn\":9,\"crts\":5,"
             "\"id\":\"1\",\"partitionKey\":%s}}]}",
             said_of_key);
    if (strcmp(rn_headers_find(&x->headers, "if-none-match").at, "*") == 0)
        canned_reply(x, 304, 0, "etag: \"8\"", "");
    else
        canned_reply(x, 200, 0, "etag: \"9\"", body);
}

/* The key is that of the item while it was there: what has no value, or none
 * that a key may have, is undefined. */
static void a_deleted_item_has_the_key_that_it_had(void **state)
{
    const runnel_feed_options options = { RUNNEL_FEED_INIT,
                                          .mode = RUNNEL_FEED_ALL,
                                          .start = RUNNEL_START_NOW };
    runnel_error error = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof(deleted) / sizeof(deleted[0]); i++) {
        runnel_batch *batch = NULL;
        runnel_feed *feed = NULL;
        const runnel_change *change;
        struct opened o;

        open_all(&o, answer_delete);
        o.definition = deleted[i].definition;
        said_of_key = deleted[i].metadata;
        assert_int_equal(runnel_feed_open(o.container, &options, &feed, &error),
                         RUNNEL_OK);
        while (!batch || runnel_batch_count(batch) == 0) {
            runnel_batch_close(batch);
            if (runnel_feed_next(feed, 0, &batch, &error))
                fail_msg("%s: %s", said_of_key, error.message);
        }
        change = runnel_batch_at(batch, 0);
        assert_int_equal(change->kind, RUNNEL_DELETED);
        assert_string_equal(change->partition_key.at, deleted[i].key);
        assert_int_equal(change->partition_key.len, strlen(deleted[i].key));
        runnel_batch_close(batch);
        runnel_feed_close(feed);
        close_all(&o);
    }
}

/* ---- bulk ---------------------------------------------------------------- */

enum { READS = 12 };

/* Room for one item of `failures` bytes in each answer. */
static void answer_one_read(struct canned *c, struct rn_exchange *x, int n)
{
    const struct opened *o = c->context;
    const char *at = x->body.at, *end = at + x->body.len;
    struct rn_buf body = RN_BUF_INIT(32 << 20);
    enum rn_code rc =
        rn_buf_printf(&body,
                      "[{\"statusCode\":200,\"resourceBody\":{\"t\":"
                      "\"%0*d\"}}",
                      o->failures, 0);

    (void)n;
    while (!rc && (at = memmem(at, (size_t)(end - at), "},{", 3)) != NULL) {
        rc = rn_buf_add(&body,
                        RN_LIT(",{\"statusCode\":413,\"subStatusCode\":3402}"));
        at++;
    }
    if (!rc)
        rc = rn_buf_add(&body, rn_view_of("]", 2));
    assert_int_equal(rc, RN_OK);
    canned_reply(x, 200, 0, "", body.at);
    rn_buf_release(&body);
}

static void read_in_bulk(size_t count, size_t size)
{
    runnel_operation reads[READS];
    runnel_results *results = NULL;
    runnel_error error = { 0 };
    struct opened o;

    for (size_t i = 0; i < count; i++)
        reads[i] =
            (runnel_operation){ .kind = RUNNEL_READ, .key = { "1", "1" } };
    open_all(&o, answer_one_read);
    o.failures = (int)size;
    assert_int_equal(
        runnel_items_bulk(o.container, reads, count, &results, &error),
        RUNNEL_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(runnel_results_at(results, i)->code, RUNNEL_OK);
        assert_true(runnel_results_at(results, i)->body.len > size);
    }
    runnel_results_close(results);
    close_all(&o);
}

/* Attempts are not used up, of which there is one here. */
static void bulk_reads_what_fits_into_no_answer_together(void **state)
{
    (void)state;
    read_in_bulk(READS, 10);
}

static void an_answer_of_bulk_may_be_as_long_as_a_page(void **state)
{
    (void)state;
    read_in_bulk(1, 9 << 20);
}

static void lose_some(struct canned *c, struct rn_exchange *x, int n)
{
    struct opened *o = c->context;

    (void)n;
    if (o->failures-- > 0)
        canned_fail(x, RUNNEL_BUSY, true);
    else
        canned_reply(x, 200, 0, "", "[{\"statusCode\":200}]");
}

/* A write and a read of one group, of which so many answers are lost. */
static void lose_answers(int count, runnel_code read)
{
    const runnel_operation operations[] = {
        { .kind = RUNNEL_UPSERT,
          .json = runnel_text("{\"id\":\"1\",\"pk\":\"1\"}") },
        { .kind = RUNNEL_READ, .key = { "\"1\"", "1" } },
    };
    runnel_results *results = NULL;
    runnel_error error = { 0 };
    struct opened o;

    open_with(&o, 2, lose_some);
    o.failures = count;
    assert_int_equal(
        runnel_items_bulk(o.container, operations, 2, &results, &error),
        RUNNEL_OK);
    assert_int_equal(runnel_results_at(results, 0)->code, RUNNEL_UNCERTAIN);
    assert_int_equal(runnel_results_at(results, 1)->code, read);
    runnel_results_close(results);
    close_all(&o);
}

static void a_read_in_bulk_leaves_nothing_uncertain(void **state)
{
    (void)state;
    lose_answers(1, RUNNEL_OK);
    lose_answers(2, RUNNEL_OK);
    lose_answers(3, RUNNEL_BUSY);
}

/* ---- arguments ----------------------------------------------------------- */

static void answer_changes(struct canned *c, struct rn_exchange *x, int n)
{
    (void)c;
    (void)n;
    if (rn_headers_find(&x->headers, RN_HEADER_A_IM).at)
        canned_reply(x, 200, 0, "etag: \"7\"",
                     "{\"_rid\":\"AbcdAKzQ9AY=\",\"Documents\":[{\"id\":\"1\","
                     "\"pk\":1,\"_lsn\":7,\"_ts\":1}]}");
    else
        canned_reply(x, 200, 0, "", "{\"Documents\":[1]}");
}

static void what_is_not_wanted_need_not_be_taken(void **state)
{
    runnel_client_options client = { RUNNEL_CLIENT_INIT,
                                     .endpoint = "http://localhost:1" };
    runnel_query_options all = { RUNNEL_QUERY_INIT };
    runnel_error error = { 0 };
    runnel_query *query = NULL;
    runnel_feed *feed = NULL;
    struct opened o;

    (void)state;
    open_all(&o, answer_changes);
    assert_int_equal(runnel_client_open(&client, NULL, &error), RUNNEL_OK);
    assert_int_equal(runnel_container_open(&o.client, "d", "c", NULL, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_ranges_read(o.container, 0, NULL, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_query_open(o.container, &all, NULL, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_query_catalog(&o.client, NULL, &all, NULL, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_query_open(o.container, &all, &query, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_query_next(query, NULL, &error), RUNNEL_OK);
    assert_int_equal(runnel_feed_open(o.container, NULL, NULL, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_feed_open(o.container, NULL, &feed, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_feed_next(feed, 0, NULL, &error), RUNNEL_OK);
    assert_string_not_equal(runnel_feed_token(feed), "");
    runnel_query_close(query);
    runnel_feed_close(feed);
    close_all(&o);
}

static void nothing_lies_behind_the_last(void **state)
{
    runnel_error error = { 0 };
    runnel_batch *batch = NULL;
    runnel_feed *feed = NULL;
    struct opened o;

    (void)state;
    open_all(&o, answer_changes);
    assert_int_equal(runnel_feed_open(o.container, NULL, &feed, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_feed_next(feed, 0, &batch, &error), RUNNEL_OK);
    assert_int_equal(runnel_batch_count(batch), 1);
    assert_int_equal(runnel_batch_at(batch, 0)->lsn, 7);
    assert_null(runnel_batch_at(batch, 1));
    assert_null(runnel_batch_at(batch, SIZE_MAX));
    runnel_batch_close(batch);
    runnel_feed_close(feed);
    close_all(&o);
}

static void what_is_required_and_not_valid_is_refused(void **state)
{
    runnel_query_options all = { RUNNEL_QUERY_INIT };
    runnel_error error = { 0 };
    runnel_client *client = NULL;
    runnel_query *query = NULL;
    struct opened o;
    int before;

    (void)state;
    open_all(&o, answer_changes);
    before = o.net.requests;
    assert_int_equal(runnel_client_open(NULL, &client, &error),
                     RUNNEL_BAD_REQUEST);
    assert_int_equal(runnel_database_create(&o.client, NULL, NULL, &error),
                     RUNNEL_BAD_REQUEST);
    assert_int_equal(
        runnel_container_create(&o.client, "d", NULL, NULL, &error),
        RUNNEL_BAD_REQUEST);
    assert_int_equal(runnel_query_open(o.container, NULL, &query, &error),
                     RUNNEL_BAD_REQUEST);
    assert_int_equal(runnel_query_catalog(&o.client, "", &all, &query, &error),
                     RUNNEL_BAD_REQUEST);
    assert_int_equal(
        runnel_query_catalog(&o.client, "a/b", &all, &query, &error),
        RUNNEL_BAD_REQUEST);
    assert_int_equal(
        runnel_item_replace(o.container,
                            runnel_text("{\"id\":\"a\\u0000b\",\"pk\":1}"),
                            NULL, NULL, &error),
        RUNNEL_BAD_REQUEST);
    assert_int_equal(o.net.requests, before);
    close_all(&o);
}

static runnel_code follow(struct opened *o, const runnel_feed_options *options,
                          runnel_error *error)
{
    runnel_feed *feed = NULL;
    runnel_code rc = runnel_feed_open(o->container, options, &feed, error);

    if (!rc)
        rc = runnel_feed_next(feed, 0, NULL, error);
    runnel_feed_close(feed);
    return rc;
}

static void a_feed_is_told_what_is_wrong_with_its_options(void **state)
{
    enum { LONG = 40 << 20 };
    runnel_feed_options options = { RUNNEL_FEED_INIT };
    struct rn_buf text = RN_BUF_INIT(LONG + 100);
    runnel_error error = { 0 };
    struct opened o;

    (void)state;
    open_all(&o, answer_changes);
    assert_int_equal(rn_buf_printf(&text, "rn1.%0*d", LONG, 0), RN_OK);
    options.token = text.at;
    assert_int_equal(follow(&o, &options, &error), RUNNEL_BAD_REQUEST);
    options.token = NULL;
    options.session_token = text.at;
    assert_int_equal(follow(&o, &options, &error), RUNNEL_BAD_REQUEST);
    options.session_token = NULL;
    options.partition_key = "[1,2]";
    assert_int_equal(follow(&o, &options, &error), RUNNEL_BAD_REQUEST);
    options.partition_key = " [1]";
    assert_int_equal(follow(&o, &options, &error), RUNNEL_OK);
    rn_buf_release(&text);
    close_all(&o);
}

/* The sanitizer sees a use of the handle that is closed. */
static void a_host_keeps_what_it_was_given(void **state)
{
    runnel_location at = { .uri = "http://localhost:1",
                           .database = "d",
                           .collection = "c" };
    runnel_processor_options processor = { RUNNEL_PROCESSOR_INIT };
    runnel_host_options options = { RUNNEL_HOST_INIT, .name = "h",
                                    .monitored = at, .leases = at,
                                    .processor = &processor };
    runnel_error error = { 0 };
    runnel_host *host = NULL;
    struct opened o;

    (void)state;
    open_all(&o, NULL);
    processor.dead_letters = o.container;
    assert_int_equal(runnel_host_open(&options, &host, &error), RUNNEL_OK);
    runnel_container_close(o.container);
    o.container = NULL;
    assert_int_equal(runnel_host_register(host, NULL, &error),
                     RUNNEL_BAD_REQUEST);
    runnel_host_close(host);
    close_all(&o);
}

/* ---- throughput ---------------------------------------------------------- */

/* A manual offer of 400 until it is migrated, then an autoscale one of 1000,
 * until that is replaced. */
static void answer_offers(struct canned *c, struct rn_exchange *x, int n)
{
    static const char *const bodies[] = {
        "{\"Offers\":[{\"_rid\":\"o\",\"content\":{\"offerThroughput\":400}}]}",
        "{\"Offers\":[{\"_rid\":\"o\",\"content\":{\"offerThroughput\":100,"
        "\"offerAutopilotSettings\":{\"maxThroughput\":1000}}}]}",
        "{\"Offers\":[{\"_rid\":\"o\",\"content\":{\"offerThroughput\":400,"
        "\"offerAutopilotSettings\":{\"maxThroughput\":4000}}}]}",
    };
    int *step = c->context;

    (void)n;
    if (!strstr(x->url.at, "/offers")) {
        canned_reply(x, 200, 0, "", container_body);
    } else if (strcmp(x->method, "PUT") == 0) {
        bool migrates = rn_headers_find(&x->headers, RN_HEADER_TO_AUTOSCALE).at;

        assert_true(migrates == (*step == 0));
        assert_non_null(memmem(x->body.at, x->body.len, "4000", 4));
        ++*step;
        canned_reply(x, 200, 0, "", "{}");
    } else {
        canned_reply(x, 200, 0, "", bodies[*step]);
    }
}

static void a_migrated_throughput_is_what_was_asked_for(void **state)
{
    runnel_throughput t = { .units = 4000, .is_autoscale = true };
    runnel_error error = { 0 };
    runnel_client client;
    struct canned net;
    int step = 0;

    (void)state;
    canned_init(&net, answer_offers, &step);
    assert_int_equal(canned_open(&net, NULL, &client.account, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_throughput_replace(&client, "d", "c", t, &error),
                     RUNNEL_OK);
    assert_int_equal(step, 2);
    assert_int_equal(runnel_throughput_read(&client, "d", "c", NULL, &error),
                     RUNNEL_OK);
    assert_int_equal(runnel_throughput_read(&client, "d", "c", &t, &error),
                     RUNNEL_OK);
    assert_int_equal(t.units, 4000);
    rn_account_unref(client.account);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_ranges_are_cut_in_little_time),
        cmocka_unit_test(a_sum_goes_on_where_a_failure_interrupted_it),
        cmocka_unit_test(a_split_that_cannot_be_read_at_once_loses_no_row),
        cmocka_unit_test(a_token_has_room_for_what_is_ordered),
        cmocka_unit_test(a_deleted_item_has_the_key_that_it_had),
        cmocka_unit_test(bulk_reads_what_fits_into_no_answer_together),
        cmocka_unit_test(an_answer_of_bulk_may_be_as_long_as_a_page),
        cmocka_unit_test(a_read_in_bulk_leaves_nothing_uncertain),
        cmocka_unit_test(what_is_not_wanted_need_not_be_taken),
        cmocka_unit_test(nothing_lies_behind_the_last),
        cmocka_unit_test(what_is_required_and_not_valid_is_refused),
        cmocka_unit_test(a_feed_is_told_what_is_wrong_with_its_options),
        cmocka_unit_test(a_host_keeps_what_it_was_given),
        cmocka_unit_test(a_migrated_throughput_is_what_was_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
