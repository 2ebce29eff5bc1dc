/* fn_time.c -- built-in functions: timestamps: current time, parts, addition,
 * differences, bins. */
#include "query/fn/function.h"

#include "query/fn/datetime.h"
#include "query/run/run.h"

#include <stdio.h>
#include <strings.h>

enum part { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MS, MCS, NS, NO_PART };

/* Ticks per unit; a nanosecond is less than one. */
static const int64_t ticks_in[] = {
    [DAY] = 864000000000, [HOUR] = 36000000000, [MINUTE] = 600000000,
    [SECOND] = 10000000,  [MS] = 10000,         [MCS] = 10,
};

static const struct {
    const char *name;
    enum part part;
} part_names[] = {
    { "year", YEAR },     { "yyyy", YEAR },       { "yy", YEAR },
    { "month", MONTH },   { "mm", MONTH },        { "m", MONTH },
    { "day", DAY },       { "dd", DAY },          { "d", DAY },
    { "hour", HOUR },     { "hh", HOUR },         { "minute", MINUTE },
    { "mi", MINUTE },     { "n", MINUTE },        { "second", SECOND },
    { "ss", SECOND },     { "s", SECOND },        { "millisecond", MS },
    { "ms", MS },         { "microsecond", MCS }, { "mcs", MCS },
    { "nanosecond", NS }, { "ns", NS },
};

static enum part part_of(const struct rn_fn_args *a, uint32_t i)
{
    struct rn_view name;

    if (!rn_arg_is(a, i, RN_VALUE_STRING))
        return NO_PART;
    name = a->at[i].text;
    for (size_t k = 0; k < sizeof(part_names) / sizeof(part_names[0]); k++) {
        if (strlen(part_names[k].name) == name.len &&
            strncasecmp(part_names[k].name, name.at, name.len) == 0)
            return part_names[k].part;
    }
    return NO_PART;
}

static bool datetime_of(const struct rn_fn_args *a, uint32_t i, int64_t *ticks)
{
    return rn_arg_is(a, i, RN_VALUE_STRING) &&
           rn_datetime_parse(a->at[i].text, ticks);
}

static enum rn_code give(const struct rn_fn_args *a, int64_t ticks,
                         struct rn_value *out)
{
    char text[RN_DATETIME_TEXT_MAX];
    struct rn_view kept;
    size_t len;

    if (!rn_datetime_print(ticks, text, &len))
        return RN_OK;
    kept = rn_arena_copy(a->arena, rn_view_of(text, len));
    if (!kept.at)
        return RN_TOO_LARGE;
    *out = rn_value_string(kept);
    return RN_OK;
}

/* ---- current time -------------------------------------------------------- */

static int64_t now(const struct rn_fn_args *a)
{
    return a->run->limits.now_us * 10;
}

static enum rn_code now_text(const struct rn_fn_args *a, struct rn_value *out)
{
    return give(a, now(a), out);
}

static enum rn_code now_ticks(const struct rn_fn_args *a, struct rn_value *out)
{
    *out = rn_value_int(now(a));
    return RN_OK;
}

static enum rn_code now_ms(const struct rn_fn_args *a, struct rn_value *out)
{
    *out = rn_value_int(now(a) / ticks_in[MS]);
    return RN_OK;
}

/* ---- addition ------------------------------------------------------------ */

/* A day beyond the end of the month becomes its last day. */
static bool add_months(int64_t ticks, int64_t months, int64_t *out)
{
    struct rn_datetime m = rn_datetime_of(ticks);
    int64_t total;
    int days;

    if (months > 200000 || months < -200000)
        return false;
    total = m.civil.year * 12 + (m.civil.month - 1) + months;
    if (total < 12 || total >= 120000)
        return false;
    m.civil.year = total / 12;
    m.civil.month = (int)(total % 12) + 1;
    days = rn_days_in_month(m.civil.year, m.civil.month);
    m.civil.day = m.civil.day > days ? days : m.civil.day;
    *out = rn_datetime_ticks(&m);
    return true;
}

static bool add(int64_t ticks, enum part part, int64_t n, int64_t *out)
{
    int64_t more;

    if (part == YEAR)
        return n < 20000 && n > -20000 && add_months(ticks, n * 12, out);
    if (part == MONTH)
        return add_months(ticks, n, out);
    if (part == NS)
        more = n / 100;
    else if (part == NO_PART ||
             __builtin_mul_overflow(n, ticks_in[part], &more))
        return false;
    return !__builtin_add_overflow(ticks, more, out);
}

static enum rn_code fn_add(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t n, ticks;

    if (!rn_arg_int(a, 1, &n) || !datetime_of(a, 2, &ticks) ||
        !add(ticks, part_of(a, 0), n, &ticks))
        return RN_OK;
    return give(a, ticks, out);
}

static enum rn_code fn_now(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t n = 0, ticks = now(a);

    if (a->count &&
        (!rn_arg_int(a, 1, &n) || !add(ticks, part_of(a, 0), n, &ticks)))
        return RN_OK;
    return give(a, ticks, out);
}

