/* http_target_test.c -- a path has the segments its sender meant.
 *
 * Tables of targets as the SDKs send them and as an attacker would; targets are
 * parsed from memory that ends with them.
 */
#include "http/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The segments joined by '|'. */
static enum rn_code joined(const char *text, enum rn_http_question question,
                           char *out, size_t size)
{
    struct rn_arena arena = RN_ARENA_INIT(65536);
    size_t len = strlen(text), n = 0;
    struct rn_http_target t;
    struct rn_err err = { 0 };
    char *copy = malloc(len ? len : 1);
    enum rn_code rc;

    assert_non_null(copy);
    memcpy(copy, text, len);
    rc =
        rn_http_target_parse(rn_view_of(copy, len), question, &arena, &t, &err);
    assert_int_equal(rc, err.code);
    free(copy); /* segments must not need it */
    for (size_t i = 0; !rc && i < t.segment_count; i++)
        n +=
            (size_t)snprintf(out + n, size - n, "%.*s|", RN_FMT(t.segments[i]));
    out[n] = '\0';
    rn_arena_release(&arena);
    return rc;
}

static void paths_are_split_then_decoded(void **state)
{
    static const struct {
        const char *target, *segments;
    } good[] = {
        { "", "" },
        { "/", "" },
        { "//", "" },
        { "/dbs", "dbs|" },
        { "/dbs/", "dbs|" },
        { "//dbs//x///", "dbs|x|" },
        { "/dbs/Db%20One/colls/C", "dbs|Db One|colls|C|" },
        { "/a%2fb/c", "a/b|c|" },
        { "/a%2Fb", "a/b|" },
        { "/%2F", "/|" },
        { "/a/../b/./c", "a|..|b|.|c|" },
        { "/%2e%2e/x", "..|x|" },
        { "/a+b", "a+b|" },
        { "/a%2Bb", "a+b|" },
        { "/%2520", "%20|" },
        { "/%C3%9C%e6%97%a5", "\xc3\x9c\xe6\x97\xa5|" },
        { "/%0d%0A%09", "\r\n\t|" },
        { "/%01%7f%ff", "\x01\x7f\xff|" },
        { "/a;b=c,d", "a;b=c,d|" },
        { "*", "*|" },
        { "x", "x|" },
    };
    char out[200];

    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(
            joined(good[i].target, RN_HTTP_QUESTION_SPLITS, out, sizeof(out)),
            RN_OK);
        assert_string_equal(out, good[i].segments);
    }
}

static void a_question_mark_is_what_the_caller_says(void **state)
{
    char out[100];

    (void)state;
    assert_int_equal(
        joined("/docs/a?b%20c", RN_HTTP_QUESTION_IS_NAME, out, sizeof(out)),
        RN_OK);
    assert_string_equal(out, "docs|a?b c|");
    assert_int_equal(
        joined("/docs/a?b%20c", RN_HTTP_QUESTION_SPLITS, out, sizeof(out)),
        RN_OK);
    assert_string_equal(out, "docs|a|");
}

static void bad_escapes_are_refused(void **state)
{
    static const char *const bad[] = {
        "/%",        "/a%",   "/%2",         "/%2/b",   "/%g0",    "/%0g",
        "/%%20",     "/%-1",  "/% 1",        "/%+1",    "/%00",    "/a%00b",
        "/a/%",      "/?a=%", "/?%=a",       "/?a=%00", "/?a&%zz", "/%u0041",
        "/?a=1&a=2", "/?a&a", "/?%61=1&a=2",
    };
    char out[100];

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        print_message("# %s\n", bad[i]);
        assert_int_equal(
            joined(bad[i], RN_HTTP_QUESTION_SPLITS, out, sizeof(out)),
            RN_BAD_REQUEST);
    }
}

static void assert_param(const struct rn_http_target *t, const char *name,
                         const char *value)
{
    struct rn_view v = rn_http_target_param(t, rn_view_text(name));

    if (!value) {
        assert_null(v.at);
        return;
    }
    assert_non_null(v.at);
    assert_int_equal(v.len, strlen(value));
    assert_memory_equal(v.at, value, v.len);
}

static void parameters_are_found_by_name(void **state)
{
    struct rn_arena arena = RN_ARENA_INIT(65536);
    struct rn_http_target t;

    (void)state;
    assert_int_equal(
        rn_http_target_parse(RN_LIT("/a/b?x=1&y=&&z&w=a%26b=c%3d+?&%78y=q"),
                             RN_HTTP_QUESTION_SPLITS, &arena, &t, NULL),
        RN_OK);
    assert_int_equal(t.param_count, 5);
    assert_param(&t, "x", "1");
    assert_param(&t, "y", "");
    assert_param(&t, "z", "");
    assert_param(&t, "w", "a&b=c=+?");
    assert_param(&t, "xy", "q");
    assert_param(&t, "X", NULL);
    assert_param(&t, "", NULL);
    assert_true(rn_view_eq(t.path, RN_LIT("/a/b")));
    assert_true(rn_view_starts(t.query, RN_LIT("x=1&y=")));
    rn_arena_release(&arena);
}

static void parameters_are_few(void **state)
{
    struct rn_arena arena = RN_ARENA_INIT(65536);
    struct rn_http_target t;
    char text[400] = "/?";

    (void)state;
    for (int i = 0; i <= RN_HTTP_PARAMS_MAX; i++) {
        size_t len = strlen(text);
        assert_int_equal(rn_http_target_parse(rn_view_text(text),
                                              RN_HTTP_QUESTION_SPLITS, &arena,
                                              &t, NULL),
                         RN_OK);
        assert_int_equal(t.param_count, i);
        snprintf(text + len, sizeof(text) - len, "p%d=&", i);
    }
    assert_int_equal(rn_http_target_parse(rn_view_text(text),
                                          RN_HTTP_QUESTION_SPLITS, &arena, &t,
                                          NULL),
                     RN_BAD_REQUEST);
    rn_arena_release(&arena);
}

static void memory_is_bounded_by_the_arena(void **state)
{
    struct rn_arena arena = RN_ARENA_INIT(60);
    struct rn_http_target t;

    (void)state;
    assert_int_equal(rn_http_target_parse(RN_LIT("/aaaa/bbbb/cccc/dddd"),
                                          RN_HTTP_QUESTION_SPLITS, &arena, &t,
                                          NULL),
                     RN_NOMEM);
    rn_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_split_then_decoded),
        cmocka_unit_test(a_question_mark_is_what_the_caller_says),
        cmocka_unit_test(bad_escapes_are_refused),
        cmocka_unit_test(parameters_are_found_by_name),
        cmocka_unit_test(parameters_are_few),
        cmocka_unit_test(memory_is_bounded_by_the_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
