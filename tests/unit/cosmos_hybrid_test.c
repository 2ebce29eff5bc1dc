/* cosmos_hybrid_test.c -- batches in binary: the vectors, both ways.
 *
 * Requests of tests/vectors/rest-vectors.json are read, answers are written and
 * must be those bytes; every shorter or changed request is refused or, where a
 * changed byte is none that matters, read.  The vectors are made from the
 * public layout: no live client has been asked.
 */
#include "cosmos/hybrid.h"

#include "lib/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define BODY "{\"id\":\"b1\",\"pk\":\"p1\"}"

static struct vectors v;
static uint32_t table;

static int setup(void **state)
{
    (void)state;
    vectors_load(&v, "rest-vectors.json");
    table = vectors_member(&v, 0, "hybridrow_batch");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    vectors_release(&v);
    return 0;
}

static struct rn_view bytes_of(const char *name)
{
    return vectors_bytes(&v, vectors_string(&v, table, name));
}

static void assert_view(struct rn_view got, const char *want)
{
    if (!want)
        assert_null(got.at);
    else if (!rn_view_eq(got, rn_view_text(want)))
        fail_msg("got '%.*s', wanted '%s'", RN_FMT(got), want);
}

static void requests_are_read(void **state)
{
    static const struct {
        const char *name;
        int32_t type;
        const char *pk, *id, *body, *if_match;
        bool is_minimal;
    } rows[] = {
        { "request_create_one_op", RN_BATCH_CREATE, NULL, NULL, BODY, NULL,
          false },
        { "request_replace_ifmatch", RN_BATCH_REPLACE, NULL, "b1", BODY,
          "\"e0\"", false },
        { "request_bulk_upsert_minimal", RN_BATCH_UPSERT, "[\"p1\"]", NULL,
          BODY, NULL, true },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rn_view stream = bytes_of(rows[i].name);
        struct rn_batch_ask ask;

        assert_true(rn_hybrid_is(stream));
        assert_int_equal(rn_hybrid_begin(&stream, NULL), RN_OK);
        assert_int_equal(rn_hybrid_next(&stream, &ask, NULL), RN_OK);
        assert_int_equal(ask.type, rows[i].type);
        assert_view(ask.pk, rows[i].pk);
        assert_view(ask.id, rows[i].id);
        assert_view(ask.body, rows[i].body);
        assert_view(ask.if_match, rows[i].if_match);
        assert_view(ask.if_none_match, NULL);
        assert_int_equal(ask.is_minimal, rows[i].is_minimal);
        assert_int_equal(rn_hybrid_next(&stream, &ask, NULL), RN_NOT_FOUND);
    }
}

static void assert_written(const struct rn_batch_result *results, size_t count,
                           const char *name)
{
    struct rn_buf out = RN_BUF_INIT(4096);

    assert_int_equal(rn_hybrid_put_head(&out), RN_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(rn_hybrid_put_result(&out, &results[i]), RN_OK);
    assert_true(rn_view_eq(rn_buf_view(&out), bytes_of(name)));
    rn_buf_release(&out);
}

static void answers_are_written(void **state)
{
    const struct rn_batch_result created = { .status = 201,
                                             .etag = RN_LIT("\"e1\""),
                                             .body = RN_LIT(BODY),
                                             .charge = 6.29 };
    const struct rn_batch_result failed[] = { { .status = 424 },
                                              { .status = 404, .charge = 1 } };
    const struct rn_batch_result busy = {
        .status = 429, .sub = 3200, .retry_after_ms = 1500, .charge = 0.38
    };

    (void)state;
    assert_written(NULL, 0, "segment_header");
    assert_written(&created, 1, "response_201");
    assert_written(failed, 2, "response_404_424");
    assert_written(&busy, 1, "response_429");
}

static enum rn_code read_all(struct rn_view stream)
{
    struct rn_batch_ask ask;
    struct rn_err err = { 0 };
    enum rn_code rc = rn_hybrid_begin(&stream, &err);

    while (!rc)
        rc = rn_hybrid_next(&stream, &ask, &err);
    if (rc == RN_BAD_REQUEST)
        assert_true(err.text[0] != '\0');
    return rc;
}

static void what_is_cut_short_is_refused(void **state)
{
    static const char *const names[] = { "request_create_one_op",
                                         "request_replace_ifmatch",
                                         "request_bulk_upsert_minimal" };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct rn_view whole = bytes_of(names[i]);
        for (size_t len = 0; len < whole.len; len++) {
            char *copy = malloc(len ? len : 1); /* bounds are watched */
            memcpy(copy, whole.at, len);
            /* A stream may end behind its header: it has no operations. */
            assert_int_equal(read_all(rn_view_of(copy, len)),
                             len == 10 ? RN_NOT_FOUND : RN_BAD_REQUEST);
            free(copy);
        }
    }
}

static void a_changed_byte_is_found_by_the_sum(void **state)
{
    struct rn_view whole = bytes_of("request_replace_ifmatch");
    char *copy = malloc(whole.len);

    (void)state;
    for (size_t i = 10; i < whole.len; i++) {
        memcpy(copy, whole.at, whole.len);
        copy[i] = (char)(copy[i] ^ 0x10);
        assert_int_equal(read_all(rn_view_of(copy, whole.len)), RN_BAD_REQUEST);
    }
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_read),
        cmocka_unit_test(answers_are_written),
        cmocka_unit_test(what_is_cut_short_is_refused),
        cmocka_unit_test(a_changed_byte_is_found_by_the_sum),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
