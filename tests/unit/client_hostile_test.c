/* client_hostile_test.c -- a server that means the client harm, or is broken.
 *
 * Goal: whatever bytes come, a call ends, in bounded time and memory, with a
 * code of client.h; no answer makes the client go elsewhere or believe what is
 * not so.  Method: a table of answers, each given to a read, to a write, to a
 * query, to a bulk of one, to a feed, to a look at leases and to the start of a
 * processor; sanitizers look on.
 */
#include "client/peer.h"

#include <runnel/runnel.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

/* What is said to every request. */
static const struct {
    const char *name, *bytes;
    enum peer_then then;
    unsigned junk; /* so many bytes more */
} answers[] = {
    { "nothing", "", PEER_CLOSE, 0 },
    { "a reset", "", PEER_RESET, 0 },
    { "half a status line", "HTTP/1.", PEER_CLOSE, 0 },
    { "no HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", PEER_CLOSE, 0 },
    { "junk", "\x16\x03\x01\x02", PEER_CLOSE, 5000 },
    { "an endless head", OK_HEAD "x-a: ", PEER_CLOSE, 2 << 20 },
    { "a head without an end", OK_HEAD "etag: \"1\"\r\n", PEER_CLOSE, 0 },
    { "a body cut short",
      OK_HEAD "Content-Length: 100\r\n\r\n{\"id\":", PEER_CLOSE, 0 },
    { "a body that is reset",
      OK_HEAD "Content-Length: 100\r\n\r\n{\"id\":", PEER_RESET, 0 },
    { "a huge length", OK_HEAD "Content-Length: 999999999999\r\n\r\n{}",
      PEER_CLOSE, 0 },
    { "a length that is not a number", OK_HEAD "Content-Length: x\r\n\r\n{}",
      PEER_CLOSE, 0 },
    { "malformed chunks",
      OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", PEER_CLOSE, 0 },
    { "no body", OK_HEAD "Content-Length: 0\r\n\r\n", PEER_KEEP, 0 },
    { "an array", OK_HEAD "Content-Length: 2\r\n\r\n[]", PEER_KEEP, 0 },
    { "an object", OK_HEAD "Content-Length: 2\r\n\r\n{}", PEER_KEEP, 0 },
    { "not JSON", OK_HEAD "Content-Length: 9\r\n\r\n{\"id\":nul", PEER_KEEP,
      0 },
    { "wrong types",
      OK_HEAD "Content-Length: 112\r\n\r\n"
              "{\"id\":7,\"_rid\":[],\"partitionKey\":3,\"Documents\":{},"
              "\"PartitionKeyRanges\":[7,null,{\"id\":{}}],\"queryInfo\":[1],"
              "\"message\":4} ",
      PEER_KEEP, 0 },
    { "rows without an end",
      OK_HEAD "x-ms-continuation: same\r\nContent-Length: 16\r\n\r\n"
              "{\"Documents\":[]}",
      PEER_KEEP, 0 },
    { "a redirect to itself",
      "HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
      PEER_KEEP, 0 },
    { "429 for ever",
      "HTTP/1.1 429 No\r\nx-ms-retry-after-ms: 0\r\nContent-Length: 0\r\n\r\n",
      PEER_KEEP, 0 },
    { "429 for a year",
      "HTTP/1.1 429 No\r\nx-ms-retry-after-ms: 99999999999999999999\r\n"
      "Content-Length: 0\r\n\r\n",
      PEER_KEEP, 0 },
    { "gone for ever",
      "HTTP/1.1 410 Gone\r\nx-ms-substatus: 1002\r\nContent-Length: 0\r\n\r\n",
      PEER_KEEP, 0 },
    { "100 for ever",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", PEER_CLOSE,
      0 },
    { "401 with another clock",
      "HTTP/1.1 401 No\r\nDate: Sun, 01 Jan 2000 00:00:00 GMT\r\n"
      "Content-Length: 0\r\n\r\n",
      PEER_KEEP, 0 },
    { "a message that is long and has secrets of others",
      "HTTP/1.1 400 No\r\nx-ms-activity-id: 01234567890123456789012345678901234"
      "567890123456789\r\nContent-Length: 26\r\n\r\n"
      "{\"message\":\"\\u0000\\ud83d\"}",
      PEER_KEEP, 0 },
};

enum { ANSWERS = sizeof(answers) / sizeof(answers[0]) };

static enum peer_then say(struct peer *p, struct rn_view request, int n,
                          struct rn_buf *out)
{
    size_t i = *(const size_t *)p->context;
    struct rn_view bytes = rn_view_text(answers[i].bytes);

    (void)request;
    (void)n;
    if (rn_buf_add(out, bytes) || rn_buf_reserve(out, answers[i].junk))
        abort();
    if (answers[i].junk > 0)
        memset(out->at + out->len, 'j', answers[i].junk);
    out->len += answers[i].junk;
    return answers[i].then;
}

static runnel_code query(runnel_container *c, const char *text,
                         runnel_error *error)
{
    runnel_query_options o = { RUNNEL_QUERY_INIT, .text = text };
    runnel_query *q = NULL;
    runnel_page *page = NULL;
    runnel_code rc = runnel_query_open(c, &o, &q, error);

    for (int i = 0; !rc && i < 5; i++) {
        page = NULL;
        rc = runnel_query_next(q, &page, error);
        runnel_page_close(page);
    }
    runnel_query_close(q);
    return rc;
}

/* Everything once; most of it fails. */
static void ask_all(runnel_client *client, size_t i)
{
    runnel_operation op = { .kind = RUNNEL_UPSERT };
    runnel_key key = { "\"p\"", "1" };
    runnel_bytes item = runnel_text("{\"id\":\"1\",\"pk\":\"p\"}");
    runnel_item_options by_key = { RUNNEL_ITEM_INIT, .partition_key = "1" };
    runnel_container *c = NULL;
    runnel_results *results = NULL;
    runnel_ranges *ranges = NULL;
    runnel_reply *reply = NULL;
    runnel_throughput t;
    runnel_error error = { 0 };
    runnel_code rc;

    op.json = item;
    assert_int_equal(runnel_container_open(client, "d", "c", &c, &error),
                     RUNNEL_OK);
    rc = runnel_item_read(c, key, NULL, &reply, &error);
    if (!rc)
        assert_int_equal(runnel_reply_status(reply), 200);
    runnel_reply_close(reply);
    /* A write is done, refused, or nobody knows: never a plain failure after
     * it was sent. */
    rc = runnel_item_create(c, item, &by_key, NULL, &error);
    if (rc == RUNNEL_BUSY || rc == RUNNEL_TIMEOUT || rc == RUNNEL_PROTOCOL)
        fail_msg("%s: a write ended with %s", answers[i].name,
                 runnel_code_name(rc));
    assert_int_not_equal(runnel_item_create(c, item, NULL, NULL, &error),
                         RUNNEL_OK);
    assert_int_not_equal(query(c, "SELECT * FROM c", &error), RUNNEL_OK);
    assert_int_not_equal(query(c, NULL, &error), RUNNEL_OK);
    assert_int_not_equal(runnel_ranges_read(c, 0, &ranges, &error), RUNNEL_OK);
    rc = runnel_items_transact(c, "1", &op, 1, &results, &error);
    assert_int_not_equal(rc, RUNNEL_OK);
    runnel_results_close(results);
    results = NULL;
    assert_int_not_equal(runnel_items_bulk(c, &op, 1, &results, &error),
                         RUNNEL_OK);
    runnel_results_close(results);
    assert_int_not_equal(runnel_throughput_read(client, "d", "c", &t, &error),
                         RUNNEL_OK);
    assert_true(error.code != RUNNEL_OK && strlen(error.message) > 0);
    runnel_container_close(c);
}

static bool no_lease(void *context, const runnel_lease *lease)
{
    (void)context;
    (void)lease;
    fail();
    return false;
}

static bool no_lag(void *context, const runnel_lag *lag)
{
    (void)context;
    (void)lag;
    fail();
    return false;
}

static runnel_verdict no_changes(void *context, const char *lease,
                                 const runnel_batch *batch)
{
    (void)context;
    (void)lease;
    (void)batch;
    abort(); /* on a thread of the library */
}

/* Reads of the feed and of leases; the pauses between attempts are short. */
static void follow(const char *endpoint)
{
    const runnel_client_options hasty = { RUNNEL_CLIENT_INIT,
                                          .endpoint = endpoint,
                                          .retry_limit = 2, .timeout_ms = 2000,
                                          .retry_wait_ms = 50 };
    const runnel_feed_options from = { RUNNEL_FEED_INIT,
                                       .start = RUNNEL_START_BEGINNING };
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT, .name = "p" };
    runnel_processor_options o = { RUNNEL_PROCESSOR_INIT, .name = "p",
                                   .feed = &from, .start_ms = 1,
                                   .event = runnel_event_ignore };
    runnel_observer observer = { RUNNEL_OBSERVER_INIT, .changes = no_changes };
    runnel_processor *processor = NULL;
    runnel_feed *feed = NULL;
    runnel_batch *batch = NULL;
    runnel_client *client = NULL;
    runnel_error error = { 0 };

    assert_int_equal(runnel_client_open(&hasty, &client, &error), RUNNEL_OK);
    assert_int_equal(
        runnel_container_open(client, "d", "c", &set.source, &error),
        RUNNEL_OK);
    assert_int_equal(
        runnel_container_open(client, "d", "l", &set.leases, &error),
        RUNNEL_OK);
    o.leases = set.leases;
    assert_int_equal(runnel_feed_open(set.source, &from, &feed, &error),
                     RUNNEL_OK);
    assert_int_not_equal(runnel_feed_next(feed, 0, &batch, &error), RUNNEL_OK);
    runnel_feed_close(feed);
    assert_int_not_equal(runnel_leases_each(&set, no_lease, NULL, &error),
                         RUNNEL_OK);
    assert_int_not_equal(runnel_lag_each(&set, no_lag, NULL, &error),
                         RUNNEL_OK);
    assert_int_not_equal(
        runnel_processor_start(set.source, &o, &observer, &processor, &error),
        RUNNEL_OK);
    assert_true(strlen(error.message) > 0);
    runnel_container_close(set.leases);
    runnel_container_close(set.source);
    runnel_client_close(client);
}

static void no_answer_does_harm(void **state)
{
    (void)state;
    for (size_t i = 0; i < ANSWERS; i++) {
        runnel_client_options o = { RUNNEL_CLIENT_INIT, .retry_limit = 2,
                                    .timeout_ms = 2000, .retry_wait_ms = 1000 };
        runnel_client *client = NULL;
        runnel_error error = { 0 };
        struct peer peer;

        peer_open(&peer, say, &i);
        o.endpoint = peer.endpoint;
        assert_int_equal(runnel_client_open(&o, &client, &error), RUNNEL_OK);
        ask_all(client, i);
        /* Some calls make several requests, each tried three times. */
        if (peer.requests > 150)
            fail_msg("%s: %d requests", answers[i].name, (int)peer.requests);
        follow(peer.endpoint);
        if (peer.requests > 250)
            fail_msg("%s: %d requests", answers[i].name, (int)peer.requests);
        runnel_client_close(client);
        peer_close(&peer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_answer_does_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
