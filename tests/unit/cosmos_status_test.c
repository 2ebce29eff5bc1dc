/* cosmos_status_test.c -- every outcome can be said in HTTP and understood.
 *
 * All codes and reasons are tried, and the pairs of status and sub-status on
 * which clients act are written down once more, from their side.
 */
#include "cosmos/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void every_code_has_a_status(void **state)
{
    (void)state;
    for (unsigned code = 0; code < RN_CODES; code++) {
        const struct rn_status *s =
            rn_status_of((enum rn_code)code, RN_REASON_NONE);
        assert_int_equal(s->code, code);
        assert_int_equal(s->reason, RN_REASON_NONE);
        assert_in_range(s->http, 200, 599);
        assert_true(strlen(s->word) > 0);
        assert_null(strchr(s->word, ' '));
        assert_true(s->http < 400 || strlen(s->text) > 0);
    }
}

static void every_reason_has_a_status_of_its_own(void **state)
{
    (void)state;
    for (unsigned reason = 1; reason < RN_REASONS; reason++) {
        const struct rn_status *s = rn_status_of(RN_OK, (enum rn_reason)reason),
                               *back;
        assert_int_equal(s->reason, reason);
        assert_int_not_equal(s->code, RN_OK);
        assert_true(strlen(s->text) > 0);
        back = rn_status_read(s->http, s->sub);
        assert_ptr_equal(s, back);
    }
}

/* A status that several codes share is read as one that clients treat alike:
 * the client cannot know more than its answer says. */
static void a_status_is_read_as_a_code_that_has_it(void **state)
{
    (void)state;
    for (unsigned code = 0; code < RN_CODES; code++) {
        const struct rn_status *s =
            rn_status_of((enum rn_code)code, RN_REASON_NONE);
        const struct rn_status *back = rn_status_read(s->http, s->sub);
        assert_int_equal(back->http, s->http);
        assert_int_equal(back->sub, s->sub);
        assert_string_equal(back->word, s->word);
    }
}

