/* json_value_test.c -- finding values on the tape and reading strings.
 *
 * One document with every kind of value serves the lookups.  Unescaping is
 * tested three ways at once: what is_... says must agree with what get and copy
 * give, for texts with and without escapes.
 */
#include "json/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char document[] =
    "{\"id\":\"x\",\"n\":1.50,\"t\":true,\"f\":false,\"z\":null,"
    "\"list\":[10,[20,21],{\"id\":30},\"40\"],\"none\":[],"
    "\"o\":{\"id\":\"inner\",\"a\\/b\":{\"c\":\"deep\"}}}";

static int parse_document(void **state)
{
    static struct rn_json j;

    rn_json_init(&j, NULL);
    *state = &j;
    return rn_json_parse(&j, RN_LIT(document), NULL) == RN_OK ? 0 : -1;
}

static int release_document(void **state)
{
    rn_json_release(*state);
    return 0;
}

static uint32_t find(const struct rn_json *j, uint32_t object, const char *name)
{
    return rn_json_find(j, object, rn_view_text(name));
}

static bool text_is(const struct rn_json *j, uint32_t value, const char *text)
{
    return rn_view_eq(rn_json_text(j, value), rn_view_text(text));
}

static void a_member_is_found_by_its_unescaped_name(void **state)
{
    const struct rn_json *j = *state;
    uint32_t o = find(j, 0, "o");

    assert_true(text_is(j, find(j, 0, "id"), "x"));
    assert_true(text_is(j, find(j, 0, "n"), "1.50"));
    assert_true(text_is(j, find(j, o, "id"), "inner"));
    assert_true(text_is(j, find(j, find(j, o, "a/b"), "c"), "deep"));
    assert_int_equal(find(j, o, "a\\/b"), RN_JSON_NONE);
}

static void what_is_not_there_is_undefined(void **state)
{
    const struct rn_json *j = *state;

    assert_int_equal(find(j, 0, "i"), RN_JSON_NONE);
    assert_int_equal(find(j, 0, "idx"), RN_JSON_NONE);
    assert_int_equal(find(j, 0, "ID"), RN_JSON_NONE);
    assert_int_equal(find(j, 0, "x"), RN_JSON_NONE); /* a value, not a name */
    assert_int_equal(find(j, find(j, 0, "list"), "id"), RN_JSON_NONE);
    assert_int_equal(find(j, find(j, 0, "list"), "40"), RN_JSON_NONE);
    assert_int_equal(find(j, find(j, 0, "id"), "id"), RN_JSON_NONE);
    assert_int_equal(find(j, RN_JSON_NONE, "id"), RN_JSON_NONE);
    assert_int_equal(rn_json_kind(j, RN_JSON_NONE), RN_JSON_UNDEFINED);
    assert_int_equal(rn_json_count(j, RN_JSON_NONE), 0);
    assert_int_equal(rn_json_text(j, RN_JSON_NONE).len, 0);
    assert_false(rn_json_string_is(j, RN_JSON_NONE, RN_LIT("")));
}

static void kinds_and_counts_are_as_written(void **state)
{
    static const struct {
        const char *name;
        enum rn_json_kind kind;
        uint32_t count;
    } members[] = {
        { "id", RN_JSON_STRING, 0 },  { "n", RN_JSON_NUMBER, 0 },
        { "t", RN_JSON_TRUE, 0 },     { "f", RN_JSON_FALSE, 0 },
        { "z", RN_JSON_NULL, 0 },     { "list", RN_JSON_ARRAY, 4 },
        { "none", RN_JSON_ARRAY, 0 }, { "o", RN_JSON_OBJECT, 2 },
    };
    const struct rn_json *j = *state;

    assert_int_equal(rn_json_count(j, 0), COUNT(members));
    for (size_t i = 0; i < COUNT(members); i++) {
        uint32_t value = find(j, 0, members[i].name);
        assert_int_equal(rn_json_kind(j, value), members[i].kind);
        assert_int_equal(rn_json_count(j, value), members[i].count);
    }
}

