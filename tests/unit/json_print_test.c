/* json_print_test.c -- JSON out, byte for byte.
 *
 * Everything printed is compared with the exact bytes expected.  The full
 * buffer is tested at every size too small: the error must stick, and what is
 * in the buffer must be a beginning of the whole.
 */
#include "json/print.h"
#include "json/utf8.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void assert_printed(struct rn_json_out *o, const char *text)
{
    assert_int_equal(rn_json_out_finish(o), RN_OK);
    assert_int_equal(o->buf->len, strlen(text));
    assert_memory_equal(o->buf->at, text, o->buf->len);
    rn_buf_release(o->buf);
}

/* One of everything, in every position a comma can be wrong in. */
static void print_all(struct rn_json_out *o)
{
    rn_json_out_object_begin(o);
    rn_json_out_key(o, RN_LIT("a"));
    rn_json_out_array_begin(o);
    rn_json_out_null(o);
    rn_json_out_bool(o, true);
    rn_json_out_bool(o, false);
    rn_json_out_array_begin(o);
    rn_json_out_array_end(o);
    rn_json_out_object_begin(o);
    rn_json_out_object_end(o);
    rn_json_out_string(o, RN_LIT("s"));
    rn_json_out_array_end(o);
    rn_json_out_key(o, RN_LIT("b\n"));
    rn_json_out_int(o, INT64_MIN);
    rn_json_out_key(o, RN_LIT("c"));
    rn_json_out_uint(o, UINT64_MAX);
    rn_json_out_key(o, RN_LIT("d"));
    rn_json_out_double(o, 0.5);
    rn_json_out_key(o, RN_LIT("e"));
    rn_json_out_raw(o, RN_LIT("1.50"));
    rn_json_out_object_end(o);
}

static const char all[] =
    "{\"a\":[null,true,false,[],{},\"s\"],\"b\\n\":-9223372036854775808,"
    "\"c\":18446744073709551615,\"d\":0.5,\"e\":1.50}";

static void commas_stand_where_they_belong(void **state)
{
    struct rn_buf buf = RN_BUF_INIT(4096);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);

    (void)state;
    print_all(&o);
    assert_printed(&o, all);
}

static void a_value_alone_needs_no_container(void **state)
{
    struct rn_buf buf = RN_BUF_INIT(4096);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);

    (void)state;
    rn_json_out_string(&o, RN_LIT(""));
    assert_printed(&o, "\"\"");
}

static void the_first_failure_sticks(void **state)
{
    (void)state;
    for (size_t room = 1; room < sizeof(all) - 1; room++) {
        struct rn_buf buf = RN_BUF_INIT(room);
        struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
        print_all(&o);
        assert_int_equal(rn_json_out_finish(&o), RN_TOO_LARGE);
        assert_true(buf.len <= room);
        assert_memory_equal(buf.at ? buf.at : "", all, buf.len);
        rn_buf_release(&buf);
    }
}