static enum rn_code fn_ago(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t n, ticks = now(a);

    if (!rn_arg_int(a, 1, &n) || n == INT64_MIN ||
        !add(ticks, part_of(a, 0), -n, &ticks))
        return RN_OK;
    return give(a, ticks, out);
}

/* ---- parts and differences ----------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static enum rn_code part_value(int64_t ticks, enum part part,
                               struct rn_value *out)
{
    struct rn_datetime m = rn_datetime_of(ticks);
    const int64_t values[] = {
        [YEAR] = m.civil.year,     [MONTH] = m.civil.month,
        [DAY] = m.civil.day,       [HOUR] = m.civil.hour,
        [MINUTE] = m.civil.minute, [SECOND] = m.civil.second,
        [MS] = m.fraction / 10000, [MCS] = m.fraction / 10,
        [NS] = m.fraction * 100,
    };

    if (part != NO_PART)
        *out = rn_value_int(values[part]);
    return RN_OK;
}

static enum rn_code fn_part(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t ticks;

    return datetime_of(a, 1, &ticks) ? part_value(ticks, part_of(a, 0), out)
                                     : RN_OK;
}

static enum rn_code fn_year(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t ticks;

    return datetime_of(a, 0, &ticks) ? part_value(ticks, YEAR, out) : RN_OK;
}

static enum rn_code fn_month(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t ticks;

    return datetime_of(a, 0, &ticks) ? part_value(ticks, MONTH, out) : RN_OK;
}

static enum rn_code fn_day(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t ticks;

    return datetime_of(a, 0, &ticks) ? part_value(ticks, DAY, out) : RN_OK;
}

/* The number of boundaries of the part between the two timestamps. */
static enum rn_code fn_diff(const struct rn_fn_args *a, struct rn_value *out)
{
    enum part part = part_of(a, 0);
    struct rn_datetime x, y;
    int64_t from, to, ns;

    if (part == NO_PART || !datetime_of(a, 1, &from) || !datetime_of(a, 2, &to))
        return RN_OK;
    x = rn_datetime_of(from);
    y = rn_datetime_of(to);
    if (part == YEAR)
        *out = rn_value_int(y.civil.year - x.civil.year);
    else if (part == MONTH) {
        *out = rn_value_int((y.civil.year - x.civil.year) * 12 +
                            (y.civil.month - x.civil.month));
    } else if (part == NS) {
        *out = __builtin_mul_overflow(to - from, 100, &ns)
                   ? rn_value_double((double)(to - from) * 100)
                   : rn_value_int(ns);
    } else {
        *out = rn_value_int(floor_div(to, ticks_in[part]) -
                            floor_div(from, ticks_in[part]));
    }
    return RN_OK;
}

static enum rn_code fn_bin(const struct rn_fn_args *a, struct rn_value *out)
{
    enum part part = part_of(a, 1);
    int64_t ticks, size = 1, origin = 0, width, bin;

    if (!datetime_of(a, 0, &ticks) || part < DAY || part == NO_PART ||
        (a->count > 2 && (!rn_arg_int(a, 2, &size) || size <= 0)) ||
        (a->count > 3 && (!datetime_of(a, 3, &origin) ||
                          rn_datetime_of(origin).civil.year < 1601)))
        return RN_OK;
    if (part == NS)
        width = size < 100 ? 1 : size / 100;
    else if (__builtin_mul_overflow(size, ticks_in[part], &width))
        return RN_OK;
    /* A bin before the origin may begin below the least number of ticks. */
    return __builtin_add_overflow(
               origin, floor_div(ticks - origin, width) * width, &bin)
               ? RN_OK
               : give(a, bin, out);
}

/* ---- formats ------------------------------------------------------------- */

/* Prints a run of `n` equal format letters; 0 if they are not a specifier. */
static int print_letters(const struct rn_datetime *m, char letter, int n,
                         char out[16])
{
    int digits;

    switch (letter) {
    case 'y':
        return snprintf(out, 16, "%0*d", n < 8 ? n : 8,
                        (int)(n > 2 ? m->civil.year : m->civil.year % 100));
    case 'M':
        return snprintf(out, 16, "%0*d", n > 1 ? 2 : 1, m->civil.month);
    case 'd':
        return snprintf(out, 16, "%0*d", n > 1 ? 2 : 1, m->civil.day);
    case 'H':
        return snprintf(out, 16, "%0*d", n > 1 ? 2 : 1, m->civil.hour);
    case 'm':
        return snprintf(out, 16, "%0*d", n > 1 ? 2 : 1, m->civil.minute);
    case 's':
        return snprintf(out, 16, "%0*d", n > 1 ? 2 : 1, m->civil.second);
    case 'f':
    case 'F':
        (void)snprintf(out, 16, "%07d", (int)m->fraction);
        digits = n < 7 ? n : 7;
        while (letter == 'F' && digits > 0 && out[digits - 1] == '0')
            digits--;
        return digits;
    default:
        return 0;
    }
}

