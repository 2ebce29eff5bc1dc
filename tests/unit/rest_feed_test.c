/* rest_feed_test.c -- what a 304 of the change feed claims.
 *
 * A feed of one key looks at a bounded number of entries per snapshot, and a
 * worker reads on.  Between two of those snapshots the test rewrites a document
 * that the reader lacks, so that it moves from before the end of the first
 * snapshot to behind it.  At every instant there is a change after the
 * continuation, so no answer may be 304.
 */
#include "lib/one_container.h"
#include "lib/rest_client.h"
#include "rest/serve.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    OLD = 16500,  /* documents of the key: more keys than a loop looks at */
    OTHERS = 4200 /* changes of another key: more than a loop looks at */
};

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

static void put(int pk, int id)
{
    char body[64];

    snprintf(body, sizeof(body), "{\"id\":\"%d\",\"pk\":%d}", id, pk);
    one_container_put(body);
}

static enum rn_rest_step begin_feed(const char *scope, uint64_t after)
{
    char more[256];

    snprintf(more, sizeof(more),
             "A-IM: Incremental Feed\r\nIf-None-Match: \"%llu\"\r\n%s\r\n",
             (unsigned long long)after, scope);
    return rest_client_begin(&rest_client,
                             &(struct rest_request){ .verb = "GET",
                                                     .link = "dbs/d/colls/c",
                                                     .more = more });
}

static void a_document_that_moves_between_slices_is_not_missed(void **state)
{
    static const char scope[] = "x-ms-documentdb-partitionkey: [1]";
    uint64_t after;
    char etag[64];

    (void)state;
    for (int i = 0; i < OLD; i++)
        put(1, i);
    after = lsn_of(&db, one_container, 0);
    for (int i = 0; i < OTHERS; i++)
        put(2, i);
    put(1, 0);
    assert_int_equal(begin_feed(scope, after), RN_REST_WORK);
    put(1, 0);
    assert_int_equal(rn_rest_resume(&rest_client.call), RN_REST_DONE);
    assert_int_equal(rest_client.call.res.status, 200);
    rest_client_end(&rest_client);

    /* With nothing of the key behind the continuation it is 304, and the etag
     * is as far as the last snapshot went. */
    after = lsn_of(&db, one_container, 0);
    for (int i = 0; i < OTHERS; i++)
        put(2, i);
    assert_int_equal(begin_feed(scope, after), RN_REST_WORK);
    put(2, 0);
    assert_int_equal(rn_rest_resume(&rest_client.call), RN_REST_DONE);
    assert_int_equal(rest_client.call.res.status, 304);
    rest_client_header(&rest_client, "etag", etag, sizeof(etag));
    assert_int_equal(strtoull(etag + 1, NULL, 10),
                     lsn_of(&db, one_container, 0));
    rest_client_end(&rest_client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            a_document_that_moves_between_slices_is_not_missed, setup,
            teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