static void only_what_must_be_escaped_is(void **state)
{
    static const struct {
        struct rn_view text;
        const char *printed;
    } cases[] = {
        { { "", 0 }, "\"\"" },
        { { "a/b", 3 }, "\"a/b\"" },
        { { "\"\\", 2 }, "\"\\\"\\\\\"" },
        { { "\b\f\n\r\t", 5 }, "\"\\b\\f\\n\\r\\t\"" },
        { { "\0\x01\x1f\x7f", 4 }, "\"\\u0000\\u0001\\u001f\x7f\"" },
        { { "\xc3\xa9\xe2\x80\xa8\xf0\x9f\x9a\x80", 9 },
          "\"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x9a\x80\"" },
        { { "<script>'", 9 }, "\"<script>'\"" },
        { { "1234567890123456\n", 17 }, "\"1234567890123456\\n\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_buf buf = RN_BUF_INIT(4096);
        struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
        rn_json_out_string(&o, cases[i].text);
        assert_printed(&o, cases[i].printed);
    }
}

static void a_text_is_left_with_the_escapes_it_needs(void **state)
{
    static const struct {
        const char *text, *plain;
    } cases[] = {
        { "7", "7" },
        { "\"\"", "\"\"" },
        { "[ {\"a\\/b\": \"\\/\\/\"} ]", "[ {\"a/b\": \"//\"} ]" },
        { "\"\\\\/\\\"\"", "\"\\\\/\\\"\"" },
        { "\"\\u0022\\u005c\\u002F\"", "\"\\\"\\\\/\"" },
        { "\"\\u000a\\u000A\\n\"", "\"\\n\\n\\n\"" },
        { "\"\\u0000\\u001F\"", "\"\\u0000\\u001f\"" },
        { "\"\\u00e9\\u2028\\ud83d\\uDE80\\u0061\"",
          "\"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x9a\x80"
          "a\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_buf buf = RN_BUF_INIT(strlen(cases[i].text));
        struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
        rn_json_out_plain(&o, rn_view_text(cases[i].text));
        assert_printed(&o, cases[i].plain);
    }
}

#define BAD "\xef\xbf\xbd"

static void what_is_not_utf8_is_replaced(void **state)
{
    static const struct {
        const char *text, *printed;
    } cases[] = {
        { "\xff", "\"" BAD "\"" },
        { "a\x80z", "\"a" BAD "z\"" },
        { "\xc0\xaf", "\"" BAD BAD "\"" },
        { "\xed\xa0\x80", "\"" BAD BAD BAD "\"" },
        { "\xe6\x97", "\"" BAD BAD "\"" }, /* cut short */
        { "\xe6\x97\"", "\"" BAD BAD "\\\"\"" },
        { "\xe6\x97\xa5\xe6", "\"\xe6\x97\xa5" BAD "\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_buf buf = RN_BUF_INIT(4096);
        struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
        rn_json_out_string(&o, rn_view_text(cases[i].text));
        assert_printed(&o, cases[i].printed);
    }
}

static void all_code_points_survive(void **state)
{
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (uint32_t point = 0; point <= 0x10ffff; point += point < 256 ? 1 : 61) {
        struct rn_buf buf = RN_BUF_INIT(64);
        struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
        char plain[RN_UTF8_MAX];
        size_t len;
        if (point >= 0xd800 && point <= 0xdfff)
            continue;
        len = rn_utf8_encode(point, plain);
        rn_json_out_string(&o, rn_view_of(plain, len));
        assert_int_equal(rn_json_out_finish(&o), RN_OK);
        assert_int_equal(rn_json_parse(&j, rn_buf_view(&buf), NULL), RN_OK);
        assert_true(rn_json_string_is(&j, 0, rn_view_of(plain, len)));
        rn_buf_release(&buf);
    }
    rn_json_release(&j);
}

static void a_double_that_is_no_number_is_null(void **state)
{
    struct rn_buf buf = RN_BUF_INIT(4096);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);

    (void)state;
    rn_json_out_array_begin(&o);
    rn_json_out_double(&o, (double)NAN);
    rn_json_out_double(&o, (double)INFINITY);
    rn_json_out_double(&o, -(double)INFINITY);
    rn_json_out_double(&o, -0.0);
    rn_json_out_array_end(&o);
    assert_printed(&o, "[null,null,null,0]");
}

/* ---- parsed values ------------------------------------------------------- */

static void printing_a_parsed_value_drops_only_white_space(void **state)
{
    static const struct {
        const char *text, *printed;
    } cases[] = {
        { " 1.50e+05 ", "1.50e+05" },
        { " \"a b\\u0041\\/\" ", "\"a b\\u0041\\/\"" },
        { "[ ]", "[]" },
        { "{ }", "{}" },
        { "[ 1 , [ ] , { } , [ [ 2 ] ] ]", "[1,[],{},[[2]]]" },
        { "{ \"a\" : { \"b\" : [ true , null ] } , \"c\" : false }",
          "{\"a\":{\"b\":[true,null]},\"c\":false}" },
        { "\t[\r\n{\"a\":[]}]", "[{\"a\":[]}]" },
        { "[1,{\"a\":[]}]", "[1,{\"a\":[]}]" },
    };
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rn_buf buf = RN_BUF_INIT(4096);
        struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
        assert_int_equal(rn_json_parse(&j, rn_view_text(cases[i].text), NULL),
                         RN_OK);
        rn_json_out_value(&o, &j, 0);
        assert_printed(&o, cases[i].printed);
    }
    rn_json_release(&j);
}

static void part_of_a_parsed_text_can_be_printed(void **state)
{
    static const char *const texts[] = {
        "{\"a\":[1,{\"b\":\"x\"}],\"c\":2}",
        "{\"a\": [1, {\"b\":\"x\"}], \"c\":2}"
    };
    struct rn_json j;

    (void)state;
    rn_json_init(&j, NULL);
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct rn_buf buf = RN_BUF_INIT(4096);
        struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
        assert_int_equal(rn_json_parse(&j, rn_view_text(texts[i]), NULL),
                         RN_OK);
        rn_json_out_array_begin(&o);
        rn_json_out_value(&o, &j, rn_json_find(&j, 0, RN_LIT("a")));
        rn_json_out_value(&o, &j, rn_json_find(&j, 0, RN_LIT("c")));
        rn_json_out_array_end(&o);
        assert_printed(&o, "[[1,{\"b\":\"x\"}],2]");
    }
    rn_json_release(&j);
}

