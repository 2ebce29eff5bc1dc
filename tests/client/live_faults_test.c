/* live_faults_test.c -- retries, lost answers, transactions and bulk against a
 * server that fails on order.
 *
 * Goal: the table of retries (client/http/retry.h) holds on the wire, and a
 * write whose answer was lost is never sent a second time unless that cannot
 * matter.  Method: the server's /_runnel/fault orders failures; afterwards it
 * is asked how many were taken, and what it has stored.
 */
#include "client/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char item[] = "{\"id\":\"1\",\"pk\":\"p\",\"n\":1}";
static const runnel_key key = { "\"p\"", "1" };

/* Every case begins without faults and with the item, or without. */
static void begin(struct live *l, bool with_item)
{
    runnel_error error = { 0 };
    runnel_code rc;

    live_control(l, "DELETE", "/_runnel/fault", "");
    rc = runnel_item_delete(l->container, key, NULL, &error);
    assert_true(rc == RUNNEL_OK || rc == RUNNEL_NOT_FOUND);
    if (with_item)
        must(runnel_item_create(l->container, runnel_text(item), NULL, NULL,
                                &error));
}

/* How many ordered faults struck since `begin`. */
static int taken(struct live *l)
{
    runnel_request r = { .method = "GET", .path = "/_runnel/fault" };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    runnel_bytes body;
    char text[200];
    int n = -1;
    const char *at;

    must(runnel_client_send(l->client, &r, &reply, &error));
    body = runnel_reply_body(reply);
    snprintf(text, sizeof(text), "%.*s", (int)body.len, body.at);
    at = strstr(text, "\"taken\":");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"taken\":%d", &n), 1);
    runnel_reply_close(reply);
    return n;
}

static void what_was_not_executed_is_sent_again(void **state)
{
    static const char *const faults[] = {
        "{\"status\":429,\"subStatus\":3200,\"count\":2}",
        "{\"status\":449,\"count\":2}",
        "{\"status\":503,\"count\":2}",
        "{\"status\":410,\"subStatus\":1002,\"count\":2}",
        "{\"status\":410,\"subStatus\":1007,\"count\":2}",
        "{\"status\":410,\"subStatus\":1008,\"count\":2}",
    };
    struct live *l = *state;
    runnel_error error = { 0 };

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        int before;
        begin(l, false);
        before = taken(l);
        live_fault(l, faults[i]);
        must(runnel_item_create(l->container, runnel_text(item), NULL, NULL,
                                &error));
        assert_int_equal(taken(l) - before, 2);
        live_fault(l, faults[i]);
        must(runnel_item_read(l->container, key, NULL, NULL, &error));
        assert_int_equal(taken(l) - before, 4);
    }
}

static void a_limit_ends_the_retries(void **state)
{
    struct live *l = *state;
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .retry_limit = 2 };
    runnel_client *client = live_client(&o);
    runnel_container *c = NULL;
    runnel_error error = { 0 };
    int before;

    begin(l, true);
    before = taken(l);
    must(runnel_container_open(client, l->database, "c", &c, &error));
    live_fault(l, "{\"status\":429,\"subStatus\":3200,\"count\":100}");
    must_be(runnel_item_read(c, key, NULL, NULL, &error), RUNNEL_THROTTLED);
    assert_int_equal(error.http_status, 429);
    assert_int_equal(error.sub_status, 3200);
    assert_true(runnel_code_is_transient(error.code));
    assert_int_equal(taken(l) - before, 3);
    live_control(l, "DELETE", "/_runnel/fault", "");
    runnel_container_close(c);
    runnel_client_close(client);
}

static void a_session_that_is_behind_is_busy_not_missing(void **state)
{
    struct live *l = *state;
    runnel_error error = { 0 };
    int before;

    begin(l, true);
    before = taken(l);
    live_fault(l, "{\"status\":404,\"subStatus\":1002,\"count\":3}");
    must(runnel_item_read(l->container, key, NULL, NULL, &error));
    live_fault(l, "{\"status\":404,\"subStatus\":1002,\"count\":4}");
    must_be(runnel_item_read(l->container, key, NULL, NULL, &error),
            RUNNEL_BUSY);
    assert_int_equal(taken(l) - before, 7);
}

/* ---- lost answers -------------------------------------------------------- */

