/* json_number_test.c -- numbers keep their value on the way in and out.
 *
 * Reading is compared with strtod in the C locale, printing with what
 * JavaScript prints, for chosen numbers and, for a million random doubles, by
 * reading back what was printed and checking that one digit less would not do.
 * All of it must hold in a locale whose decimal point is a comma.
 */
#include "json/number.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t bits_of(double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof(bits));
    return bits;
}

static double double_of(uint64_t bits)
{
    double d;

    memcpy(&d, &bits, sizeof(d));
    return d;
}

/* xorshift64*: the same numbers in every run. */
static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return *seed * 0x2545f4914f6cdd1du;
}

static const char *const texts[] = {
    "0",
    "-0",
    "0.0",
    "0e5",
    "-0.000e-10",
    "1",
    "-1",
    "10",
    "0.1",
    "0.3",
    "1.5",
    "123.456",
    "1e22",
    "1e23",
    "-1e-22",
    "1e-23",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9007199254740993.0000000000000000000000000000000000000000001",
    "9007199254740992e22",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890",
    "100000000000000000000000000000",
    "0.000000000000000000000000000001",
    "8.98846567431158e307",
    "1.7976931348623157e308",
    "1.7976931348623158079e308",
    "1.7976931348623159e308",
    "1e308",
    "1e309",
    "1e400",
    "-1e400",
    "1e99999999999999999999",
    "1e-99999999999999999999",
    "0e99999999999999999999",
    "2.2250738585072014e-308",
    "2.2250738585072011e-308",
    "2.225073858507201136057409796709131975934819546351645648e-308",
    "4.9406564584124654e-324",
    "2.4703282292062328e-324",
    "2.4703282292062327e-324",
    "1e-324",
    "1e-400",
    "0.00001e-320",
    "123456789e-330",
    "1.00000000000000011102230246251565404236316680908203125",
    "1.00000000000000011102230246251565404236316680908203124",
    "1.00000000000000011102230246251565404236316680908203126",
};

static void reading_agrees_with_strtod(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        double got = rn_number_double(rn_view_text(texts[i]));
        assert_int_equal(bits_of(got), bits_of(strtod(texts[i], NULL)));
    }
}

static void reading_random_numbers_agrees_with_strtod(void **state)
{
    uint64_t seed = 7;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        double d = double_of(draw(&seed));
        char text[64];
        if (!isfinite(d))
            continue;
        snprintf(text, sizeof(text), "%.*e", (int)(draw(&seed) % 25), d);
        if (bits_of(rn_number_double(rn_view_text(text))) !=
            bits_of(strtod(text, NULL)))
            fail_msg("%s", text);
    }
}

/* Midpoints between two doubles have up to 767 digits; one digit far behind
 * them must still decide. */
static void a_late_digit_decides(void **state)
{
    static const char *const heads[] = {
        "9007199254740993.", /* a midpoint; even is below */
        "9007199254740995.", /* a midpoint; even is above */
    };
    char text[2100];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        size_t len = strlen(heads[i]);
        double at = i ? 9007199254740996.0 : 9007199254740992.0;
        memset(text, '0', sizeof(text));
        memcpy(text, heads[i], len);
        assert_true(rn_number_double(rn_view_of(text, 2000)) == at);
        text[1999] = '1';
        assert_true(rn_number_double(rn_view_of(text, 2000)) ==
                    (i ? at : at + 2));
        text[15] = (char)(text[15] - 1); /* just below the midpoint */
        memset(text + len, '9', 2000 - len);
        assert_true(rn_number_double(rn_view_of(text, 2000)) ==
                    (i ? at - 2 : at));
    }
}

