/* live_items_test.c -- databases, containers and items of a running server.
 *
 * Goal: what client.h says of each call holds against a server over the
 * network.  Method: each case does what a user would and looks at the answer;
 * ids are the awkward ones of the protocol.
 */
#include "client/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain(void)
{
    return getenv("RUNNEL_PLAIN") != NULL;
}

static void an_item_is_created_read_replaced_and_deleted(void **state)
{
    struct live *l = *state;
    runnel_key key = { "\"p\"", "one" };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    must(runnel_item_create(l->container,
                            runnel_text("{\"id\":\"one\",\"pk\":\"p\"}"), NULL,
                            NULL, &error));
    must_be(runnel_item_create(l->container,
                               runnel_text("{\"id\":\"one\",\"pk\":\"p\"}"),
                               NULL, NULL, &error),
            RUNNEL_CONFLICT);
    assert_int_equal(error.http_status, 409);
    must(runnel_item_read(l->container, key, NULL, &reply, &error));
    assert_int_equal(runnel_reply_status(reply), 200);
    assert_body_has(reply, "\"one\"");
    assert_true(strlen(runnel_reply_etag(reply)) > 2);
    runnel_reply_close(reply);
    must(runnel_item_replace(
        l->container, runnel_text("{\"id\":\"one\",\"pk\":\"p\",\"n\":2}"),
        NULL, NULL, &error));
    must(runnel_item_read(l->container, key, NULL, &reply, &error));
    assert_body_has(reply, "\"n\":2");
    runnel_reply_close(reply);
    must(runnel_item_delete(l->container, key, NULL, &error));
    if (is_plain())
        return; /* it answers 500 */
    must_be(runnel_item_read(l->container, key, NULL, NULL, &error),
            RUNNEL_NOT_FOUND);
    assert_int_equal(error.http_status, 404);
    assert_true(strlen(error.message) > 0);
}

static void an_upsert_creates_and_replaces(void **state)
{
    struct live *l = *state;
    runnel_item_options options = { RUNNEL_ITEM_INIT, .want_body = true };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    for (int i = 0; i < 2; i++) {
        must(runnel_item_upsert(l->container,
                                runnel_text("{\"id\":\"u\",\"pk\":1}"),
                                &options, &reply, &error));
        assert_int_equal(runnel_reply_status(reply), i == 0 ? 201 : 200);
        assert_body_has(reply, "\"u\"");
        assert_true(runnel_reply_charge(reply) >= 0);
        runnel_reply_close(reply);
    }
}

static void an_etag_that_is_not_current_is_refused(void **state)
{
    struct live *l = *state;
    runnel_item_options options = { RUNNEL_ITEM_INIT };
    runnel_key key = { "\"e\"", "e" };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    const char *item = "{\"id\":\"e\",\"pk\":\"e\"}";

    must(runnel_item_create(l->container, runnel_text(item), NULL, NULL,
                            &error));
    must(runnel_item_read(l->container, key, NULL, &reply, &error));
    options.if_match = runnel_reply_etag(reply);
    must(runnel_item_replace(l->container, runnel_text(item), &options, NULL,
                             &error));
    must_be(runnel_item_replace(l->container, runnel_text(item), &options, NULL,
                                &error),
            RUNNEL_PRECONDITION);
    must_be(runnel_item_delete(l->container, key, &options, &error),
            RUNNEL_PRECONDITION);
    options.if_match = "";
    must_be(runnel_item_delete(l->container, key, &options, &error),
            RUNNEL_BAD_REQUEST);
    runnel_reply_close(reply);
}

static void a_read_of_what_is_known_is_304(void **state)
{
    struct live *l = *state;
    runnel_item_options options = { RUNNEL_ITEM_INIT };
    runnel_key key = { "\"n\"", "n" };
    runnel_reply *reply = NULL, *again = NULL;
    runnel_error error = { 0 };

    if (is_plain())
        skip();
    must(runnel_item_create(l->container,
                            runnel_text("{\"id\":\"n\",\"pk\":\"n\"}"), NULL,
                            NULL, &error));
    must(runnel_item_read(l->container, key, NULL, &reply, &error));
    options.if_none_match = runnel_reply_etag(reply);
    must(runnel_item_read(l->container, key, &options, &again, &error));
    assert_int_equal(runnel_reply_status(again), 304);
    assert_int_equal(runnel_reply_body(again).len, 0);
    runnel_reply_close(reply);
    runnel_reply_close(again);
}