static void a_read_whose_answer_is_lost_is_sent_again(void **state)
{
    struct live *l = *state;
    runnel_error error = { 0 };

    begin(l, true);
    live_fault(l, "{\"lose\":\"answer\",\"method\":\"GET\"}");
    must(runnel_item_read(l->container, key, NULL, NULL, &error));
    live_fault(l, "{\"status\":500,\"count\":2}");
    must(runnel_item_read(l->container, key, NULL, NULL, &error));
}

static void a_write_whose_answer_is_lost_is_uncertain(void **state)
{
    static const char *const faults[] = { "{\"lose\":\"answer\"}",
                                          "{\"lose\":\"request\"}",
                                          "{\"status\":500,\"after\":true}",
                                          "{\"status\":408}" };
    static const bool is_there[] = { true, false, true, false };
    struct live *l = *state;
    runnel_error error = { 0 };

    for (size_t i = 0; i < 4; i++) {
        begin(l, false);
        live_fault(l, faults[i]);
        must_be(runnel_item_create(l->container, runnel_text(item), NULL, NULL,
                                   &error),
                RUNNEL_UNCERTAIN);
        must_be(runnel_item_read(l->container, key, NULL, NULL, &error),
                is_there[i] ? RUNNEL_OK : RUNNEL_NOT_FOUND);
    }
}

/* An increment must not be done twice, whatever libcurl would do when a kept
 * connection turns out to be closed. */
static void a_patch_is_sent_once(void **state)
{
    struct live *l = *state;
    runnel_bytes more =
        runnel_text("[{\"op\":\"incr\",\"path\":\"/n\",\"value\":1}]");
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    begin(l, true);
    live_fault(l, "{\"lose\":\"answer\",\"method\":\"PATCH\"}");
    must_be(runnel_item_patch(l->container, key, more, NULL, NULL, &error),
            RUNNEL_UNCERTAIN);
    must(runnel_item_read(l->container, key, NULL, &reply, &error));
    assert_body_has(reply, "\"n\":2");
    runnel_reply_close(reply);
}

static void a_guarded_write_is_sent_again_once(void **state)
{
    struct live *l = *state;
    runnel_item_options options = { RUNNEL_ITEM_INIT };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    begin(l, true);
    must(runnel_item_read(l->container, key, NULL, &reply, &error));
    options.if_match = runnel_reply_etag(reply);
    live_fault(l, "{\"lose\":\"request\",\"method\":\"PUT\"}");
    must(runnel_item_replace(l->container, runnel_text(item), &options, NULL,
                             &error));
    runnel_reply_close(reply);
    must(runnel_item_read(l->container, key, NULL, &reply, &error));
    options.if_match = runnel_reply_etag(reply);
    live_fault(l, "{\"lose\":\"answer\",\"method\":\"PUT\"}");
    must_be(runnel_item_replace(l->container, runnel_text(item), &options, NULL,
                                &error),
            RUNNEL_UNCERTAIN);
    runnel_reply_close(reply);
    must(runnel_item_read(l->container, key, NULL, &reply, &error));
    options.if_match = runnel_reply_etag(reply);
    live_fault(l, "{\"lose\":\"answer\",\"method\":\"DELETE\"}");
    must_be(runnel_item_delete(l->container, key, &options, &error),
            RUNNEL_UNCERTAIN);
    runnel_reply_close(reply);
}

/* ---- transactions -------------------------------------------------------- */