static void dropped_members_are_not_printed(void **state)
{
    struct rn_json_limits limits = { .twice = RN_JSON_TWICE_LAST_WINS };
    struct rn_buf buf = RN_BUF_INIT(4096);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
    struct rn_json j;

    (void)state;
    rn_json_init(&j, &limits);
    assert_int_equal(
        rn_json_parse(&j, RN_LIT("{\"a\":1,\"b\":[],\"a\":2}"), NULL), RN_OK);
    rn_json_out_value(&o, &j, 0);
    assert_printed(&o, "{\"b\":[],\"a\":2}");
    rn_json_release(&j);
}

static void the_deepest_text_can_be_printed(void **state)
{
    struct rn_json_limits limits = { .depth = RN_JSON_DEPTH_MAX };
    enum { HALF = RN_JSON_DEPTH_MAX, WHOLE = 2 * HALF };
    char text[WHOLE + 1];
    struct rn_buf buf = RN_BUF_INIT(4096);
    struct rn_json_out o = RN_JSON_OUT_INIT(&buf);
    struct rn_json j;

    (void)state;
    memset(text, '[', HALF);
    memset(text + HALF, ']', HALF);
    text[WHOLE] = ' '; /* so that it is not just copied */
    rn_json_init(&j, &limits);
    assert_int_equal(rn_json_parse(&j, rn_view_of(text, sizeof(text)), NULL),
                     RN_OK);
    rn_json_out_value(&o, &j, 0);
    text[WHOLE] = '\0';
    assert_printed(&o, text);
    rn_json_release(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_stand_where_they_belong),
        cmocka_unit_test(a_value_alone_needs_no_container),
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(only_what_must_be_escaped_is),
        cmocka_unit_test(a_text_is_left_with_the_escapes_it_needs),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
        cmocka_unit_test(all_code_points_survive),
        cmocka_unit_test(a_double_that_is_no_number_is_null),
        cmocka_unit_test(printing_a_parsed_value_drops_only_white_space),
        cmocka_unit_test(part_of_a_parsed_text_can_be_printed),
        cmocka_unit_test(dropped_members_are_not_printed),
        cmocka_unit_test(the_deepest_text_can_be_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