static void a_patch_changes_members_if_its_condition_holds(void **state)
{
    struct live *l = *state;
    runnel_item_options options = { RUNNEL_ITEM_INIT, .want_body = true };
    runnel_bytes more =
        runnel_text("[{\"op\":\"incr\",\"path\":\"/stock\",\"value\":-1}]");
    runnel_key key = { "\"patch\"", "patch" };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    if (is_plain())
        skip();
    must(runnel_item_create(
        l->container,
        runnel_text("{\"id\":\"patch\",\"pk\":\"patch\",\"stock\":1}"), NULL,
        NULL, &error));
    options.condition = "FROM c WHERE c.stock > 0";
    must(runnel_item_patch(l->container, key, more, &options, &reply, &error));
    assert_body_has(reply, "\"stock\":0");
    runnel_reply_close(reply);
    must_be(runnel_item_patch(l->container, key, more, &options, NULL, &error),
            RUNNEL_PRECONDITION);
    must_be(runnel_item_patch(l->container, key, runnel_text("{}"), NULL, NULL,
                              &error),
            RUNNEL_BAD_REQUEST);
}

/* Each id is written, read by its path and deleted. */
static void awkward_ids_are_found(void **state)
{
    struct live *l = *state;
    static const char *const ids[] = {
        "a b",
        "a+b",
        "a=b",
        "\xc3\xa4",
        "~!$&'()*,;:@",
        "A.B-c_d",
        "\xf0\x9f\x98\x80",
        "a%25b",
        "%41",
        ".",
        "..",
        "..%2F..",
    };
    size_t count = sizeof(ids) / sizeof(ids[0]) - (is_plain() ? 5 : 0);
    char item[400], long_id[256];
    runnel_error error = { 0 };

    memset(long_id, 'x', sizeof(long_id) - 1);
    long_id[255] = '\0';
    for (size_t i = 0; i <= count; i++) {
        runnel_key key = { "\"ids\"", i < count ? ids[i] : long_id };
        snprintf(item, sizeof(item), "{\"id\":\"%s\",\"pk\":\"ids\"}", key.id);
        must(runnel_item_create(l->container, runnel_text(item), NULL, NULL,
                                &error));
        must(runnel_item_read(l->container, key, NULL, NULL, &error));
        must(runnel_item_replace(l->container, runnel_text(item), NULL, NULL,
                                 &error));
        must(runnel_item_delete(l->container, key, NULL, &error));
    }
}

static void partition_keys_of_all_types_are_kept_apart(void **state)
{
    struct live *l = *state;
    static const char *const keys[] = { "\"1\"", "1",   "true",
                                        "null",  "1.5", "\"\\u00e4\\\"\"" };
    char item[100];
    runnel_error error = { 0 };

    if (is_plain())
        skip();
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        runnel_key key = { keys[i], "same" };
        snprintf(item, sizeof(item), "{\"id\":\"same\",\"pk\":%s}", keys[i]);
        must(runnel_item_create(l->container, runnel_text(item), NULL, NULL,
                                &error));
        must(runnel_item_read(l->container, key, NULL, NULL, &error));
    }
    must(runnel_item_create(l->container, runnel_text("{\"id\":\"same\"}"),
                            NULL, NULL, &error));
    must(runnel_item_read(l->container, (runnel_key){ NULL, "same" }, NULL,
                          NULL, &error));
    must_be(runnel_item_read(l->container, (runnel_key){ "[1,", "same" }, NULL,
                             NULL, &error),
            RUNNEL_BAD_REQUEST);
}

