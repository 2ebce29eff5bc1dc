/* client_large_test.c -- answers that are larger than the client takes.
 *
 * Goal: a page of a query or of the feed that is too large is asked for with
 * fewer rows, so that all rows are read; one item that is too large is an error
 * that says so, after a bounded number of requests.  Method: a service of 40
 * items of which an answer carries three at most, or none; and once a real
 * answer of 65 MiB.
 */
#include "client/api/client.h"
#include "client/api/container.h"
#include "client/canned.h"
#include "client/peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ITEMS = 40 };

static int most; /* items that an answer carries */

static long number_in(const struct rn_exchange *x, const char *header)
{
    struct rn_view text = rn_headers_find(&x->headers, header);

    return text.at ? strtol(text.at + (*text.at == '"'), NULL, 10) : 0;
}

static void answer_items(struct rn_exchange *x, bool is_feed)
{
    long limit = number_in(x, RN_HEADER_MAX_ITEM_COUNT);
    long first = number_in(x, is_feed ? RN_HEADER_IF_NONE_MATCH
                                      : RN_HEADER_CONTINUATION);
    long count = limit > 0 && limit < ITEMS ? limit : ITEMS;
    char head[80], body[4000] = "{\"Documents\":[";
    size_t len = strlen(body);

    if (count > ITEMS - first)
        count = ITEMS - first;
    if (count > most) {
        canned_fail(x, RUNNEL_TOO_LARGE, true);
        return;
    }
    for (long i = first; i < first + count; i++)
        len += (size_t)snprintf(body + len, sizeof(body) - len,
                                "%s{\"id\":\"%ld\",\"_lsn\":%ld,\"_ts\":1}",
                                i > first ? "," : "", i, i + 1);
    snprintf(body + len, sizeof(body) - len, "]}");
    head[0] = '\0';
    if (is_feed)
        snprintf(head, sizeof(head), "etag: \"%ld\"", first + count);
    else if (first + count < ITEMS)
        snprintf(head, sizeof(head), "x-ms-continuation: %ld", first + count);
    canned_reply(x, is_feed && !count ? 304 : 200, 0, head,
                 is_feed && !count ? "" : body);
}

static void serve(struct canned *c, struct rn_exchange *x, int n)
{
    (void)c;
    (void)n;
    if (strstr(x->url.at, "/pkranges")) {
        bool again = rn_headers_find(&x->headers, "if-none-match").at;
        canned_reply(x, again ? 304 : 200, 0, "etag: \"2\"",
                     again ? ""
                           : "{\"PartitionKeyRanges\":[{\"id\":\"0\","
                             "\"minInclusive\":\"\",\"maxExclusive\":"
                             "\"FF\"}]}");
    } else if (!strstr(x->url.at, "/docs")) {
        canned_reply(x, 200, 0, "",
                     "{\"id\":\"c\",\"_rid\":\"AbcdAKzQ9AY=\","
                     "\"partitionKey\":{\"paths\":[\"/id\"],\"kind\":"
                     "\"Hash\",\"version\":2}}");
    } else {
        answer_items(x, rn_headers_find(&x->headers, RN_HEADER_A_IM).at);
    }
}

struct account {
    struct canned net;
    runnel_client client;
    runnel_container *container;
};

static void begin(struct account *a, int carried)
{
    runnel_error error = { 0 };

    most = carried;
    canned_init(&a->net, serve, NULL);
    assert_int_equal(canned_open(&a->net, NULL, &a->client.account, &error),
                     RUNNEL_OK);
    assert_int_equal(
        runnel_container_open(&a->client, "d", "c", &a->container, &error),
        RUNNEL_OK);
}

static void end(struct account *a)
{
    runnel_container_close(a->container);
    rn_account_unref(a->client.account);
}

static runnel_code read_query(struct account *a, size_t *count,
                              runnel_error *error)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_code rc = runnel_query_open(a->container, &o, &q, error);

    *count = 0;
    while (!rc && !(rc = runnel_query_next(q, &page, error)) && page) {
        *count += runnel_page_count(page);
        runnel_page_close(page);
    }
    runnel_query_close(q);
    return rc;
}

static runnel_code read_feed(struct account *a, size_t *count,
                             runnel_error *error)
{
    runnel_feed *feed = NULL;
    runnel_code rc = runnel_feed_open(a->container, NULL, &feed, error);
    bool some = true;

    *count = 0;
    while (!rc && some) {
        runnel_batch *batch = NULL;
        rc = runnel_feed_next(feed, 0, &batch, error);
        some = !rc && runnel_batch_count(batch) > 0;
        *count += some ? runnel_batch_count(batch) : 0;
        runnel_batch_close(batch);
    }
    runnel_feed_close(feed);
    return rc;
}

static void a_page_that_is_too_large_is_read_in_smaller_ones(void **state)
{
    struct account a = { 0 };
    runnel_error error = { 0 };
    size_t count;

    (void)state;
    begin(&a, 3);
    assert_int_equal(read_query(&a, &count, &error), RUNNEL_OK);
    assert_int_equal(count, ITEMS);
    assert_int_equal(read_feed(&a, &count, &error), RUNNEL_OK);
    assert_int_equal(count, ITEMS);
    end(&a);
}

static void an_item_that_is_too_large_ends_the_reading(void **state)
{
    struct account a = { 0 };
    runnel_error error = { 0 };
    size_t count;

    (void)state;
    begin(&a, 0);
    assert_int_equal(read_query(&a, &count, &error), RUNNEL_TOO_LARGE);
    assert_int_equal(read_feed(&a, &count, &error), RUNNEL_TOO_LARGE);
    assert_true(a.net.requests < 40);
    end(&a);
}

/* ---- the words ----------------------------------------------------------- */

static enum peer_then answer_much(struct peer *p, struct rn_view request, int n,
                                  struct rn_buf *out)
{
    static char megabyte[1 << 20];

    (void)p;
    (void)request;
    (void)n;
    out->ceiling = (size_t)70 << 20;
    memset(megabyte, ' ', sizeof(megabyte));
    (void)!rn_buf_add(out, RN_LIT("HTTP/1.1 200 OK\r\n"
                                  "Content-Length: 68157440\r\n\r\n"));
    for (int i = 0; i < 65; i++)
        (void)!rn_buf_add(out, rn_view_of(megabyte, sizeof(megabyte)));
    return PEER_CLOSE;
}

static void the_error_says_what_to_do(void **state)
{
    runnel_client_options o = { RUNNEL_CLIENT_INIT };
    runnel_client *client = NULL;
    runnel_error error = { 0 };
    struct peer peer;

    (void)state;
    peer_open(&peer, answer_much, NULL);
    o.endpoint = peer.endpoint;
    assert_int_equal(runnel_client_open(&o, &client, &error), RUNNEL_OK);
    assert_int_equal(runnel_database_read(client, "d", NULL, &error),
                     RUNNEL_TOO_LARGE);
    assert_non_null(strstr(error.message, "64 MiB"));
    assert_non_null(strstr(error.message, "page_limit"));
    runnel_client_close(client);
    assert_int_equal(atomic_load(&peer.requests), 1);
    peer_close(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_that_is_too_large_is_read_in_smaller_ones),
        cmocka_unit_test(an_item_that_is_too_large_ends_the_reading),
        cmocka_unit_test(the_error_says_what_to_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