/* As in .NET: format specifiers, with \\ before literal letters. */
static enum rn_code fn_format(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_view format;
    struct rn_datetime m;
    int64_t ticks;
    size_t n = 0, run;
    char *to;

    if (!datetime_of(a, 0, &ticks) || !rn_arg_is(a, 1, RN_VALUE_STRING))
        return RN_OK;
    m = rn_datetime_of(ticks);
    format = a->at[1].text;
    to = rn_arena_alloc(a->arena, format.len * 2 + 16); /* d may give two */
    if (!to)
        return RN_TOO_LARGE;
    for (size_t i = 0; i < format.len; i += run) {
        char c = format.at[i], text[16];
        bool is_known = c && strchr("yMdHmsfF", c);
        for (run = 1; is_known && i + run < format.len && run < 8 &&
                      format.at[i + run] == c;)
            run++;
        if (is_known) {
            int len = print_letters(&m, c, (int)run, text);
            memcpy(to + n, text, (size_t)len);
            n += (size_t)len;
        } else if (c == '\\' && i + 1 < format.len) {
            to[n++] = format.at[i + 1];
            run = 2;
        } else {
            to[n++] = c;
        }
    }
    *out = rn_value_string(rn_view_of(to, n));
    return rn_run_step(a->run, n / 64);
}

/* ---- conversions --------------------------------------------------------- */

static enum rn_code fn_from_parts(const struct rn_fn_args *a,
                                  struct rn_value *out)
{
    int64_t v[7] = { 0 };
    struct rn_datetime m;

    for (uint32_t i = 0; i < a->count; i++) {
        if (!rn_arg_int(a, i, &v[i]))
            return RN_OK;
    }
    if (v[0] < 1 || v[0] > 9999 || v[1] < 1 || v[1] > 12 || v[2] < 1 ||
        v[2] > rn_days_in_month(v[0], (int)v[1]) || v[3] < 0 || v[3] > 23 ||
        v[4] < 0 || v[4] > 59 || v[5] < 0 || v[5] > 59 || v[6] < 0 ||
        v[6] >= RN_TICKS_PER_SECOND)
        return RN_OK;
    m = (struct rn_datetime){
        .civil = { .year = v[0],
                   .month = (int)v[1],
                   .day = (int)v[2],
                   .hour = (int)v[3],
                   .minute = (int)v[4],
                   .second = (int)v[5] },
        .fraction = v[6],
    };
    return give(a, rn_datetime_ticks(&m), out);
}

static enum rn_code to_ticks(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t ticks;

    if (datetime_of(a, 0, &ticks))
        *out = rn_value_int(ticks);
    return RN_OK;
}

static enum rn_code to_ms(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t ticks;

    if (datetime_of(a, 0, &ticks))
        *out = rn_value_int(floor_div(ticks, ticks_in[MS]));
    return RN_OK;
}

static enum rn_code from_ticks(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t ticks;

    return rn_arg_int(a, 0, &ticks) ? give(a, ticks, out) : RN_OK;
}

static enum rn_code from_ms(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t ms, ticks;

    if (!rn_arg_int(a, 0, &ms) ||
        __builtin_mul_overflow(ms, ticks_in[MS], &ticks))
        return RN_OK;
    return give(a, ticks, out);
}

const struct rn_function rn_functions_time[] = {
    { .name = "GetCurrentDateTime", .run = now_text, .is_volatile = true },
    { .name = "GetCurrentTicks", .run = now_ticks, .is_volatile = true },
    { .name = "GetCurrentTimestamp", .run = now_ms, .is_volatile = true },
    { .name = "GetCurrentDateTimeStatic",
      .run = now_text,
      .is_volatile = true },
    { .name = "GetCurrentTicksStatic", .run = now_ticks, .is_volatile = true },
    { .name = "GetCurrentTimestampStatic", .run = now_ms, .is_volatile = true },
    { .name = "NOW",
      .max = 2,
      .is_all_or_none = true,
      .run = fn_now,
      .is_volatile = true },
    { .name = "AGO", .min = 2, .max = 2, .run = fn_ago, .is_volatile = true },
    { .name = "DateTimeAdd", .min = 3, .max = 3, .run = fn_add },
    { .name = "DateTimeDiff", .min = 3, .max = 3, .run = fn_diff },
    { .name = "DateTimePart", .min = 2, .max = 2, .run = fn_part },
    { .name = "DateTimeBin", .min = 2, .max = 4, .run = fn_bin },
    { .name = "DateTimeFormat", .min = 2, .max = 2, .run = fn_format },
    { .name = "DateTimeFromParts", .min = 3, .max = 7, .run = fn_from_parts },
    { .name = "DateTimeToTicks", .min = 1, .max = 1, .run = to_ticks },
    { .name = "DateTimeToTimestamp", .min = 1, .max = 1, .run = to_ms },
    { .name = "TicksToDateTime", .min = 1, .max = 1, .run = from_ticks },
    { .name = "TimestampToDateTime", .min = 1, .max = 1, .run = from_ms },
    { .name = "YEAR", .min = 1, .max = 1, .run = fn_year },
    { .name = "MONTH", .min = 1, .max = 1, .run = fn_month },
    { .name = "DAY", .min = 1, .max = 1, .run = fn_day },
    { 0 },
};
