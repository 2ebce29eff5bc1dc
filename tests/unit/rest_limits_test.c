/* rest_limits_test.c -- the answer to a client when there are too many reads,
 * or one takes too long.
 *
 * Goal: 503 beyond 1,024 read transactions, and served again when there are
 * fewer; 408 for one of more than 30 s.  Method: a signed request at the REST
 * side itself, over a store with its defaults; the test holds the transactions,
 * and a clock that jumps makes the read a long one.
 */
#include "engine/catalog/object.h"
#include "lib/clock.h"
#include "lib/database.h"
#include "lib/rest_client.h"

#include <stdlib.h>

enum { READS_MAX = 1024, READ_MS_MAX = 30000 };

static struct test_clock test_clock;
static atomic_llong jump_ms; /* of the clock, whenever somebody looks at it */
static struct database d;
static struct rest_client rest_client;

static int64_t jump(struct rn_env *env)
{
    test_clock_push_ms(&test_clock, atomic_load(&jump_ms));
    return test_clock_mono_ns(env);
}

static int open_all(void **state)
{
    struct rn_store_opts store = { .env = &test_clock.env };
    struct rn_engine_opts engine = { .env = &test_clock.env };
    struct rn_err err = { 0 };

    (void)state;
    test_clock_init(&test_clock);
    test_clock.ops.mono_ns = jump;
    d = (struct database){ .env = &test_clock.env, .ranges = 1 };
    assert_int_equal(rn_store_open("mem", &store, &d.store, &err), RN_OK);
    engine.store = d.store;
    assert_int_equal(rn_engine_open(&engine, &d.engine, &err), RN_OK);
    rest_client_open(&rest_client, d.env, d.engine);
    rn_object_release(make_container(
        &d, make_database(&d, "d"),
        "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"]}}"));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    rn_rest_quiesce(rest_client.rest);
    rn_engine_close(d.engine);
    rest_client_close(&rest_client);
    rn_store_close(d.store);
    return 0;
}

/* The status that a read of a document which is not there is answered with. */
static int ask(void)
{
    const struct rest_request what = {
        .verb = "GET",
        .link = "dbs/d/colls/c",
        .id = "1",
        .more = "x-ms-documentdb-partitionkey: [\"p\"]\r\n",
    };
    int status;

    assert_int_equal(rest_client_begin(&rest_client, &what), RN_REST_DONE);
    status = rest_client.call.res.status;
    rest_client_end(&rest_client);
    return status;
}

static void a_read_beyond_1024_is_answered_503(void **state)
{
    struct rn_txn **held = calloc(READS_MAX, sizeof(struct rn_txn *));
    struct rn_err err = { 0 };

    (void)state;
    assert_non_null(held);
    assert_int_equal(ask(), 404);
    for (int i = 0; i < READS_MAX; i++) {
        if (i == READS_MAX - 1)
            assert_int_equal(ask(), 404);
        assert_int_equal(rn_txn_begin(d.store, RN_TXN_READ,
                                      (struct rn_lock){ 0 }, &held[i], &err),
                         RN_OK);
    }
    assert_int_equal(ask(), 503);
    rn_txn_abort(held[0]);
    assert_int_equal(ask(), 404);
    for (int i = 1; i < READS_MAX; i++)
        rn_txn_abort(held[i]);
    free(held);
}

static void a_read_of_more_than_30_s_is_answered_408(void **state)
{
    (void)state;
    atomic_store(&jump_ms, READ_MS_MAX + 1000);
    assert_int_equal(ask(), 408);
    atomic_store(&jump_ms, 0);
    assert_int_equal(ask(), 404);
}

static void a_read_of_less_is_answered(void **state)
{
    (void)state;
    atomic_store(&jump_ms, READ_MS_MAX / 10);
    assert_int_equal(ask(), 404);
    atomic_store(&jump_ms, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_beyond_1024_is_answered_503),
        cmocka_unit_test(a_read_of_more_than_30_s_is_answered_408),
        cmocka_unit_test(a_read_of_less_is_answered),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