static void length_alone_is_no_danger(void **state)
{
    size_t len = 100000;
    char *text = malloc(len + 16);

    (void)state;
    assert_non_null(text);
    memset(text, '9', len);
    assert_true(isinf(rn_number_double(rn_view_of(text, len))));
    assert_true(rn_number_double(rn_view_of(text, 308)) == 1e308);
    memcpy(text + len, "e-99999", 8);
    assert_true(rn_number_double(rn_view_text(text)) == 10.0);
    memset(text, '0', len);
    text[1] = '.';
    memcpy(text + len, "1e99999", 8);
    assert_true(rn_number_double(rn_view_text(text)) == 1.0);
    memcpy(text + len, "1e-9999", 8);
    assert_true(rn_number_double(rn_view_text(text)) == 0.0);
    free(text);
}

static void an_integer_is_one_however_it_is_written(void **state)
{
    static const struct {
        const char *text;
        bool is_int;
        int64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "-0", true, 0 },
        { "0.000", true, 0 },
        { "0e99999999999999999999", true, 0 },
        { "7", true, 7 },
        { "-7", true, -7 },
        { "1.0", true, 1 },
        { "1e3", true, 1000 },
        { "1500e-2", true, 15 },
        { "1.5e1", true, 15 },
        { "0.00012e5", true, 12 },
        { "10000000000000000000000e-10", true, 1000000000000 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775807.000", true, INT64_MAX },
        { "9.223372036854775807e18", true, INT64_MAX },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "18446744073709551616", false, 0 },
        { "99999999999999999999999999", false, 0 },
        { "1e19", false, 0 },
        { "1e99999999999999999999", false, 0 },
        { "1e-99999999999999999999", false, 0 },
        { "0.5", false, 0 },
        { "15e-1", false, 0 },
        { "1.0000000000000000000000000000001", false, 0 },
        { "9007199254740993.5", false, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t value = 99;
        bool is_int = rn_number_int64(rn_view_text(cases[i].text), &value);
        assert_int_equal(is_int, cases[i].is_int);
        assert_true(value == (is_int ? cases[i].value : 99));
    }
}

