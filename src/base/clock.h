/* clock.h -- calendar dates: conversion, printing and parsing (RFC 1123, RFC
 * 3339).
 *
 * Counts since 1970-01-01T00:00:00Z go in and out; the calendar is the
 * proleptic Gregorian one, without leap seconds.  Nothing here reads a clock:
 * that is rn_wall_ms.
 *
 * Values only; no allocation, no locale, no time zones; any thread.
 */
#ifndef RN_BASE_CLOCK_H
#define RN_BASE_CLOCK_H

#include "base/mem.h"

#include <stdint.h>

struct rn_civil {
    int64_t year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
    int hour, minute, second;
    int weekday; /* 0 is Sunday; ignored by rn_civil_seconds */
};

struct rn_civil rn_civil_of(int64_t seconds);
/* The fields must be valid; the day, within its month. */
int64_t rn_civil_seconds(const struct rn_civil *c);
int rn_days_in_month(int64_t year, int month);

enum {
    RN_DATE_TEXT_MAX = 30,  /* "Sun, 15 Nov 2026 20:23:10 GMT" and NUL */
    RN_STAMP_TEXT_MAX = 28, /* "2026-11-15T20:23:10.123456Z" and NUL */
};

/* Both have four digits for the year: instants outside the years 0 to 9999 are
 * printed as the nearest within. */

/* RFC 1123, as in Date and x-ms-date. */
struct rn_view rn_date_print(int64_t seconds, char out[RN_DATE_TEXT_MAX]);
/* RFC 3339 with microseconds. */
struct rn_view rn_stamp_print(int64_t us, char out[RN_STAMP_TEXT_MAX]);

/* Parses what rn_date_print writes, in any case of letters, and with UTC for
 * GMT because Go's client sends that.  The older forms of HTTP (RFC 850,
 * asctime) and a wrong weekday are refused: RN_BAD_REQUEST. */
enum rn_code rn_date_parse(struct rn_view text, int64_t *seconds,
                           struct rn_err *err) RN_CHECK;

#endif