static void a_transaction_is_all_or_nothing(void **state)
{
    struct live *l = *state;
    runnel_operation ops[] = {
        { .kind = RUNNEL_CREATE,
          .json = { "{\"id\":\"a\",\"pk\":\"t\"}", 19 } },
        { .kind = RUNNEL_UPSERT,
          .json = { "{\"id\":\"b\",\"pk\":\"t\"}", 19 } },
        { .kind = RUNNEL_READ, .key = { "\"t\"", "a" } },
        { .kind = RUNNEL_PATCH, .key = { "\"t\"", "a" } },
        { .kind = RUNNEL_DELETE, .key = { "\"t\"", "b" } },
    };
    runnel_results *r = NULL;
    runnel_error error = { 0 };

    ops[3].json = runnel_text("[{\"op\":\"set\",\"path\":\"/x\",\"value\":1}]");
    begin(l, false);
    must(runnel_items_transact(l->container, "\"t\"", ops, 5, &r, &error));
    assert_int_equal(runnel_results_count(r), 5);
    assert_int_equal(runnel_results_at(r, 0)->http_status, 201);
    assert_true(strlen(runnel_results_at(r, 0)->etag) > 2);
    assert_true(runnel_results_at(r, 2)->body.len > 0);
    assert_null(runnel_results_at(r, 5));
    runnel_results_close(r);
    /* "a" is there now. */
    must_be(runnel_items_transact(l->container, "\"t\"", ops, 2, &r, &error),
            RUNNEL_CONFLICT);
    assert_int_equal(runnel_results_at(r, 0)->code, RUNNEL_CONFLICT);
    assert_int_equal(runnel_results_at(r, 1)->code, RUNNEL_CANCELLED);
    runnel_results_close(r);
    must_be(runnel_item_read(l->container, (runnel_key){ "\"t\"", "b" }, NULL,
                             NULL, &error),
            RUNNEL_NOT_FOUND);
    must_be(runnel_items_transact(l->container, "\"t\"", ops, 0, &r, &error),
            RUNNEL_BAD_REQUEST);
    live_fault(l, "{\"lose\":\"answer\",\"method\":\"POST\"}");
    must_be(
        runnel_items_transact(l->container, "\"t\"", ops + 1, 1, &r, &error),
        RUNNEL_UNCERTAIN);
}

/* ---- bulk ---------------------------------------------------------------- */

enum { BULK = 500 };

static void fill(runnel_operation *ops, char (*text)[80],
                 runnel_operation_kind kind)
{
    for (int i = 0; i < BULK; i++) {
        snprintf(text[i], 80, "{\"id\":\"%d\",\"pk\":\"k%d\"}", i, i % 50);
        ops[i] = (runnel_operation){ .kind = kind };
        ops[i].json = runnel_text(text[i]);
    }
}

static void bulk_sends_again_what_was_throttled(void **state)
{
    struct live *l = *state;
    runnel_container *c = live_container(l, "bulk", "/pk", 4);
    static char text[BULK][80];
    static runnel_operation ops[BULK];
    runnel_results *r = NULL;
    runnel_error error = { 0 };
    char fault[200];

    begin(l, false);
    snprintf(fault, sizeof(fault),
             "{\"path\":\"/dbs/%s/colls/bulk/docs\",\"status\":429,"
             "\"subStatus\":3200,\"count\":5}",
             l->database);
    live_control(l, "POST", "/_runnel/fault", fault);
    fill(ops, text, RUNNEL_CREATE);
    must(runnel_items_bulk(c, ops, BULK, &r, &error));
    for (size_t i = 0; i < BULK; i++) {
        assert_int_equal(runnel_results_at(r, i)->http_status, 201);
        assert_int_equal(runnel_results_at(r, i)->body.len, 0);
    }
    runnel_results_close(r);
    /* Each fails by itself. */
    fill(ops, text, RUNNEL_UPSERT);
    ops[3].kind = RUNNEL_CREATE;
    must(runnel_items_bulk(c, ops, BULK, &r, &error));
    for (size_t i = 0; i < BULK; i++)
        assert_int_equal(runnel_results_at(r, i)->code,
                         i == 3 ? RUNNEL_CONFLICT : RUNNEL_OK);
    runnel_results_close(r);
    must(runnel_items_bulk(c, ops, 0, &r, &error));
    assert_int_equal(runnel_results_count(r), 0);
    runnel_results_close(r);
    runnel_container_close(c);
}

static void bulk_follows_a_split(void **state)
{
    struct live *l = *state;
    runnel_container *c = live_container(l, "bulksplit", "/pk", 1);
    static char text[BULK][80];
    static runnel_operation ops[BULK];
    runnel_results *r = NULL;
    runnel_error error = { 0 };
    char split[120];

    begin(l, false);
    fill(ops, text, RUNNEL_CREATE);
    must(runnel_items_bulk(c, ops, 10, NULL, &error));
    snprintf(split, sizeof(split),
             "{\"container\":\"dbs/%s/colls/bulksplit\",\"range\":0}",
             l->database);
    live_control(l, "POST", "/_runnel/split", split);
    must(runnel_items_bulk(c, ops + 10, BULK - 10, &r, &error));
    for (size_t i = 0; i < BULK - 10; i++)
        assert_int_equal(runnel_results_at(r, i)->http_status, 201);
    runnel_results_close(r);
    runnel_container_close(c);
}