static void a_walk_visits_each_member_once_in_order(void **state)
{
    static const char *const names[] = { "id", "n",    "t",    "f",
                                         "z",  "list", "none", "o" };
    const struct rn_json *j = *state;
    struct rn_json_walk w = rn_json_walk_begin(j, 0);
    size_t n = 0;

    while (rn_json_walk_next(&w)) {
        assert_true(n < COUNT(names));
        assert_true(text_is(j, w.name, names[n]));
        assert_int_equal(w.value, find(j, 0, names[n]));
        n++;
    }
    assert_int_equal(n, COUNT(names));
    assert_false(rn_json_walk_next(&w)); /* and stays at its end */
}

static void a_walk_over_an_array_has_no_names(void **state)
{
    const struct rn_json *j = *state;
    uint32_t list = find(j, 0, "list"), n = 0;
    struct rn_json_walk w = rn_json_walk_begin(j, list);

    for (; rn_json_walk_next(&w); n++) {
        assert_int_equal(w.name, RN_JSON_NONE);
        assert_int_equal(w.value, rn_json_at(j, list, n));
    }
    assert_int_equal(n, 4);
}

static void a_walk_over_what_holds_nothing_ends_at_once(void **state)
{
    const struct rn_json *j = *state;
    const uint32_t values[] = { find(j, 0, "id"), find(j, 0, "none"),
                                find(j, 0, "z"), RN_JSON_NONE };

    for (size_t i = 0; i < COUNT(values); i++) {
        struct rn_json_walk w = rn_json_walk_begin(j, values[i]);
        assert_false(rn_json_walk_next(&w));
    }
}

static void an_element_is_found_by_its_place(void **state)
{
    const struct rn_json *j = *state;
    uint32_t list = find(j, 0, "list");

    assert_true(text_is(j, rn_json_at(j, list, 0), "10"));
    assert_true(text_is(j, rn_json_at(j, list, 1), "[20,21]"));
    assert_true(text_is(j, rn_json_at(j, list, 3), "40"));
    assert_int_equal(rn_json_at(j, list, 4), RN_JSON_NONE);
    assert_int_equal(rn_json_at(j, list, UINT32_MAX), RN_JSON_NONE);
    assert_int_equal(rn_json_at(j, 0, 0), RN_JSON_NONE); /* an object */
    assert_int_equal(rn_json_at(j, find(j, 0, "id"), 0), RN_JSON_NONE);
    assert_int_equal(rn_json_at(j, RN_JSON_NONE, 0), RN_JSON_NONE);
}

/* ---- strings ------------------------------------------------------------- */

