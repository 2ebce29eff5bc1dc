/* start.c -- where a reader of the change feed begins. */
#include "tools/common/start.h"

#include "base/clock.h"

#include <string.h>

/* Takes so many digits and, unless it is 0, what follows them. */
static bool take_number(const char **at, int digits, char after, int *out)
{
    int n = 0;

    for (int i = 0; i < digits; i++, ++*at) {
        if (**at < '0' || **at > '9')
            return false;
        n = n * 10 + (**at - '0');
    }
    if (after && *(*at)++ != after)
        return false;
    *out = n;
    return true;
}

/* ".25" is 250 ms; further digits are dropped. */
static int64_t take_fraction(const char **at)
{
    int64_t ms = 0, unit = 100;

    if (**at != '.')
        return 0;
    for (++*at; **at >= '0' && **at <= '9'; ++*at, unit /= 10)
        ms += unit * (**at - '0');
    return ms;
}

bool rn_start_parse_time(const char *text, int64_t *ms)
{
    struct rn_civil c = { 0 };
    int year = 0;

    if (!take_number(&text, 4, '-', &year) ||
        !take_number(&text, 2, '-', &c.month) ||
        !take_number(&text, 2, 'T', &c.day) ||
        !take_number(&text, 2, ':', &c.hour) ||
        !take_number(&text, 2, ':', &c.minute) ||
        !take_number(&text, 2, 0, &c.second))
        return false;
    c.year = year;
    if (c.month < 1 || c.month > 12 || c.day < 1 ||
        c.day > rn_days_in_month(c.year, c.month) || c.hour > 23 ||
        c.minute > 59 || c.second > 59)
        return false;
    *ms = rn_civil_seconds(&c) * 1000 + take_fraction(&text);
    return strcmp(text, "Z") == 0 && *ms > 0;
}

bool rn_start_parse(const char *text, runnel_feed_options *out)
{
    if (strcmp(text, "beginning") == 0) {
        out->start = RUNNEL_START_BEGINNING;
        return true;
    }
    if (strcmp(text, "now") == 0) {
        out->start = RUNNEL_START_NOW;
        return true;
    }
    out->start = RUNNEL_START_TIME;
    return rn_start_parse_time(text, &out->start_time_ms);
}