static void a_batch_whose_answer_is_lost_is_uncertain(void **state)
{
    struct live *l = *state;
    runnel_operation op = { .kind = RUNNEL_UPSERT };
    runnel_results *r = NULL;
    runnel_error error = { 0 };

    begin(l, false);
    op.json = runnel_text(item);
    live_fault(l, "{\"lose\":\"answer\",\"method\":\"POST\"}");
    must(runnel_items_bulk(l->container, &op, 1, &r, &error));
    assert_int_equal(runnel_results_at(r, 0)->code, RUNNEL_UNCERTAIN);
    runnel_results_close(r);
}

/* Nothing of such a request is on the network that could end the wait. */
static void a_feed_whose_request_cannot_be_made_fails_at_once(void **state)
{
    struct live *l = *state;
    runnel_feed_options o = { RUNNEL_FEED_INIT, .range = "0",
                              .token = "\"4\r\n2\"" };
    runnel_feed *feed = NULL;
    runnel_batch *batch = NULL;
    runnel_error error = { 0 };

    must(runnel_feed_open(l->container, &o, &feed, &error));
    must_be(runnel_feed_next(feed, 0, &batch, &error), RUNNEL_BAD_REQUEST);
    must_be(runnel_feed_next(feed, 1000, &batch, &error), RUNNEL_BAD_REQUEST);
    runnel_feed_close(feed);
}

/* A name that was forgotten or is empty, where one is needed. */
static void what_is_not_given_is_refused(void **state)
{
    struct live *l = *state;
    static const runnel_header headers[] = { { NULL, "value" },
                                             { "x-name", NULL },
                                             { "", "value" } };
    runnel_client *c = l->client;
    runnel_container *container = NULL;
    runnel_database_definition d = { RUNNEL_DATABASE_INIT };
    runnel_container_definition cd = { RUNNEL_CONTAINER_INIT };
    runnel_query_options q = { RUNNEL_QUERY_INIT, .text = "" };
    runnel_request r = { 0 };
    runnel_throughput t;
    runnel_query *query = NULL;
    runnel_error error = { 0 };

    must_be(runnel_database_create(c, &d, NULL, &error), RUNNEL_BAD_REQUEST);
    must_be(runnel_database_read(c, NULL, NULL, &error), RUNNEL_BAD_REQUEST);
    must_be(runnel_container_create(c, NULL, &cd, NULL, &error),
            RUNNEL_BAD_REQUEST);
    must_be(runnel_container_open(c, l->database, NULL, &container, &error),
            RUNNEL_BAD_REQUEST);
    must_be(runnel_container_open(c, NULL, "c", &container, &error),
            RUNNEL_BAD_REQUEST);
    must_be(runnel_throughput_read(c, NULL, NULL, &t, &error),
            RUNNEL_BAD_REQUEST);
    must_be(runnel_client_send(c, &r, NULL, &error), RUNNEL_BAD_REQUEST);
    r.method = "GET";
    must_be(runnel_client_send(c, &r, NULL, &error), RUNNEL_BAD_REQUEST);
    r.path = "/dbs";
    r.header_count = 1;
    for (size_t i = 0; i < 3; i++) {
        r.headers = &headers[i];
        must_be(runnel_client_send(c, &r, NULL, &error), RUNNEL_BAD_REQUEST);
    }
    must_be(runnel_query_open(l->container, &q, &query, &error),
            RUNNEL_BAD_REQUEST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_executed_is_sent_again),
        cmocka_unit_test(a_limit_ends_the_retries),
        cmocka_unit_test(a_session_that_is_behind_is_busy_not_missing),
        cmocka_unit_test(a_read_whose_answer_is_lost_is_sent_again),
        cmocka_unit_test(a_write_whose_answer_is_lost_is_uncertain),
        cmocka_unit_test(a_patch_is_sent_once),
        cmocka_unit_test(a_guarded_write_is_sent_again_once),
        cmocka_unit_test(a_transaction_is_all_or_nothing),
        cmocka_unit_test(bulk_sends_again_what_was_throttled),
        cmocka_unit_test(bulk_follows_a_split),
        cmocka_unit_test(a_feed_whose_request_cannot_be_made_fails_at_once),
        cmocka_unit_test(what_is_not_given_is_refused),
        cmocka_unit_test(a_batch_whose_answer_is_lost_is_uncertain),
    };

    return cmocka_run_group_tests(tests, live_set_up, live_tear_down);
}
