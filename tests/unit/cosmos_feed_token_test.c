/* cosmos_feed_token_test.c -- places in a feed, read and printed.
 *
 * Tables of what clients send and of what nobody should.
 */
#include "cosmos/feed_token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct rn_arena arena = { .ceiling = 1 << 20 };
static struct rn_feed_token token;

static enum rn_code parse(const char *text)
{
    struct rn_err err = { 0 };
    enum rn_code rc =
        rn_feed_token_parse(rn_view_text(text), &arena, &token, &err);

    if (rc)
        assert_true(err.text[0] != 0);
    return rc;
}

static void one_lsn_is_read_with_and_without_its_quotes(void **state)
{
    static const struct {
        const char *text;
        uint64_t lsn;
    } cases[] = {
        { "\"42\"", 42 },   { "42", 42 },
        { "W/\"42\"", 42 }, { "0", 0 },
        { "\"0\"", 0 },     { "18446744073709551615", UINT64_MAX },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(parse(cases[i].text), RN_OK);
        assert_int_equal(token.kind, RN_FEED_TOKEN_LSN);
        assert_true(token.lsn == cases[i].lsn);
    }
}

static void nothing_is_the_beginning_and_a_star_is_now(void **state)
{
    (void)state;
    assert_int_equal(parse(""), RN_OK);
    assert_int_equal(token.kind, RN_FEED_TOKEN_NONE);
    assert_int_equal(parse("*"), RN_OK);
    assert_int_equal(token.kind, RN_FEED_TOKEN_NOW);
    assert_int_equal(parse("\"*\""), RN_BAD_REQUEST);
    assert_int_equal(parse("W/\"*\""), RN_BAD_REQUEST);
}

static void what_is_printed_for_several_ranges_is_read_again(void **state)
{
    static const struct rn_feed_part parts[] = { { 0, 12 },
                                                 { 1, 0 },
                                                 { 7, UINT64_C(1) << 40 } };
    struct rn_buf text = RN_BUF_INIT(1000);

    (void)state;
    assert_int_equal(rn_feed_token_print(parts, 3, &text), RN_OK);
    assert_true(rn_view_eq(rn_buf_view(&text),
                           RN_LIT("\"0:-1#12,1:-1#0,7:-1#1099511627776\"")));
    assert_int_equal(
        rn_feed_token_parse(rn_buf_view(&text), &arena, &token, NULL), RN_OK);
    assert_int_equal(token.kind, RN_FEED_TOKEN_PARTS);
    assert_int_equal(token.count, 3);
    assert_int_equal(token.parts[2].range, 7);
    assert_true(token.parts[2].lsn == parts[2].lsn);
    assert_int_equal(parse("1:-1#5,0:-1#4"), RN_OK);
    assert_int_equal(token.parts[0].range, 0);
    rn_buf_release(&text);
}

static void what_is_no_token_is_refused_with_words(void **state)
{
    static const char *const texts[] = {
        "\"",
        "\"\"",
        "abc",
        "-1",
        "\"-1\"",
        "1.5",
        "\"1\",\"2\"",
        "18446744073709551616",
        "0:-1#",
        "0:-1#1,",
        "0:-1#1,,1:-1#2",
        ":",
        "0:-1#1,0:-1#2",
        "x:-1#1",
        "0:-1#x",
        "4294967296:-1#1",
        "\"1",
        "1\"",
        "W/",
        "**",
        "0x10",
        " 1",
        "1 ",
        "\"4 2\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (parse(texts[i]) != RN_BAD_REQUEST)
            fail_msg("%s was accepted", texts[i]);
    }
}

static int teardown(void **state)
{
    (void)state;
    rn_arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_lsn_is_read_with_and_without_its_quotes),
        cmocka_unit_test(nothing_is_the_beginning_and_a_star_is_now),
        cmocka_unit_test(what_is_printed_for_several_ranges_is_read_again),
        cmocka_unit_test(what_is_no_token_is_refused_with_words),
    };

    return cmocka_run_group_tests(tests, NULL, teardown);
}
