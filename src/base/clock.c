/* clock.c -- see clock.h.
 *
 * Days are counted from the 1st of March of the year 0, so that the leap day is
 * the last of its year: a month's start is then a linear function of its
 * number, (153 m + 2) / 5, and 400 years are always 146,097 days.
 */
#include "base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

enum {
    DAY_S = 86400,
    ERA_YEARS = 400,
    ERA_DAYS = 146097,
    EPOCH_DAY = 719468, /* 1970-01-01, from 0000-03-01 */
};

/* 0000-01-01T00:00:00Z to 9999-12-31T23:59:59Z */
#define PRINT_MIN INT64_C(-62167219200)
#define PRINT_MAX INT64_C(253402300799)

static const char weekdays[7][4] = { "Sun", "Mon", "Tue", "Wed",
                                     "Thu", "Fri", "Sat" };
static const char months[12][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                    "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };

/* ---- the calendar -------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

struct rn_civil rn_civil_of(int64_t seconds)
{
    int64_t days = floor_div(seconds, DAY_S);
    int second = (int)(seconds - days * DAY_S);
    int64_t since_march = days + EPOCH_DAY;
    int64_t era = floor_div(since_march, ERA_DAYS);
    int day = (int)(since_march - era * ERA_DAYS); /* of the era */
    int year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    int month; /* 0 is March */

    day -= 365 * year + year / 4 - year / 100; /* of the year */
    month = (5 * day + 2) / 153;
    return (struct rn_civil){
        .year = era * ERA_YEARS + year + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = day - (153 * month + 2) / 5 + 1,
        .hour = second / 3600,
        .minute = second / 60 % 60,
        .second = second % 60,
        .weekday = (int)(days + 4 - floor_div(days + 4, 7) * 7),
    };
}

int64_t rn_civil_seconds(const struct rn_civil *c)
{
    int64_t year = c->year - (c->month <= 2); /* which began in March */
    int64_t era = floor_div(year, ERA_YEARS);
    int64_t of_era = year - era * ERA_YEARS;
    int64_t month = (c->month + 9) % 12;
    int64_t day = (153 * month + 2) / 5 + c->day - 1;

    assert(c->month >= 1 && c->month <= 12);
    day += of_era * 365 + of_era / 4 - of_era / 100;
    day += era * ERA_DAYS - EPOCH_DAY;
    return ((day * 24 + c->hour) * 60 + c->minute) * 60 + c->second;
}