/* As String(x) gives them in JavaScript. */
static void printing_is_javascripts(void **state)
{
    static const struct {
        double d;
        const char *text;
    } cases[] = {
        { 0, "0" },
        { -0.0, "0" },
        { 1, "1" },
        { -1, "-1" },
        { 0.1, "0.1" },
        { 0.1 + 0.2, "0.30000000000000004" },
        { 1.5, "1.5" },
        { -123.456, "-123.456" },
        { 100, "100" },
        { 123456789012345680.0, "123456789012345680" },
        { 1e20, "100000000000000000000" },
        { 123456789012345680000.0, "123456789012345680000" },
        { 1e21, "1e+21" },
        { 1.5e21, "1.5e+21" },
        { -1.25e100, "-1.25e+100" },
        { 1e-6, "0.000001" },
        { 1.5e-6, "0.0000015" },
        { 1e-7, "1e-7" },
        { 1.5e-7, "1.5e-7" },
        { 1.0 / 3, "0.3333333333333333" },
        { 2.0 / 3, "0.6666666666666666" },
        { 9007199254740991.0, "9007199254740991" },
        { 9007199254740992.0, "9007199254740992" },
        { 9007199254740994.0, "9007199254740994" },
        { 18014398509481984.0, "18014398509481984" },
        { 1.7976931348623157e308, "1.7976931348623157e+308" },
        { 2.2250738585072014e-308, "2.2250738585072014e-308" },
        { 5e-324, "5e-324" },
        { 1e-323, "1e-323" },
        { 1.5e-323, "1.5e-323" },
        { 2.225073858507201e-308, "2.225073858507201e-308" },
        { 5.684341886080802e-14, "5.684341886080802e-14" }, /* 2^-44 */
        { 4.35, "4.35" },
        { 5e-7, "5e-7" },
        { 0.000123, "0.000123" },
        { 1e23, "1e+23" },
        { 4.8726570057e288, "4.8726570057e+288" },
        { 9.5e-7, "9.5e-7" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[RN_NUMBER_TEXT_MAX];
        struct rn_view got = { text, rn_number_print(cases[i].d, text) };
        if (!rn_view_eq(got, rn_view_text(cases[i].text)))
            fail_msg("got %.*s for %s", RN_FMT(got), cases[i].text);
    }
}

static void reads_back(double d)
{
    char text[RN_NUMBER_TEXT_MAX + 1];
    size_t len = rn_number_print(d, text);

    assert_true(len < RN_NUMBER_TEXT_MAX);
    text[len] = '\0';
    if (bits_of(strtod(text, NULL)) != bits_of(d))
        fail_msg("%.17g printed as %s", d, text);
}

static void a_million_random_doubles_survive(void **state)
{
    uint64_t seed = 0x5eed5eed5eed5eedu;
    int done = 0;

    (void)state;
    while (done < 1000000) {
        double d = double_of(draw(&seed));
        if (!isfinite(d) || d == 0)
            continue;
        reads_back(d);
        done++;
    }
    print_message("%d doubles\n", done);
}

static void powers_of_two_and_ten_survive(void **state)
{
    (void)state;
    for (int e = -1074; e <= 1023; e++) {
        double d = ldexp(1, e);
        reads_back(d);
        reads_back(nextafter(d, 0) != 0 ? nextafter(d, 0) : d);
        reads_back(nextafter(d, 2 * d));
    }
    for (int e = -323; e <= 308; e++) {
        char text[16];
        snprintf(text, sizeof(text), "1e%d", e);
        reads_back(strtod(text, NULL));
    }
}

static size_t digits_in(const char *text, size_t len)
{
    size_t from = 0, to;
    size_t n = 0;

    while (text[from] == '0' || text[from] == '.' || text[from] == '-')
        from++;
    for (to = from; to < len && text[to] != 'e'; to++)
        n += text[to] != '.';
    return n;
}

/* For doubles in the middle of the range, one digit less never reads back. */
static void no_digit_is_wasted(void **state)
{
    uint64_t seed = 42;

    (void)state;
    for (int i = 0; i < 50000; i++) {
        uint64_t exponent = 1023 - 300 + draw(&seed) % 600;
        double d = double_of(exponent << 52 | draw(&seed) >> 12);
        char text[RN_NUMBER_TEXT_MAX], shorter[48];
        size_t digits;
        if (d < 1e21 && floor(d) == d)
            continue; /* zeros may fill it up to the point */
        digits = digits_in(text, rn_number_print(d, text));
        if (digits < 2)
            continue;
        snprintf(shorter, sizeof(shorter), "%.*e", (int)digits - 2, d);
        assert_true(strtod(shorter, NULL) != d);
    }
}

static void a_decimal_comma_changes_nothing(void **state)
{
    static const char *const locales[] = { "de_DE.UTF-8", "de_DE.utf8",
                                           "fr_FR.UTF-8", "pl_PL.UTF-8" };
    bool found = false;

    (void)state;
    for (size_t i = 0; i < COUNT(locales) && !found; i++)
        found = setlocale(LC_ALL, locales[i]) &&
                *localeconv()->decimal_point == ',';
    if (!found) {
        print_message("no locale with a decimal comma here\n");
        skip();
    }
    assert_true(rn_number_double(rn_view_text("0.30000000000000004")) ==
                0.1 + 0.2);
    assert_true(rn_number_double(rn_view_text("1.5")) == 1.5);
    printing_is_javascripts(state);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_agrees_with_strtod),
        cmocka_unit_test(reading_random_numbers_agrees_with_strtod),
        cmocka_unit_test(a_late_digit_decides),
        cmocka_unit_test(length_alone_is_no_danger),
        cmocka_unit_test(an_integer_is_one_however_it_is_written),
        cmocka_unit_test(printing_is_javascripts),
        cmocka_unit_test(a_million_random_doubles_survive),
        cmocka_unit_test(powers_of_two_and_ten_survive),
        cmocka_unit_test(no_digit_is_wasted),
        cmocka_unit_test(a_decimal_comma_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
