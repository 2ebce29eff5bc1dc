/* datetime.c -- parses and prints timestamps; see datetime.h. */
#include "query/fn/datetime.h"

#include <stdio.h>

/* Reads exactly `n` digits and advances past them. */
static bool take_digits(struct rn_view *in, size_t n, int *out)
{
    *out = 0;
    if (in->len < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (in->at[i] < '0' || in->at[i] > '9')
            return false;
        *out = *out * 10 + (in->at[i] - '0');
    }
    in->at += n;
    in->len -= n;
    return true;
}

static bool take(struct rn_view *in, char c)
{
    if (in->len == 0 || in->at[0] != c)
        return false;
    in->at++;
    in->len--;
    return true;
}

static bool take_fraction(struct rn_view *in, int64_t *ticks)
{
    int digits = 0, digit;

    *ticks = 0;
    while (digits < 7 && take_digits(in, 1, &digit)) {
        *ticks = *ticks * 10 + digit;
        digits++;
    }
    for (int i = digits; i < 7; i++)
        *ticks *= 10;
    return digits > 0;
}

static bool take_time(struct rn_view *in, struct rn_datetime *m)
{
    struct rn_civil *c = &m->civil;

    if (!take_digits(in, 2, &c->hour) || !take(in, ':') ||
        !take_digits(in, 2, &c->minute) || !take(in, ':') ||
        !take_digits(in, 2, &c->second))
        return false;
    if (take(in, '.') && !take_fraction(in, &m->fraction))
        return false;
    return c->hour < 24 && c->minute < 60 && c->second < 60;
}

bool rn_datetime_parse(struct rn_view text, int64_t *ticks)
{
    struct rn_datetime m = { 0 };
    struct rn_civil *c = &m.civil;
    int year;

    if (!take_digits(&text, 4, &year) || !take(&text, '-') ||
        !take_digits(&text, 2, &c->month) || !take(&text, '-') ||
        !take_digits(&text, 2, &c->day))
        return false;
    if ((take(&text, 'T') || take(&text, ' ')) && !take_time(&text, &m))
        return false;
    take(&text, 'Z');
    if (text.len || year < 1 || c->month < 1 || c->month > 12 || c->day < 1 ||
        c->day > rn_days_in_month(year, c->month))
        return false;
    c->year = year;
    *ticks = rn_datetime_ticks(&m);
    return true;
}

struct rn_datetime rn_datetime_of(int64_t ticks)
{
    int64_t seconds = ticks / RN_TICKS_PER_SECOND;
    int64_t fraction = ticks % RN_TICKS_PER_SECOND;

    if (fraction < 0) {
        fraction += RN_TICKS_PER_SECOND;
        seconds--;
    }
    return (struct rn_datetime){ rn_civil_of(seconds), fraction };
}

int64_t rn_datetime_ticks(const struct rn_datetime *m)
{
    return rn_civil_seconds(&m->civil) * RN_TICKS_PER_SECOND + m->fraction;
}

bool rn_datetime_print(int64_t ticks, char out[RN_DATETIME_TEXT_MAX],
                       size_t *len)
{
    struct rn_datetime m = rn_datetime_of(ticks);
    int n;

    if (m.civil.year < 1 || m.civil.year > 9999)
        return false;
    n = snprintf(out, RN_DATETIME_TEXT_MAX,
                 "%04d-%02d-%02dT%02d:%02d:%02d.%07dZ", (int)m.civil.year,
                 m.civil.month, m.civil.day, m.civil.hour, m.civil.minute,
                 m.civil.second, (int)m.fraction);
    *len = (size_t)n;
    return true;
}
