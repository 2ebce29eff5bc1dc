/* base_clock_test.c -- the calendar is right, and dates have one form.
 *
 * The C library's calendar is the oracle: every day of 800 years (two whole
 * cycles) and instants all over the range are compared with it.  Texts are
 * checked against instants computed elsewhere; refused ones differ from a good
 * one in the way named beside them.
 */
#include "base/clock.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static void assert_same_as_libc(int64_t seconds)
{
    struct rn_civil c = rn_civil_of(seconds);
    time_t t = (time_t)seconds;
    struct tm tm;

    assert_non_null(gmtime_r(&t, &tm));
    assert_int_equal(c.year, tm.tm_year + INT64_C(1900));
    assert_int_equal(c.month, tm.tm_mon + 1);
    assert_int_equal(c.day, tm.tm_mday);
    assert_int_equal(c.hour, tm.tm_hour);
    assert_int_equal(c.minute, tm.tm_min);
    assert_int_equal(c.second, tm.tm_sec);
    assert_int_equal(c.weekday, tm.tm_wday);
    assert_int_equal(rn_civil_seconds(&c), seconds);
}

static void every_day_of_two_cycles_is_right(void **state)
{
    const int64_t day = 86400;

    (void)state;
    for (int64_t i = 0; i < 2 * 146097; i++)
        assert_same_as_libc((i - 146097) * day + i % day);
}

static void instants_far_away_are_right(void **state)
{
    const uint64_t span = UINT64_C(67000000000000000); /* libc's years end */
    struct rn_prng prng;

    (void)state;
    rn_prng_init(&prng, 5);
    for (int i = 0; i < 20000; i++) {
        uint64_t range = i % 2 ? span : UINT64_C(600000000000);
        int64_t t = (int64_t)rn_prng_below(&prng, range);
        assert_same_as_libc(t - (int64_t)(range / 2));
    }
}

static void months_have_their_days(void **state)
{
    static const int days[] = {
        31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
    };

    (void)state;
    for (int m = 1; m <= 12; m++)
        assert_int_equal(rn_days_in_month(2023, m), days[m - 1]);
    assert_int_equal(rn_days_in_month(2024, 2), 29);
    assert_int_equal(rn_days_in_month(1900, 2), 28);
    assert_int_equal(rn_days_in_month(2000, 2), 29);
    assert_int_equal(rn_days_in_month(0, 2), 29);
}

static const struct {
    int64_t seconds;
    const char *date, *stamp;
} known[] = {
    { 0, "Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00.000000Z" },
    { -1, "Wed, 31 Dec 1969 23:59:59 GMT", "1969-12-31T23:59:59.000000Z" },
    { 951827696, "Tue, 29 Feb 2000 12:34:56 GMT",
      "2000-02-29T12:34:56.000000Z" },
    { 1794774190, "Sun, 15 Nov 2026 20:23:10 GMT",
      "2026-11-15T20:23:10.000000Z" },
    { -2203891201, "Wed, 28 Feb 1900 23:59:59 GMT",
      "1900-02-28T23:59:59.000000Z" },
    { 4107542400, "Mon, 01 Mar 2100 00:00:00 GMT",
      "2100-03-01T00:00:00.000000Z" },
    { -62135596800, "Mon, 01 Jan 0001 00:00:00 GMT",
      "0001-01-01T00:00:00.000000Z" },
    { 253402300799, "Fri, 31 Dec 9999 23:59:59 GMT",
      "9999-12-31T23:59:59.000000Z" },
};

static void known_instants_print_and_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        char date[RN_DATE_TEXT_MAX], stamp[RN_STAMP_TEXT_MAX];
        int64_t back = 1;
        struct rn_view v = rn_date_print(known[i].seconds, date);
        assert_string_equal(date, known[i].date);
        assert_int_equal(v.len, RN_DATE_TEXT_MAX - 1);
        assert_int_equal(rn_date_parse(v, &back, NULL), RN_OK);
        assert_int_equal(back, known[i].seconds);
        v = rn_stamp_print(known[i].seconds * 1000000, stamp);
        assert_string_equal(stamp, known[i].stamp);
        assert_int_equal(v.len, RN_STAMP_TEXT_MAX - 1);
    }
}

static void stamps_show_microseconds(void **state)
{
    char out[RN_STAMP_TEXT_MAX];

    (void)state;
    rn_stamp_print(INT64_C(1794774190123456), out);
    assert_string_equal(out, "2026-11-15T20:23:10.123456Z");
    rn_stamp_print(-1, out);
    assert_string_equal(out, "1969-12-31T23:59:59.999999Z");
}