static const struct {
    const char *text; /* of the string, in its quotes */
    struct rn_view plain;
} strings[] = {
    { "\"\"", { "", 0 } },
    { "\"abc\"", { "abc", 3 } },
    { "\"a\\nb\"", { "a\nb", 3 } },
    { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", { "\"\\/\b\f\n\r\t", 8 } },
    { "\"\\u0000\"", { "\0", 1 } },
    { "\"a\\u0000b\"", { "a\0b", 3 } },
    { "\"\\u0041\\u00e9\\u65E5\"", { "A\xc3\xa9\xe6\x97\xa5", 6 } },
    { "\"\\u007f\\u0080\\u07ff\\u0800\"",
      { "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80", 8 } },
    { "\"\\uffff\\ud800\\udc00\\uDBFF\\uDFFF\"",
      { "\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 11 } },
    { "\"x\\ud83d\\ude80y\"", { "x\xf0\x9f\x9a\x80y", 6 } },
    { "\"\\\\u0041\"", { "\\u0041", 6 } },
    { "\"\xe6\x97\xa5\"", { "\xe6\x97\xa5", 3 } },
};

static void unescaping_gives_what_was_meant(void **state)
{
    struct rn_arena arena = RN_ARENA_INIT(4096);
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (size_t i = 0; i < COUNT(strings); i++) {
        struct rn_view text = rn_view_text(strings[i].text), got, copy;
        assert_int_equal(rn_json_parse(&j, text, NULL), RN_OK);
        assert_int_equal(rn_json_string_get(&j, 0, &arena, &got), RN_OK);
        assert_int_equal(rn_json_string_copy(&j, 0, &arena, &copy), RN_OK);
        assert_true(rn_view_eq(got, strings[i].plain));
        assert_true(rn_view_eq(copy, strings[i].plain));
        assert_int_equal(got.at == rn_json_text(&j, 0).at, !j.nodes[0].escaped);
        assert_ptr_not_equal(copy.at, rn_json_text(&j, 0).at);
    }
    rn_json_release(&j);
    rn_arena_release(&arena);
}

static void a_string_is_itself_and_no_other(void **state)
{
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (size_t i = 0; i < COUNT(strings); i++) {
        struct rn_view text = rn_view_text(strings[i].text);
        assert_int_equal(rn_json_parse(&j, text, NULL), RN_OK);
        for (size_t o = 0; o < COUNT(strings); o++)
            assert_int_equal(rn_json_string_is(&j, 0, strings[o].plain),
                             rn_view_eq(strings[i].plain, strings[o].plain));
    }
    rn_json_release(&j);
}

/* A beginning of the string, and the string with a byte more. */
static void a_string_is_not_its_beginning(void **state)
{
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (size_t i = 0; i < COUNT(strings); i++) {
        struct rn_view text = rn_view_text(strings[i].text);
        struct rn_view plain = strings[i].plain;
        char longer[32] = { 0 };
        assert_int_equal(rn_json_parse(&j, text, NULL), RN_OK);
        memcpy(longer, plain.at, plain.len);
        assert_false(
            rn_json_string_is(&j, 0, rn_view_of(longer, plain.len + 1)));
        while (plain.len-- > 0)
            assert_false(rn_json_string_is(&j, 0, plain));
    }
    rn_json_release(&j);
}

static void a_full_arena_differs_from_no_memory(void **state)
{
    struct rn_arena arena = RN_ARENA_INIT(5);
    struct rn_view out;
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    assert_int_equal(rn_json_parse(&j, RN_LIT("[\"abcdef\",\"abc\"]"), NULL),
                     RN_OK);
    assert_int_equal(rn_json_string_copy(&j, 1, &arena, &out), RN_TOO_LARGE);
    assert_int_equal(rn_json_string_copy(&j, 2, &arena, &out), RN_OK);
    assert_int_equal(rn_json_string_copy(&j, 2, &arena, &out), RN_TOO_LARGE);
    assert_int_equal(rn_json_string_get(&j, 1, &arena, &out), RN_OK);
    rn_json_release(&j);
    rn_arena_release(&arena);
}

static void numbers_are_read_from_their_text(void **state)
{
    const struct rn_json *j = *state;
    uint32_t n = find(j, 0, "n");
    int64_t value = -1;

    assert_true(rn_json_double(j, n) == 1.5);
    assert_false(rn_json_int64(j, n, &value));
    assert_true(rn_json_int64(j, rn_json_at(j, find(j, 0, "list"), 0), &value));
    assert_int_equal(value, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_is_found_by_its_unescaped_name),
        cmocka_unit_test(what_is_not_there_is_undefined),
        cmocka_unit_test(kinds_and_counts_are_as_written),
        cmocka_unit_test(a_walk_visits_each_member_once_in_order),
        cmocka_unit_test(a_walk_over_an_array_has_no_names),
        cmocka_unit_test(a_walk_over_what_holds_nothing_ends_at_once),
        cmocka_unit_test(an_element_is_found_by_its_place),
        cmocka_unit_test(unescaping_gives_what_was_meant),
        cmocka_unit_test(a_string_is_itself_and_no_other),
        cmocka_unit_test(a_string_is_not_its_beginning),
        cmocka_unit_test(a_full_arena_differs_from_no_memory),
        cmocka_unit_test(numbers_are_read_from_their_text),
    };
    return cmocka_run_group_tests(tests, parse_document, release_document);
}