static void clients_find_what_they_act_upon(void **state)
{
    static const struct {
        int http, sub;
        const char *word;
        enum rn_code code;
        enum rn_reason reason;
    } known[] = {
        { 304, 0, "NotModified", RN_NOT_MODIFIED, 0 },
        { 400, 0, "BadRequest", RN_BAD_REQUEST, 0 },
        { 400, 1001, "BadRequest", RN_BAD_REQUEST, RN_REASON_KEY_MISMATCH },
        { 400, 1004, "BadRequest", RN_BAD_REQUEST, RN_REASON_CROSS_PARTITION },
        { 400, 1024, "BadRequest", RN_BAD_REQUEST, RN_REASON_CONTAINER_RID },
        { 401, 0, "Unauthorized", RN_UNAUTHORIZED, 0 },
        { 403, 0, "Forbidden", RN_FORBIDDEN, 0 },
        { 403, 3, "Forbidden", RN_FORBIDDEN, RN_REASON_WRITE_REGION },
        { 403, 1008, "Forbidden", RN_FORBIDDEN, RN_REASON_ACCOUNT_GONE },
        { 403, 1014, "Forbidden", RN_FORBIDDEN, RN_REASON_KEY_FULL },
        { 403, 5300, "Forbidden", RN_FORBIDDEN, RN_REASON_DATA_ONLY },
        { 404, 0, "NotFound", RN_NOT_FOUND, 0 },
        { 404, 1002, "NotFound", RN_NOT_FOUND, RN_REASON_SESSION },
        { 404, 1003, "NotFound", RN_NOT_FOUND, RN_REASON_OWNER },
        { 405, 0, "MethodNotAllowed", RN_BAD_REQUEST, RN_REASON_METHOD },
        { 501, 0, "NotImplemented", RN_BAD_REQUEST, RN_REASON_METHOD_UNKNOWN },
        { 505, 0, "HttpVersionNotSupported", RN_BAD_REQUEST,
          RN_REASON_HTTP_VERSION },
        { 408, 0, "RequestTimeout", RN_TIMEOUT, 0 },
        { 409, 0, "Conflict", RN_CONFLICT, 0 },
        { 409, 3206, "Conflict", RN_CONFLICT, RN_REASON_DATABASE_EXISTS },
        { 409, 3302, "Conflict", RN_CONFLICT, RN_REASON_KEY_COLLISION },
        { 410, 0, "Gone", RN_GONE, RN_REASON_GONE },
        { 410, 1000, "Gone", RN_GONE, RN_REASON_NAME_STALE },
        { 410, 1002, "Gone", RN_GONE, 0 },
        { 410, 1007, "Gone", RN_GONE, RN_REASON_SPLITTING },
        { 410, 1008, "Gone", RN_GONE, RN_REASON_MIGRATING },
        { 412, 0, "PreconditionFailed", RN_PRECONDITION, 0 },
        { 413, 0, "RequestEntityTooLarge", RN_TOO_LARGE, 0 },
        { 424, 0, "FailedDependency", RN_CONFLICT, RN_REASON_DEPENDENCY },
        { 429, 3200, "TooManyRequests", RN_THROTTLED, 0 },
        { 449, 0, "RetryWith", RN_CONFLICT, RN_REASON_RETRY_WITH },
        { 500, 0, "InternalServerError", RN_IO, 0 },
        { 503, 0, "ServiceUnavailable", RN_BUSY, 0 },
        { 507, 0, "InsufficientStorage", RN_FULL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct rn_status *s =
            rn_status_of(known[i].code, known[i].reason);
        assert_int_equal(s->http, known[i].http);
        assert_int_equal(s->sub, known[i].sub);
        assert_string_equal(s->word, known[i].word);
        assert_ptr_equal(rn_status_read(known[i].http, known[i].sub), s);
    }
}

static void what_is_not_known_is_read_as_its_like(void **state)
{
    static const struct {
        int http, sub;
        enum rn_code code;
    } cases[] = {
        { 200, 0, RN_OK },           { 201, 0, RN_OK },
        { 204, 5, RN_OK },           { 207, 0, RN_OK },
        { 404, 9999, RN_NOT_FOUND }, { 410, 0, RN_GONE },
        { 429, 3201, RN_THROTTLED }, { 429, 0, RN_THROTTLED },
        { 403, 5300, RN_FORBIDDEN }, { 418, 0, RN_BAD_REQUEST },
        { 302, 0, RN_BAD_REQUEST },  { 502, 0, RN_IO },
        { 599, 0, RN_IO },           { 0, 0, RN_BAD_REQUEST },
        { -1, -1, RN_BAD_REQUEST },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(rn_status_read(cases[i].http, cases[i].sub)->code,
                         cases[i].code);
}

static void a_reason_brings_its_code_along(void **state)
{
    struct rn_err err = { 0 };

    (void)state;
    assert_int_equal(
        rn_fail_reason(&err, RN_REASON_OWNER, "container '%s'", "c"),
        RN_NOT_FOUND);
    assert_int_equal(err.code, RN_NOT_FOUND);
    assert_int_equal(err.reason, RN_REASON_OWNER);
    assert_string_equal(err.text, "container 'c'");
    rn_err_during(&err, "reading");
    assert_int_equal(err.reason, RN_REASON_OWNER);
    assert_int_equal(rn_fail(&err, RN_IO, "x"), RN_IO);
    assert_int_equal(err.reason, RN_REASON_NONE);
    assert_int_equal(rn_fail_reason(NULL, RN_REASON_OWNER, "x"), RN_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_status),
        cmocka_unit_test(every_reason_has_a_status_of_its_own),
        cmocka_unit_test(a_status_is_read_as_a_code_that_has_it),
        cmocka_unit_test(clients_find_what_they_act_upon),
        cmocka_unit_test(what_is_not_known_is_read_as_its_like),
        cmocka_unit_test(a_reason_brings_its_code_along),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
