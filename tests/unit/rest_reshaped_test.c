/* rest_reshaped_test.c -- requests that were under way when ranges changed.
 *
 * A query finds its container first and reads later: a worker may have much to
 * do.  Meanwhile its range is split, or two are merged, and the document that
 * is asked for written again.  What it answers must be said of the range in
 * which that lies now: a session token of the old one would promise less than
 * the client has seen.
 */
#include "lib/asker.h"
#include "lib/box.h"

#include <stdio.h>

static struct asker asker;

static int setup(void **state)
{
    (void)state;
    box_open(CONTAINER(""), 1);
    asker_open(&asker, db.env, db.engine);
    return 0;
}

static int teardown(void **state)
{
    rn_rest_quiesce(asker.rest);
    box_close(state);
    asker_close(&asker);
    return 0;
}

static void begin_query(const char *scope)
{
    char more[256];
    const struct asked_for what = {
        .verb = "POST",
        .link = "dbs/d/colls/c",
        .more = more,
        .body = "{\"query\":\"SELECT * FROM c WHERE c.id = 'a'\"}",
    };

    snprintf(more, sizeof(more),
             "x-ms-documentdb-isquery: True\r\n"
             "Content-Type: application/query+json\r\n%s\r\n",
             scope);
    assert_int_equal(asker_begin(&asker, &what), RN_REST_WORK);
}

/* Of the range that `doc` was written to, as far as that. */
static void end_query(void)
{
    char token[64], expected[64];

    assert_int_equal(rn_rest_resume(&asker.call), RN_REST_DONE);
    assert_int_equal(asker.call.res.status, 200);
    asker_header(&asker, "x-ms-session-token", token, sizeof(token));
    snprintf(expected, sizeof(expected), "%u:-1#%llu", doc.place.range,
             (unsigned long long)doc.place.lsn);
    assert_string_equal(token, expected);
    asker_end(&asker);
}

#define OF_ONE_KEY "x-ms-documentdb-partitionkey: [1]"

static void a_query_tells_of_the_range_that_a_split_left(void **state)
{
    (void)state;
    box_put("{\"id\":\"a\",\"pk\":1}");
    begin_query(OF_ONE_KEY);
    assert_int_equal(box_reshape(&(struct rn_split_merge){ .range = 0 }),
                     RN_OK);
    box_put("{\"id\":\"a\",\"pk\":1}");
    assert_int_not_equal(doc.place.range, 0);
    end_query();
}

static void and_of_what_several_left(void **state)
{
    (void)state;
    box_put("{\"id\":\"a\",\"pk\":1}");
    begin_query(OF_ONE_KEY);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            box_reshape(&(struct rn_split_merge){ .range = doc.place.range }),
            RN_OK);
        box_put("{\"id\":\"a\",\"pk\":1}");
    }
    end_query();
}

static void and_of_the_one_that_a_merge_left(void **state)
{
    (void)state;
    assert_int_equal(box_reshape(&(struct rn_split_merge){ .range = 0 }),
                     RN_OK);
    box_put("{\"id\":\"a\",\"pk\":1}");
    begin_query("x-ms-documentdb-query-enablecrosspartition: True");
    assert_int_equal(box_reshape(&(struct rn_split_merge){
                         .verb = RN_SPLIT_MERGE_MERGE, .range = 1, .with = 2 }),
                     RN_OK);
    box_put("{\"id\":\"a\",\"pk\":1}");
    assert_int_equal(doc.place.range, 3);
    end_query();
}

/* Which range it is of nobody could say: as of several at any time. */
static void a_query_of_everything_has_no_token_after_a_split(void **state)
{
    char token[64];

    (void)state;
    box_put("{\"id\":\"a\",\"pk\":1}");
    begin_query("x-ms-documentdb-query-enablecrosspartition: True");
    assert_int_equal(box_reshape(&(struct rn_split_merge){ .range = 0 }),
                     RN_OK);
    assert_int_equal(rn_rest_resume(&asker.call), RN_REST_DONE);
    assert_int_equal(asker.call.res.status, 200);
    asker_header(&asker, "x-ms-session-token", token, sizeof(token));
    assert_string_equal(token, "");
    asker_end(&asker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_query_tells_of_the_range_that_a_split_left, setup, teardown),
        cmocka_unit_test_setup_teardown(and_of_what_several_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(and_of_the_one_that_a_merge_left, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            a_query_of_everything_has_no_token_after_a_split, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