int rn_days_in_month(int64_t year, int month)
{
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    if (month == 2)
        return leap ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

/* ---- printing ------------------------------------------------------------ */

static int64_t clamp(int64_t n, int64_t min, int64_t max)
{
    return n < min ? min : n > max ? max : n;
}

/* Decimal digits, leading zeros included. */
static char *put_digits(char *at, int64_t n, int digits)
{
    for (int i = digits; i-- > 0; n /= 10)
        at[i] = (char)('0' + n % 10);
    return at + digits;
}

static char *put(char *at, struct rn_view v)
{
    memcpy(at, v.at, v.len);
    return at + v.len;
}

static char *put_time(char *at, const struct rn_civil *c)
{
    at = put_digits(at, c->hour, 2);
    *at++ = ':';
    at = put_digits(at, c->minute, 2);
    *at++ = ':';
    return put_digits(at, c->second, 2);
}

static struct rn_view print_date(int64_t seconds, char out[RN_DATE_TEXT_MAX])
{
    struct rn_civil c = rn_civil_of(clamp(seconds, PRINT_MIN, PRINT_MAX));
    char *at = out;

    at = put(at, rn_view_text(weekdays[c.weekday]));
    at = put(at, RN_LIT(", "));
    at = put_digits(at, c.day, 2);
    *at++ = ' ';
    at = put(at, rn_view_text(months[c.month - 1]));
    *at++ = ' ';
    at = put_digits(at, c.year, 4);
    *at++ = ' ';
    at = put_time(at, &c);
    at = put(at, RN_LIT(" GMT"));
    *at = '\0';
    return rn_view_of(out, (size_t)(at - out));
}

/* Caches the last second's text: every response has a date. */
struct rn_view rn_date_print(int64_t seconds, char out[RN_DATE_TEXT_MAX])
{
    static _Thread_local struct {
        int64_t seconds;
        size_t len; /* 0: not cached yet */
        char text[RN_DATE_TEXT_MAX];
    } last;

    if (!last.len || last.seconds != seconds) {
        last.len = print_date(seconds, last.text).len;
        last.seconds = seconds;
    }
    memcpy(out, last.text, sizeof(last.text));
    return rn_view_of(out, last.len);
}

struct rn_view rn_stamp_print(int64_t us, char out[RN_STAMP_TEXT_MAX])
{
    const int64_t unit = 1000000;
    int64_t seconds;
    struct rn_civil c;
    char *at = out;

    us = clamp(us, PRINT_MIN * unit, PRINT_MAX * unit + unit - 1);
    seconds = floor_div(us, unit);
    c = rn_civil_of(seconds);
    at = put_digits(at, c.year, 4);
    *at++ = '-';
    at = put_digits(at, c.month, 2);
    *at++ = '-';
    at = put_digits(at, c.day, 2);
    *at++ = 'T';
    at = put_time(at, &c);
    *at++ = '.';
    at = put_digits(at, us - seconds * unit, 6);
    at = put(at, RN_LIT("Z"));
    *at = '\0';
    return rn_view_of(out, (size_t)(at - out));
}

/* ---- parsing ------------------------------------------------------------- */

/* Each of these removes its token from the front, or returns false if it is not
 * there. */

static bool take_text(struct rn_view *in, const char *text)
{
    size_t len = strlen(text);

    if (in->len < len || strncasecmp(in->at, text, len) != 0)
        return false;
    in->at += len;
    in->len -= len;
    return true;
}

static bool take_name(struct rn_view *in, const char names[][4], int count,
                      int *out)
{
    for (int i = 0; i < count; i++) {
        if (take_text(in, names[i])) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool take_digits(struct rn_view *in, size_t digits, int *out)
{
    int n = 0;

    if (in->len < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        if (in->at[i] < '0' || in->at[i] > '9')
            return false;
        n = n * 10 + (in->at[i] - '0');
    }
    in->at += digits;
    in->len -= digits;
    *out = n;
    return true;
}

static bool take_date(struct rn_view *in, struct rn_civil *c)
{
    int year = 0;
    bool good = take_name(in, weekdays, 7, &c->weekday) &&
                take_text(in, ", ") && take_digits(in, 2, &c->day) &&
                take_text(in, " ") && take_name(in, months, 12, &c->month) &&
                take_text(in, " ") && take_digits(in, 4, &year);

    c->year = year;
    c->month++;
    return good;
}

static bool take_time(struct rn_view *in, struct rn_civil *c)
{
    return take_digits(in, 2, &c->hour) && take_text(in, ":") &&
           take_digits(in, 2, &c->minute) && take_text(in, ":") &&
           take_digits(in, 2, &c->second);
}

static bool exists(const struct rn_civil *c)
{
    return c->day >= 1 && c->day <= rn_days_in_month(c->year, c->month) &&
           c->hour < 24 && c->minute < 60 && c->second < 60;
}

static enum rn_code parse_date(struct rn_view text, int64_t *seconds,
                               struct rn_err *err)
{
    struct rn_view in = text;
    struct rn_civil c = { 0 };
    int shown = text.len < 60 ? (int)text.len : 60;
    int weekday;

    if (!take_date(&in, &c) || !take_text(&in, " ") || !take_time(&in, &c) ||
        !(take_text(&in, " GMT") || take_text(&in, " UTC")) || in.len != 0) {
        return rn_fail(err, RN_BAD_REQUEST,
                       "'%.*s' is not a date like '%s GMT'", shown, text.at,
                       "Sun, 15 Nov 2026 20:23:10");
    }
    if (!exists(&c))
        return rn_fail(err, RN_BAD_REQUEST, "'%.*s' does not exist", shown,
                       text.at);
    weekday = rn_civil_of(rn_civil_seconds(&c)).weekday;
    if (weekday != c.weekday)
        return rn_fail(err, RN_BAD_REQUEST, "'%.*s' is a %s", shown, text.at,
                       weekdays[weekday]);
    *seconds = rn_civil_seconds(&c);
    return RN_OK;
}

/* Caches the last date: every request has one, mostly of this second. */
enum rn_code rn_date_parse(struct rn_view text, int64_t *seconds,
                           struct rn_err *err)
{
    static _Thread_local struct {
        int64_t seconds;
        size_t len;
        char text[RN_DATE_TEXT_MAX];
    } last;
    enum rn_code rc;

    if (last.len && rn_view_eq(text, rn_view_of(last.text, last.len))) {
        *seconds = last.seconds;
        return RN_OK;
    }
    rc = parse_date(text, seconds, err);
    if (!rc && text.len <= sizeof(last.text)) {
        memcpy(last.text, text.at, text.len);
        last.len = text.len;
        last.seconds = *seconds;
    }
    return rc;
}
