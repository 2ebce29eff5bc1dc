/* rest_split_test.c -- requests that were under way when ranges changed.
 *
 * A query finds its container first and reads later: a worker may have much to
 * do.  Meanwhile its range is split, or two are merged, and the document that
 * is asked for written again.  What it answers must be said of the range in
 * which that lies now: a session token of the old one would promise less than
 * the client has seen.
 */
#include "lib/one_container.h"
#include "lib/rest_client.h"
#include "rest/serve.h"

#include <stdio.h>

static struct rest_client rest_client;

static int setup(void **state)
{
    (void)state;
    one_container_open(CONTAINER(""), 1);
    rest_client_open(&rest_client, db.env, db.engine);
    return 0;
}

static int teardown(void **state)
{
    rn_rest_quiesce(rest_client.rest);
    one_container_close(state);
    rest_client_close(&rest_client);
    return 0;
}

static void begin_query(const char *scope)
{
    char more[256];
    const struct rest_request what = {
        .verb = "POST",
        .link = "dbs/d/colls/c",
        .more = more,
        .body = "{\"query\":\"SELECT * FROM c WHERE c.id = 'a'\"}",
    };

    snprintf(more, sizeof(more),
             "x-ms-documentdb-isquery: True\r\n"
             "Content-Type: application/query+json\r\n%s\r\n",
             scope);
    assert_int_equal(rest_client_begin(&rest_client, &what), RN_REST_WORK);
}

/* Of the range that `doc` was written to, as far as that. */
static void end_query(void)
{
    char token[64], expected[64];

    assert_int_equal(rn_rest_resume(&rest_client.call), RN_REST_DONE);
    assert_int_equal(rest_client.call.res.status, 200);
    rest_client_header(&rest_client, "x-ms-session-token", token,
                       sizeof(token));
    snprintf(expected, sizeof(expected), "%u:-1#%llu", doc.place.range,
             (unsigned long long)doc.place.lsn);
    assert_string_equal(token, expected);
    rest_client_end(&rest_client);
}

#define OF_ONE_KEY "x-ms-documentdb-partitionkey: [1]"

static void a_query_reports_the_range_that_a_split_left(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    begin_query(OF_ONE_KEY);
    assert_int_equal(
        one_container_split_merge(&(struct rn_split_merge){ .range = 0 }),
        RN_OK);
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    assert_int_not_equal(doc.place.range, 0);
    end_query();
}

static void and_of_what_several_left(void **state)
{
    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    begin_query(OF_ONE_KEY);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(one_container_split_merge(&(struct rn_split_merge){
                             .range = doc.place.range }),
                         RN_OK);
        one_container_put("{\"id\":\"a\",\"pk\":1}");
    }
    end_query();
}

static void and_of_the_one_that_a_merge_left(void **state)
{
    (void)state;
    assert_int_equal(
        one_container_split_merge(&(struct rn_split_merge){ .range = 0 }),
        RN_OK);
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    begin_query("x-ms-documentdb-query-enablecrosspartition: True");
    assert_int_equal(one_container_split_merge(&(struct rn_split_merge){
                         .verb = RN_SPLIT_MERGE_MERGE, .range = 1, .with = 2 }),
                     RN_OK);
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    assert_int_equal(doc.place.range, 3);
    end_query();
}

/* Which range it is of nobody could say: as of several at any time. */
static void a_query_of_everything_has_no_token_after_a_split(void **state)
{
    char token[64];

    (void)state;
    one_container_put("{\"id\":\"a\",\"pk\":1}");
    begin_query("x-ms-documentdb-query-enablecrosspartition: True");
    assert_int_equal(
        one_container_split_merge(&(struct rn_split_merge){ .range = 0 }),
        RN_OK);
    assert_int_equal(rn_rest_resume(&rest_client.call), RN_REST_DONE);
    assert_int_equal(rest_client.call.res.status, 200);
    rest_client_header(&rest_client, "x-ms-session-token", token,
                       sizeof(token));
    assert_string_equal(token, "");
    rest_client_end(&rest_client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_query_reports_the_range_that_a_split_left, setup, teardown),
        cmocka_unit_test_setup_teardown(and_of_what_several_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(and_of_the_one_that_a_merge_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_query_of_everything_has_no_token_after_a_split, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
