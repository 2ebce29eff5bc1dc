/* cosmos_etag_test.c -- versions as text, and the conditions upon them.
 *
 * Printed etags must be distinct, always of one length and read back; texts
 * that nobody printed are not etags.  Conditions are a table of what clients
 * send.
 */
#include "cosmos/etag.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void assert_view(struct rn_view got, struct rn_view want)
{
    if (!rn_view_eq(got, want))
        fail_msg("got '%.*s', wanted '%.*s'", RN_FMT(got), RN_FMT(want));
}

static void etags_look_like_guids(void **state)
{
    static const struct {
        struct rn_etag etag;
        const char *text;
    } cases[] = {
        { { 0, 0, 0, 0 }, "\"00000000-0000-0000-0000-000000000000\"" },
        { { 0x3456789abcdef0, 0x23344, 0x67788, 0x12112556 },
          "\"12345678-9abc-def0-1122-334455667788\"" },
        { { 12, 1, 2, 0 }, "\"00000000-0000-000c-0000-000100000002\"" },
        { { 12, 1, 2, 0xabcdef01 },
          "\"ab000000-0000-000c-cde0-0001f0100002\"" },
        { { UINT64_MAX >> 8, UINT32_MAX >> 12, UINT32_MAX >> 12, UINT32_MAX },
          "\"ffffffff-ffff-ffff-ffff-ffffffffffff\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[RN_ETAG_LEN];
        rn_etag_print(cases[i].etag, text);
        assert_view(rn_view_of(text, sizeof(text)),
                    rn_view_text(cases[i].text));
    }
}

static void print_then_parse_is_identity(void **state)
{
    struct rn_prng c;

    (void)state;
    rn_prng_init(&c, 3);
    for (int i = 0; i < 5000; i++) {
        struct rn_etag etag = { rn_prng_next(&c) >> 8,
                                (uint32_t)rn_prng_next(&c) >> 12,
                                (uint32_t)rn_prng_next(&c) >> 12,
                                (uint32_t)rn_prng_next(&c) };
        struct rn_etag back;
        char text[RN_ETAG_LEN];
        rn_etag_print(etag, text);
        for (size_t quotes = 0; quotes < 2; quotes++) {
            assert_true(rn_etag_parse(
                rn_view_of(text + quotes, sizeof(text) - 2 * quotes), &back));
            assert_int_equal(back.lsn, etag.lsn);
            assert_int_equal(back.range, etag.range);
            assert_int_equal(back.n, etag.n);
            assert_int_equal(back.series, etag.series);
        }
    }
}

static void other_texts_are_nobodys_etag(void **state)
{
    static const char *const bad[] = {
        "",
        "\"\"",
        "*",
        "\"00000000-0000-000c-0000-00010000000\"",
        "\"00000000-0000-000c-0000-0001000000020\"",
        "\"00000000-0000-000C-0000-000100000002\"",
        "\"00000000-0000-000g-0000-000100000002\"",
        "\"00000000 0000-000c-0000-000100000002\"",
        "\"000000000000-000c-0000-000100000002--\"",
        "\"00000000-0000-000c-0000-000100000002",
        "00000000-0000-000c-0000-000100000002\"",
        "'00000000-0000-000c-0000-000100000002'",
        "W/\"00000000-0000-000c-0000-000100000002\"",
    };
    struct rn_etag etag = { .n = 7 };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(rn_etag_parse(rn_view_text(bad[i]), &etag));
    assert_int_equal(etag.n, 7);
}

static void feed_etags_are_numbers(void **state)
{
    static const struct {
        const char *text;
        uint64_t lsn;
    } good[] = {
        { "\"42\"", 42 },   { "42", 42 },
        { "W/\"42\"", 42 }, { "0", 0 },
        { "\"0\"", 0 },     { "18446744073709551615", UINT64_MAX },
    };
    char text[RN_ETAG_LSN_TEXT_MAX];
    uint64_t lsn;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(
            rn_etag_parse_lsn(rn_view_text(good[i].text), &lsn, NULL), RN_OK);
        assert_int_equal(lsn, good[i].lsn);
    }
    assert_view(rn_etag_print_lsn(42, text), RN_LIT("\"42\""));
    assert_view(rn_etag_print_lsn(UINT64_MAX, text),
                RN_LIT("\"18446744073709551615\""));
}

static void what_is_no_number_is_no_feed_etag(void **state)
{
    static const char *const bad[] = {
        "",
        "\"\"",
        "*",
        "\"*\"",
        "-1",
        "\"-1\"",
        "+1",
        "\"42",
        "42\"",
        "'42'",
        "4 2",
        " 42",
        "42 ",
        "042",
        "\"042\"",
        "0x2a",
        "4.2",
        "W/42",
        "w/\"42\"",
        "\"\"42\"\"",
        "18446744073709551616",
        "\"0:-1#12\"",
        "42,43",
        "\"42\",\"43\"",
    };
    struct rn_err err = { 0 };
    uint64_t lsn = 7;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        print_message("# %s\n", bad[i]);
        assert_int_equal(rn_etag_parse_lsn(rn_view_text(bad[i]), &lsn, &err),
                         RN_BAD_REQUEST);
    }
    assert_int_equal(lsn, 7);
}

static void conditions_name_etags(void **state)
{
    static const struct {
        const char *condition;
        bool matches; /* "e-1" */
    } cases[] = {
        { "\"e-1\"", true },
        { "e-1", true },
        { "W/\"e-1\"", true },
        { "*", true },
        { " \"e-1\" ", true },
        { "\"e-2\", \"e-1\"", true },
        { "\"e-2\",\"e-1\"", true },
        { "e-2,e-1", true },
        { "e-2 , e-1 ", true },
        { ",,\"e-1\"", true },
        { "\"e-2\",*", true },
        { "\"e,1\",\"e-1\"", true },
        { "", false },
        { ",", false },
        { "\"\"", false },
        { "\"e-2\"", false },
        { "\"E-1\"", false },
        { "\"e-1 \"", false },
        { "\"e-1", true }, /* a lost quote is still no other etag */
        { "e-1\"", false },
        { "\"e-11\"", false },
        { "\"e-\"", false },
        { "\"x,e-1,y\"", false },
        { "**", false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("# %s\n", cases[i].condition);
        assert_int_equal(rn_etag_matches(rn_view_text(cases[i].condition),
                                         RN_LIT("\"e-1\"")),
                         cases[i].matches);
    }
}

static void conditions_are_taken_apart(void **state)
{
    struct rn_view rest = RN_LIT(" \"0:-1#12,1:-1#40\" , W/\"b\",c d ,*"), one;

    (void)state;
    assert_true(rn_etag_next(&rest, &one));
    assert_view(one, RN_LIT("0:-1#12,1:-1#40"));
    assert_true(rn_etag_next(&rest, &one));
    assert_view(one, RN_LIT("b"));
    assert_true(rn_etag_next(&rest, &one));
    assert_view(one, RN_LIT("c d"));
    assert_true(rn_etag_next(&rest, &one));
    assert_view(one, RN_LIT("*"));
    assert_false(rn_etag_next(&rest, &one));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(etags_look_like_guids),
        cmocka_unit_test(print_then_parse_is_identity),
        cmocka_unit_test(other_texts_are_nobodys_etag),
        cmocka_unit_test(feed_etags_are_numbers),
        cmocka_unit_test(what_is_no_number_is_no_feed_etag),
        cmocka_unit_test(conditions_name_etags),
        cmocka_unit_test(conditions_are_taken_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
