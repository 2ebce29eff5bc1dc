/* start.c -- where a reader of the change feed begins. */
#include "tools/common/start.h"

#include "base/clock.h"

#include <stdio.h>

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
    int year = 0, used = 0;
    const char *rest;

    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &c.month, &c.day,
               &c.hour, &c.minute, &c.second, &used) != 6 ||
        used != 19 || strspn(text, "0123456789-T:") < 19)
        return false;
    c.year = year;
    if (c.month < 1 || c.month > 12 || c.day < 1 ||
        c.day > rn_days_in_month(c.year, c.month) || c.hour > 23 ||
        c.minute > 59 || c.second > 59)
        return false;
    rest = text + used;
    *ms = rn_civil_seconds(&c) * 1000 + take_fraction(&rest);
    return strcmp(rest, "Z") == 0 && *ms > 0;
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