static void years_of_five_digits_do_not_overflow(void **state)
{
    char date[RN_DATE_TEXT_MAX], stamp[RN_STAMP_TEXT_MAX];

    (void)state;
    rn_date_print(INT64_MAX, date);
    assert_string_equal(date, "Fri, 31 Dec 9999 23:59:59 GMT");
    rn_date_print(INT64_MIN, date);
    assert_string_equal(date, "Sat, 01 Jan 0000 00:00:00 GMT");
    rn_stamp_print(INT64_MAX, stamp);
    assert_string_equal(stamp, "9999-12-31T23:59:59.999999Z");
    rn_stamp_print(INT64_MIN, stamp);
    assert_string_equal(stamp, "0000-01-01T00:00:00.000000Z");
}

static void clients_spell_dates_in_their_ways(void **state)
{
    static const char *const good[] = {
        "Tue, 14 Nov 2023 22:13:20 GMT",
        "Tue, 14 Nov 2023 22:13:20 UTC", /* Go */
        "tue, 14 nov 2023 22:13:20 gmt", /* as it is signed */
        "TUE, 14 NOV 2023 22:13:20 GMT",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t seconds = 0;
        assert_int_equal(rn_date_parse(rn_view_text(good[i]), &seconds, NULL),
                         RN_OK);
        assert_int_equal(seconds, 1700000000);
    }
}

static void one_flaw_is_enough_to_be_refused(void **state)
{
    static const struct {
        const char *flaw, *text;
    } bad[] = {
        { "empty", "" },
        { "RFC 850", "Tuesday, 14-Nov-23 22:13:20 GMT" },
        { "asctime", "Tue Nov 14 22:13:20 2023" },
        { "RFC 3339", "2023-11-14T22:13:20Z" },
        { "no zone", "Tue, 14 Nov 2023 22:13:20" },
        { "another zone", "Tue, 14 Nov 2023 22:13:20 EST" },
        { "numeric zone", "Tue, 14 Nov 2023 22:13:20 +0000" },
        { "trailing byte", "Tue, 14 Nov 2023 22:13:20 GMT " },
        { "leading blank", " Tue, 14 Nov 2023 22:13:20 GMT" },
        { "two blanks", "Tue, 14  Nov 2023 22:13:20 GMT" },
        { "no comma", "Tue 14 Nov 2023 22:13:20 GMT" },
        { "one digit for the day", "Tue, 7 Nov 2023 22:13:20 GMT" },
        { "two digits for the year", "Tue, 14 Nov 23 22:13:20 GMT" },
        { "a month of no calendar", "Tue, 14 Nob 2023 22:13:20 GMT" },
        { "a day of no week", "Tux, 14 Nov 2023 22:13:20 GMT" },
        { "the wrong weekday", "Wed, 14 Nov 2023 22:13:20 GMT" },
        { "day zero", "Tue, 00 Nov 2023 22:13:20 GMT" },
        { "31 November", "Fri, 31 Nov 2023 22:13:20 GMT" },
        { "29 February", "Wed, 29 Feb 2023 22:13:20 GMT" },
        { "hour 24", "Tue, 14 Nov 2023 24:13:20 GMT" },
        { "minute 60", "Tue, 14 Nov 2023 22:60:20 GMT" },
        { "second 60", "Tue, 14 Nov 2023 22:13:60 GMT" },
        { "a sign", "Tue, 14 Nov 2023 +2:13:20 GMT" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rn_err err = { 0 };
        int64_t seconds = 7;
        if (rn_date_parse(rn_view_text(bad[i].text), &seconds, &err) !=
            RN_BAD_REQUEST)
            fail_msg("accepted although %s: '%s'", bad[i].flaw, bad[i].text);
        assert_int_equal(err.code, RN_BAD_REQUEST);
        assert_true(err.text[0] == '\'');
        assert_int_equal(seconds, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_of_two_cycles_is_right),
        cmocka_unit_test(instants_far_away_are_right),
        cmocka_unit_test(months_have_their_days),
        cmocka_unit_test(known_instants_print_and_parse),
        cmocka_unit_test(stamps_show_microseconds),
        cmocka_unit_test(years_of_five_digits_do_not_overflow),
        cmocka_unit_test(clients_spell_dates_in_their_ways),
        cmocka_unit_test(one_flaw_is_enough_to_be_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
