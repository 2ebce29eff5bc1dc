/* client_value_test.c -- rows' values: their order, and equality by text.
 *
 * Goal: the client merges in the order in which servers sort, and takes for
 * equal what a query does.  Method: the list that the .NET SDK has put in order
 * (tests/vectors/distinct-hash-vectors.json), every pair of it; and a table of
 * values with their canonical texts.
 */
#include "client/query/value.h"
#include "lib/vectors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct vectors vectors;

static struct rn_view text_at(uint32_t list, uint32_t i)
{
    struct rn_view out;

    assert_int_equal(rn_json_string_get(&vectors.json,
                                        rn_json_at(&vectors.json, list, i),
                                        &vectors.arena, &out),
                     RN_OK);
    return out;
}

static int compare(struct rn_view a, struct rn_view b)
{
    struct rn_json x, y;
    int out = 0;

    rn_json_init(&x, NULL);
    rn_json_init(&y, NULL);
    assert_int_equal(rn_json_parse(&x, a, NULL), RN_OK);
    assert_int_equal(rn_json_parse(&y, b, NULL), RN_OK);
    assert_int_equal(rn_merge_item_compare((struct rn_merge_item){ &x, 0 },
                                           (struct rn_merge_item){ &y, 0 },
                                           &out),
                     RN_OK);
    rn_json_release(&x);
    rn_json_release(&y);
    return (out > 0) - (out < 0);
}

static void values_sort_as_the_sdk_sorts_them(void **state)
{
    uint32_t all, count;

    (void)state;
    vectors_load(&vectors, "distinct-hash-vectors.json");
    all = vectors_member(&vectors, 0, "order");
    count = rn_json_count(&vectors.json, all);
    assert_true(count >= 30);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t equals = rn_json_at(&vectors.json, all, i);

        for (uint32_t k = 1; k < rn_json_count(&vectors.json, equals); k++)
            assert_int_equal(compare(text_at(equals, 0), text_at(equals, k)),
                             0);
        for (uint32_t k = 0; k < count; k++) {
            uint32_t other = rn_json_at(&vectors.json, all, k);
            assert_int_equal(compare(text_at(equals, 0), text_at(other, 0)),
                             (i > k) - (i < k));
        }
    }
    vectors_release(&vectors);
}

static void numbers_and_strings_sort_exactly(void **state)
{
    static const char *const rising[] = {
        "-1e308",
        "-9223372036854775808",
        "-1",
        "0",
        "0.5",
        "1",
        "9007199254740992",
        "9007199254740993",
        "9007199254740994.0",
        "9223372036854775807",
        "9223372036854775808",
        "1e300",
        "\"\"",
        "\"A\"",
        "\"a\"",
        "\"\\u00e4\"",
        "\"\\ud83d\\ude00\"",
        "\"\\ue000\"",
        "\"\\uffff\"",
    };
    enum { COUNT = sizeof(rising) / sizeof(rising[0]) };

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < COUNT; k++) {
            if (compare(rn_view_text(rising[i]), rn_view_text(rising[k])) !=
                (i > k) - (i < k))
                fail_msg("%s and %s", rising[i], rising[k]);
        }
    }
}

static void equal_values_have_one_text(void **state)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } table[] = {
        { "1", "1.0", true },
        { "1", "10e-1", true },
        { "1", "\"1\"", false },
        { "0", "-0", true },
        { "9007199254740993", "9007199254740992", false },
        { "\"a\"", "\"\\u0061\"", true },
        { "\"a\"", "\"A\"", false },
        { "{\"a\":1,\"b\":[]}", "{\"b\":[],\"\\u0061\":1.0}", true },
        { "{\"a\":1}", "{\"a\":1,\"b\":2}", false },
        { "[1,2]", "[2,1]", false },
        { "[1,[2]]", "[1, [ 2 ] ]", true },
        { "[[1],2]", "[[1,2]]", false },
        { "null", "false", false },
        { "{}", "[]", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct rn_buf x = RN_BUF_INIT(1000), y = RN_BUF_INIT(1000);
        struct rn_json j, k;

        rn_json_init(&j, NULL);
        rn_json_init(&k, NULL);
        assert_int_equal(rn_json_parse(&j, rn_view_text(table[i].a), NULL),
                         RN_OK);
        assert_int_equal(rn_json_parse(&k, rn_view_text(table[i].b), NULL),
                         RN_OK);
        assert_int_equal(
            rn_merge_item_canon((struct rn_merge_item){ &j, 0 }, &x), RN_OK);
        assert_int_equal(
            rn_merge_item_canon((struct rn_merge_item){ &k, 0 }, &y), RN_OK);
        if (rn_view_eq(rn_buf_view(&x), rn_buf_view(&y)) != table[i].equal)
            fail_msg("%s and %s", table[i].a, table[i].b);
        rn_buf_release(&x);
        rn_buf_release(&y);
        rn_json_release(&j);
        rn_json_release(&k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_sort_as_the_sdk_sorts_them),
        cmocka_unit_test(numbers_and_strings_sort_exactly),
        cmocka_unit_test(equal_values_have_one_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