static void hierarchical_keys_work(void **state)
{
    struct live *l = *state;
    runnel_container *c;
    runnel_key key = { "[\"eu\",7]", "1" };
    runnel_error error = { 0 };

    if (is_plain())
        skip();
    c = live_container(l, "tree", "/a,/b/c", 1);
    must(runnel_item_create(
        c, runnel_text("{\"id\":\"1\",\"a\":\"eu\",\"b\":{\"c\":7}}"), NULL,
        NULL, &error));
    must(runnel_item_read(c, key, NULL, NULL, &error));
    must(runnel_item_delete(c, key, NULL, &error));
    runnel_container_close(c);
}

static void what_is_no_item_is_refused_here(void **state)
{
    struct live *l = *state;
    runnel_error error = { 0 };

    must_be(runnel_item_create(l->container, runnel_text("[1]"), NULL, NULL,
                               &error),
            RUNNEL_BAD_REQUEST);
    must_be(
        runnel_item_create(l->container, runnel_text("{"), NULL, NULL, &error),
        RUNNEL_BAD_REQUEST);
    must_be(runnel_item_replace(l->container, runnel_text("{\"pk\":1}"), NULL,
                                NULL, &error),
            RUNNEL_BAD_REQUEST);
    must_be(runnel_item_read(l->container, (runnel_key){ "1", "" }, NULL, NULL,
                             &error),
            RUNNEL_BAD_REQUEST);
}

/* ---- databases, containers, throughput ----------------------------------- */

static void what_exists_is_no_error_by_an_option(void **state)
{
    struct live *l = *state;
    runnel_database_definition d = { RUNNEL_DATABASE_INIT, .id = l->database };
    runnel_container_definition c = { RUNNEL_CONTAINER_INIT, .id = "c",
                                      .partition_key = "/pk" };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    must_be(runnel_database_create(l->client, &d, NULL, &error),
            RUNNEL_CONFLICT);
    d.if_absent = true;
    must(runnel_database_create(l->client, &d, &reply, &error));
    assert_body_has(reply, l->database);
    runnel_reply_close(reply);
    must_be(runnel_container_create(l->client, l->database, &c, NULL, &error),
            RUNNEL_CONFLICT);
    c.if_absent = true;
    must(runnel_container_create(l->client, l->database, &c, NULL, &error));
    must(runnel_database_read(l->client, l->database, NULL, &error));
    must_be(runnel_database_read(l->client, "nowhere", NULL, &error),
            RUNNEL_NOT_FOUND);
}

static void a_container_is_defined_read_and_deleted(void **state)
{
    struct live *l = *state;
    runnel_container_definition d = {
        RUNNEL_CONTAINER_INIT, .id = "defined", .partition_key = "/a",
        .ttl_s = 60,
        .json = "{\"uniqueKeyPolicy\":{\"uniqueKeys\":[{\"paths\":[\"/u\"]}]}}"
    };
    runnel_container *c = NULL;
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    must(runnel_container_create(l->client, l->database, &d, NULL, &error));
    must(runnel_container_open(l->client, l->database, "defined", &c, &error));
    must(runnel_container_read(c, &reply, &error));
    assert_body_has(reply, "\"defaultTtl\":60");
    assert_body_has(reply, "\"/u\"");
    must(runnel_container_replace(c, runnel_reply_body(reply), NULL, &error));
    runnel_reply_close(reply);
    must(runnel_container_delete(c, &error));
    must_be(runnel_container_read(c, NULL, &error), RUNNEL_NOT_FOUND);
    must_be(runnel_item_read(c, (runnel_key){ "1", "1" }, NULL, NULL, &error),
            RUNNEL_NOT_FOUND);
    runnel_container_close(c);
    d.json = "{\"defaultTtl\":5}";
    must_be(runnel_container_create(l->client, l->database, &d, NULL, &error),
            RUNNEL_BAD_REQUEST);
}

