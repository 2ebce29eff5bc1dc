/* rest_limits_test.c -- what a client is told when there are too many reads, or
 * one takes too long.
 *
 * Goal: 503 beyond 1,024 read transactions, and served again when there are
 * fewer; 408 for one of more than 30 s.  Method: a signed request at the REST
 * side itself, over a store with its defaults; the test holds the transactions,
 * and a clock that jumps makes the read a long one.
 */
#include "lib/clock.h"
#include "lib/database.h"

#include "base/base64.h"
#include "base/clock.h"
#include "cosmos/account.h"
#include "cosmos/auth.h"
#include "cosmos/sign.h"
#include "http/parse.h"
#include "rest/rest.h"

#include <stdio.h>
#include <stdlib.h>

enum { READS_MAX = 1024, READ_MS_MAX = 30000, KEY_MAX = 128 };

static struct test_clock test_clock;
static atomic_llong jump_ms; /* of the clock, whenever somebody looks at it */
static struct database d;
static struct rn_rest *rest;
static struct rn_signer *signer;

static int64_t jump(struct rn_env *env)
{
    test_clock_push_ms(&test_clock, atomic_load(&jump_ms));
    return test_clock_mono_ns(env);
}

static int open_all(void **state)
{
    struct rn_store_opts store = { .env = &test_clock.env };
    struct rn_engine_opts engine = { .env = &test_clock.env };
    struct rn_rest_opts opts = { .env = &test_clock.env,
                                 .consistency = "Session",
                                 .well_known_key = true,
                                 .loopback_only = true };
    struct rn_err err = { 0 };
    unsigned char key[KEY_MAX];
    size_t len;

    (void)state;
    test_clock_init(&test_clock);
    test_clock.ops.mono_ns = jump;
    d = (struct database){ .env = &test_clock.env, .ranges = 1 };
    assert_int_equal(rn_store_open("mem", &store, &d.store, &err), RN_OK);
    engine.store = d.store;
    assert_int_equal(rn_engine_open(&engine, &d.engine, &err), RN_OK);
    opts.engine = d.engine;
    assert_int_equal(rn_rest_open(&opts, &rest, &err), RN_OK);
    assert_int_equal(rn_base64_decode(RN_LIT(RN_ACCOUNT_EMULATOR_KEY),
                                      RN_BASE64_STANDARD, key, sizeof(key),
                                      &len),
                     RN_OK);
    assert_int_equal(rn_signer_new(rn_view_of(key, len), &signer), RN_OK);
    rn_object_release(make_container(
        &d, make_database(&d, "d"),
        "{\"id\":\"c\",\"partitionKey\":{\"paths\":[\"/pk\"]}}"));
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    rn_rest_quiesce(rest);
    rn_engine_close(d.engine);
    rn_rest_close(rest);
    rn_store_close(d.store);
    rn_signer_free(signer);
    return 0;
}

/* A signed read of a document that is not there. */
static size_t print_request(char *out, size_t room)
{
    char date[RN_DATE_TEXT_MAX], auth[RN_AUTH_TEXT_MAX];
    unsigned char signature[RN_SIGNATURE_LEN];
    struct rn_buf text = RN_BUF_INIT(4096);
    struct rn_sign_parts parts = {
        .verb = RN_LIT("get"),
        .word = RN_LIT("docs"),
        .link = RN_LIT("dbs/d/colls/c/docs/1"),
        .x_date = rn_date_print(rn_wall_ms(d.env) / 1000, date),
    };
    int len;

    assert_int_equal(rn_sign_print(&parts, &text), RN_OK);
    assert_int_equal(rn_signer_sign(signer, rn_buf_view(&text), signature),
                     RN_OK);
    rn_buf_release(&text);
    len =
        snprintf(out, room,
                 "GET /dbs/d/colls/c/docs/1 HTTP/1.1\r\nHost: localhost\r\n"
                 "x-ms-version: 2018-12-31\r\nx-ms-date: %.*s\r\n"
                 "Authorization: %.*s\r\n"
                 "x-ms-documentdb-partitionkey: [\"p\"]\r\n\r\n",
                 RN_FMT(parts.x_date), RN_FMT(rn_auth_print(signature, auth)));
    assert_true(len > 0 && (size_t)len < room);
    return (size_t)len;
}

/* The status that a read is answered with. */
static int ask(void)
{
    struct rn_http_reader reader;
    struct rn_call call;
    size_t len, room;
    char text[2048], *at;
    int status;

    len = print_request(text, sizeof(text));
    rn_http_reader_init(&reader, &rn_http_limits_default);
    assert_int_equal(rn_http_reader_space(&reader, &at, &room), RN_OK);
    assert_true(room >= len);
    memcpy(at, text, len);
    assert_int_equal(rn_http_reader_fed(&reader, len), RN_HTTP_DONE);
    rn_call_init(&call, rest, &reader.request);
    call.is_loopback = true;
    call.begun_ns = rn_mono_ns(d.env);
    rn_http_response_init(&call.res, call.req);
    assert_int_equal(rn_rest_serve(&call), RN_REST_DONE);
    status = call.res.status;
    rn_call_release(&call);
    rn_http_reader_release(&reader);
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
