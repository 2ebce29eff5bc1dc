/* json_path_test.c -- paths as partition and unique key definitions write them.
 *
 * Good texts are compared name by name; each refused one differs from a good
 * one in the way said beside it.  Lookups run on one document.
 */
#include "json/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void a_path_is_its_names(void **state)
{
    static const struct {
        const char *text, *names; /* with a bar behind each */
    } cases[] = {
        { "/pk", "pk|" },
        { "/a/b", "a|b|" },
        { "/a/b/0", "a|b|0|" },
        { "/\"a b\"/c", "a b|c|" },
        { "/'a b'/\"c\"", "a b|c|" },
        { "/\"a/b\"/c", "a/b|c|" },
        { "/\"a\\\"b\"", "a\"b|" },
        { "/'a\\'b'", "a'b|" },
        { "/\"a\\\\b\"", "a\\b|" },
        { "/\"it's\"", "it's|" },
        { "/\"\"", "|" },
        { "/\"*\"/\"?\"", "*|?|" },
        { "/_partitionKey", "_partitionKey|" },
        { "/my-key", "my-key|" },
        { "/a.b", "a.b|" },
        { "/\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9|" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_arena arena = RN_ARENA_INIT(4096);
        struct rn_json_path path;
        struct rn_err err = { 0 };
        struct rn_buf joined = RN_BUF_INIT(64);
        assert_int_equal(rn_json_path_parse(rn_view_text(cases[i].text), &arena,
                                            &path, &err),
                         RN_OK);
        for (uint32_t n = 0; n < path.count; n++) {
            assert_int_equal(
                rn_buf_printf(&joined, "%.*s|", RN_FMT(path.names[n])), RN_OK);
        }
        assert_string_equal(joined.at, cases[i].names);
        rn_buf_release(&joined);
        rn_arena_release(&arena);
    }
}

static void one_flaw_is_enough_to_be_refused(void **state)
{
    static const struct {
        const char *flaw, *text, *words;
    } bad[] = {
        { "empty", "", "a path may not be empty" },
        { "no slash", "id", "path 'id', byte 1: expected '/'" },
        { "only a slash", "/", "path '/', byte 2: expected a name" },
        { "trailing slash", "/a/", "path '/a/', byte 4: expected a name" },
        { "empty name", "/a//b", "path '/a//b', byte 4: expected a name" },
        { "blank", "/id ds",
          "path '/id ds', byte 4: only a name in quotes may hold this" },
        { "leading blank", "/ id",
          "path '/ id', byte 2: only a name in quotes may hold this" },
        { "wildcard", "/*",
          "path '/*', byte 2: only a name in quotes may hold this" },
        { "question mark", "/a/?",
          "path '/a/?', byte 4: only a name in quotes may hold this" },
        { "brackets", "/a/[]",
          "path '/a/[]', byte 4: only a name in quotes may hold this" },
        { "quote inside", "/a\"b",
          "path '/a\"b', byte 3: only a name in quotes may hold this" },
        { "backslash", "/a\\b",
          "path '/a\\b', byte 3: only a name in quotes may hold this" },
        { "unclosed", "/\"a", "path '/\"a', byte 4: expected a closing quote" },
        { "closed by other", "/\"a'",
          "path '/\"a'', byte 5: expected a closing quote" },
        { "text behind quote", "/\"a\"b",
          "path '/\"a\"b', byte 5: expected '/'" },
        { "odd escape", "/\"a\\n\"",
          "path '/\"a\\n\"', byte 5: expected a quote or backslash after "
          "'\\'" },
        { "escape at end", "/\"a\\",
          "path '/\"a\\', byte 5: expected a quote or backslash after '\\'" },
        { "delete", "/a\x7f",
          "path '/a\x7f', byte 3: only a name in quotes may hold this" },
        { "not UTF-8", "/a\xff", "path '/a\xff', byte 3: not UTF-8" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct rn_arena arena = RN_ARENA_INIT(4096);
        struct rn_json_path path = { .count = 77 };
        struct rn_err err = { 0 };
        assert_int_equal(
            rn_json_path_parse(rn_view_text(bad[i].text), &arena, &path, &err),
            RN_BAD_REQUEST);
        assert_string_equal(err.text, bad[i].words);
        assert_int_equal(path.count, 77);
        rn_arena_release(&arena);
    }
}

static void a_nul_byte_needs_quotes(void **state)
{
    struct rn_arena arena = RN_ARENA_INIT(4096);
    struct rn_json_path path;

    (void)state;
    assert_int_equal(
        rn_json_path_parse(rn_view_of("/a\0b", 4), &arena, &path, NULL),
        RN_BAD_REQUEST);
    assert_int_equal(
        rn_json_path_parse(rn_view_of("/\"a\0b\"", 6), &arena, &path, NULL),
        RN_OK);
    assert_true(rn_view_eq(path.names[0], rn_view_of("a\0b", 3)));
    rn_arena_release(&arena);
}

static void a_path_that_is_printed_reads_as_it_was(void **state)
{
    static const struct {
        const char *given, *printed;
    } cases[] = {
        { "/a/b_1/C", "/a/b_1/C" },
        { "/'a b'/c", "/\"a b\"/c" },
        { "/a-b", "/\"a-b\"" },
        { "/\"\"/x", "/\"\"/x" },
        { "/'say \"hi\"'", "/\"say \\\"hi\\\"\"" },
        { "/'back\\\\slash'", "/\"back\\\\slash\"" },
        { "/\xc3\xa9", "/\"\xc3\xa9\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rn_arena arena = RN_ARENA_INIT(1 << 16);
        struct rn_buf text = RN_BUF_INIT(1 << 16);
        struct rn_json_path path, again;

        assert_int_equal(rn_json_path_parse(rn_view_text(cases[i].given),
                                            &arena, &path, NULL),
                         RN_OK);
        assert_int_equal(rn_json_path_print(&path, &text), RN_OK);
        assert_true(
            rn_view_eq(rn_buf_view(&text), rn_view_text(cases[i].printed)));
        assert_int_equal(
            rn_json_path_parse(rn_buf_view(&text), &arena, &again, NULL),
            RN_OK);
        assert_true(rn_json_path_eq(&path, &again));
        rn_buf_release(&text);
        rn_arena_release(&arena);
    }
}

static void a_path_has_a_ceiling(void **state)
{
    struct rn_arena small = RN_ARENA_INIT(16), large = RN_ARENA_INIT(1 << 24);
    size_t len = (64 << 10) + 2;
    char *text = malloc(len);
    struct rn_json_path path;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < len; i++)
        text[i] = i % 2 ? 'a' : '/';
    assert_int_equal(
        rn_json_path_parse(rn_view_of(text, 8), &small, &path, NULL),
        RN_TOO_LARGE);
    assert_int_equal(
        rn_json_path_parse(rn_view_of(text, len), &large, &path, NULL),
        RN_TOO_LARGE);
    assert_int_equal(
        rn_json_path_parse(rn_view_of(text, len - 2), &large, &path, NULL),
        RN_OK);
    assert_int_equal(path.count, 32 << 10);
    rn_arena_release(&large);
    free(text);
}

static void a_path_leads_through_objects_only(void **state)
{
    static const struct {
        const char *path, *text; /* NULL: undefined */
    } cases[] = {
        { "/a/b", "1" },
        { "/a/b/c", NULL },
        { "/a", "{\"b\":1,\"c d\":{\"\\u0065\":\"x\"}}" },
        { "/a/\"c d\"/e", "x" },
        { "/list", "[{\"b\":2}]" },
        { "/list/0", NULL },
        { "/list/0/b", NULL },
        { "/list/b", NULL },
        { "/0", "zero" },
        { "/none", NULL },
        { "/none/b", NULL },
    };
    static const char document[] =
        "{\"list\":[{\"b\":2}],\"a\":{\"b\":1,\"c d\":{\"\\u0065\":\"x\"}},"
        "\"0\":\"zero\"}";
    struct rn_arena arena = RN_ARENA_INIT(1 << 16);
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, RN_LIT(document), NULL), RN_OK);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_json_path path;
        uint32_t found;
        assert_int_equal(rn_json_path_parse(rn_view_text(cases[i].path), &arena,
                                            &path, NULL),
                         RN_OK);
        found = rn_json_path_find(&path, &j, 0);
        assert_int_equal(found == RN_JSON_NONE, !cases[i].text);
        assert_true(
            rn_view_eq(rn_json_text(&j, found),
                       rn_view_text(cases[i].text ? cases[i].text : "")));
    }
    rn_json_release(&j);
    rn_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_its_names),
        cmocka_unit_test(one_flaw_is_enough_to_be_refused),
        cmocka_unit_test(a_nul_byte_needs_quotes),
        cmocka_unit_test(a_path_that_is_printed_reads_as_it_was),
        cmocka_unit_test(a_path_has_a_ceiling),
        cmocka_unit_test(a_path_leads_through_objects_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