static void throughput_is_read_and_replaced(void **state)
{
    struct live *l = *state;
    runnel_throughput t = { 0 };
    runnel_container *c;
    runnel_error error = { 0 };

    if (is_plain())
        skip();
    c = live_container(l, "paid", "/pk", 2);
    must(runnel_throughput_read(l->client, l->database, "paid", &t, &error));
    assert_int_equal(t.units, 20000);
    assert_false(t.is_autoscale);
    t.units = 1000;
    must(runnel_throughput_replace(l->client, l->database, "paid", t, &error));
    t.units = 4000;
    t.is_autoscale = true;
    must(runnel_throughput_replace(l->client, l->database, "paid", t, &error));
    t = (runnel_throughput){ 0 };
    must(runnel_throughput_read(l->client, l->database, "paid", &t, &error));
    assert_int_equal(t.units, 4000);
    assert_true(t.is_autoscale);
    must_be(runnel_throughput_read(l->client, l->database, NULL, &t, &error),
            RUNNEL_NOT_FOUND);
    runnel_container_close(c);
}

/* A container of the same name and another key: the cached definition is
 * wrong, and the client finds out. */
static void a_container_created_anew_is_noticed(void **state)
{
    struct live *l = *state;
    runnel_container *c, *other;
    runnel_error error = { 0 };
    const char *item = "{\"id\":\"1\",\"a\":1,\"b\":2}";

    if (is_plain())
        skip();
    c = live_container(l, "anew", "/a", 1);
    must(runnel_item_create(c, runnel_text(item), NULL, NULL, &error));
    must(runnel_container_open(l->client, l->database, "anew", &other, &error));
    must(runnel_container_delete(other, &error));
    runnel_container_close(other);
    other = live_container(l, "anew", "/b", 1);
    must(runnel_item_create(c, runnel_text(item), NULL, NULL, &error));
    must(runnel_item_read(c, (runnel_key){ "2", "1" }, NULL, NULL, &error));
    runnel_container_close(other);
    runnel_container_close(c);
}

static void any_request_can_be_sent(void **state)
{
    struct live *l = *state;
    char path[100];
    runnel_request r = { .method = "GET", .path = path };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };

    snprintf(path, sizeof(path), "/dbs/%s/colls", l->database);
    must(runnel_client_send(l->client, &r, &reply, &error));
    assert_body_has(reply, "DocumentCollections");
    assert_string_equal(runnel_reply_header(reply, "no-such-header"), "");
    runnel_reply_close(reply);
    r.method = "BREW";
    must_be(runnel_client_send(l->client, &r, NULL, &error),
            RUNNEL_BAD_REQUEST);
    r.method = "GET";
    r.path = "/dbs/%zz";
    must_be(runnel_client_send(l->client, &r, NULL, &error),
            RUNNEL_BAD_REQUEST);
}

static void a_wrong_key_is_refused_and_not_shown(void **state)
{
    struct live *l = *state;
    static const char key[] = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0";
    runnel_client_options o = { RUNNEL_CLIENT_INIT, .key = key };
    runnel_client *client;
    runnel_error error = { 0 };

    if (is_plain())
        skip();
    client = live_client(&o);
    must_be(runnel_database_read(client, l->database, NULL, &error),
            RUNNEL_UNAUTHORIZED);
    assert_int_equal(error.http_status, 401);
    assert_null(strstr(error.message, "c2VjcmV0"));
    runnel_client_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_is_created_read_replaced_and_deleted),
        cmocka_unit_test(an_upsert_creates_and_replaces),
        cmocka_unit_test(an_etag_that_is_not_current_is_refused),
        cmocka_unit_test(a_read_of_what_is_known_is_304),
        cmocka_unit_test(a_patch_changes_members_if_its_condition_holds),
        cmocka_unit_test(awkward_ids_are_found),
        cmocka_unit_test(partition_keys_of_all_types_are_kept_apart),
        cmocka_unit_test(hierarchical_keys_work),
        cmocka_unit_test(what_is_no_item_is_refused_here),
        cmocka_unit_test(what_exists_is_no_error_by_an_option),
        cmocka_unit_test(a_container_is_defined_read_and_deleted),
        cmocka_unit_test(throughput_is_read_and_replaced),
        cmocka_unit_test(a_container_created_anew_is_noticed),
        cmocka_unit_test(any_request_can_be_sent),
        cmocka_unit_test(a_wrong_key_is_refused_and_not_shown),
    };

    return cmocka_run_group_tests(tests, live_set_up, live_tear_down);
}
