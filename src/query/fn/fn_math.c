/* fn_math.c -- built-in functions: real numbers. */
#include "query/fn/function.h"

#include "query/run/run.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* True, with the number, if the argument is a number. */
static bool number(const struct rn_fn_args *a, uint32_t i, double *out)
{
    if (!rn_arg_is(a, i, RN_VALUE_NUMBER))
        return false;
    *out = rn_value_real(&a->at[i]);
    return true;
}

static enum rn_code give(struct rn_value *out, double real)
{
    *out = rn_value_double(real);
    return RN_OK;
}

/* Integers stay exact: a double would lose digits beyond 2^53. */
static enum rn_code fn_abs(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    if (!number(a, 0, &x))
        return RN_OK;
    if (!a->at[0].is_integer || a->at[0].integer == INT64_MIN)
        return give(out, fabs(x));
    *out = rn_value_int(a->at[0].integer < 0 ? -a->at[0].integer
                                             : a->at[0].integer);
    return RN_OK;
}

/* Rounding returns an integer unchanged, for the same reason. */
static bool keeps_whole(const struct rn_fn_args *a, struct rn_value *out)
{
    if (!rn_arg_is(a, 0, RN_VALUE_NUMBER) || !a->at[0].is_integer)
        return false;
    *out = a->at[0];
    return true;
}

static enum rn_code fn_acos(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, acos(x)) : RN_OK;
}

static enum rn_code fn_asin(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, asin(x)) : RN_OK;
}

static enum rn_code fn_atan(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, atan(x)) : RN_OK;
}

static enum rn_code fn_ceiling(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    if (keeps_whole(a, out))
        return RN_OK;
    return number(a, 0, &x) ? give(out, ceil(x)) : RN_OK;
}

static enum rn_code fn_cos(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, cos(x)) : RN_OK;
}

static enum rn_code fn_cot(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, 1 / tan(x)) : RN_OK;
}

static enum rn_code fn_degrees(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, x * 180 / pi) : RN_OK;
}

static enum rn_code fn_exp(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, exp(x)) : RN_OK;
}

static enum rn_code fn_floor(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    if (keeps_whole(a, out))
        return RN_OK;
    return number(a, 0, &x) ? give(out, floor(x)) : RN_OK;
}

static enum rn_code fn_log10(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, log10(x)) : RN_OK;
}

static enum rn_code fn_radians(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, x * pi / 180) : RN_OK;
}

static enum rn_code fn_sign(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, (x > 0) - (x < 0)) : RN_OK;
}

static enum rn_code fn_sin(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, sin(x)) : RN_OK;
}

static enum rn_code fn_sqrt(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, sqrt(x)) : RN_OK;
}

static enum rn_code fn_square(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, x * x) : RN_OK;
}

static enum rn_code fn_tan(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    return number(a, 0, &x) ? give(out, tan(x)) : RN_OK;
}

static enum rn_code fn_trunc(const struct rn_fn_args *a, struct rn_value *out)
{
    double x;

    if (keeps_whole(a, out))
        return RN_OK;
    return number(a, 0, &x) ? give(out, trunc(x)) : RN_OK;
}

/* Rounds half away from zero.  A number so large that it has no digits after
 * the requested position is returned unchanged. */
static enum rn_code fn_round(const struct rn_fn_args *a, struct rn_value *out)
{
    double x, scale;
    int64_t digits = 0;

    if (!number(a, 0, &x) || (a->count > 1 && !rn_arg_int(a, 1, &digits)))
        return RN_OK;
    if (digits >= 0 && keeps_whole(a, out))
        return RN_OK;
    if (digits == 0)
        return give(out, round(x));
    if (digits > 15 || digits < -308)
        return give(out, digits > 0 ? x : 0);
    scale = pow(10, (double)(digits < 0 ? -digits : digits));
    if (digits > 0 && fabs(x) * scale >= 0x1p52)
        return give(out, x);
    return give(out, digits > 0 ? round(x * scale) / scale
                                : round(x / scale) * scale);
}

static enum rn_code fn_power(const struct rn_fn_args *a, struct rn_value *out)
{
    double x, y;

    return number(a, 0, &x) && number(a, 1, &y) ? give(out, pow(x, y)) : RN_OK;
}

static enum rn_code fn_atn2(const struct rn_fn_args *a, struct rn_value *out)
{
    double y, x;

    return number(a, 0, &y) && number(a, 1, &x) ? give(out, atan2(y, x))
                                                : RN_OK;
}

static enum rn_code fn_log(const struct rn_fn_args *a, struct rn_value *out)
{
    double x, base;

    if (!number(a, 0, &x))
        return RN_OK;
    if (a->count == 1)
        return give(out, log(x));
    if (!number(a, 1, &base))
        return RN_OK;
    return give(out, base == 10  ? log10(x)
                     : base == 2 ? log2(x)
                                 : log(x) / log(base));
}

static enum rn_code fn_pi(const struct rn_fn_args *a, struct rn_value *out)
{
    (void)a;
    return give(out, pi);
}

static enum rn_code fn_rand(const struct rn_fn_args *a, struct rn_value *out)
{
    uint64_t bits = rn_prng_next(&a->run->prng) >> 11;

    return give(out, (double)bits / 9007199254740992.0);
}

const struct rn_function rn_functions_math[] = {
    { .name = "ABS", .min = 1, .max = 1, .run = fn_abs },
    { .name = "ACOS", .min = 1, .max = 1, .run = fn_acos },
    { .name = "ASIN", .min = 1, .max = 1, .run = fn_asin },
    { .name = "ATAN", .min = 1, .max = 1, .run = fn_atan },
    { .name = "CEILING", .min = 1, .max = 1, .run = fn_ceiling },
    { .name = "COS", .min = 1, .max = 1, .run = fn_cos },
    { .name = "COT", .min = 1, .max = 1, .run = fn_cot },
    { .name = "DEGREES", .min = 1, .max = 1, .run = fn_degrees },
    { .name = "EXP", .min = 1, .max = 1, .run = fn_exp },
    { .name = "FLOOR", .min = 1, .max = 1, .run = fn_floor },
    { .name = "LOG10", .min = 1, .max = 1, .run = fn_log10 },
    { .name = "RADIANS", .min = 1, .max = 1, .run = fn_radians },
    { .name = "SIGN", .min = 1, .max = 1, .run = fn_sign },
    { .name = "SIN", .min = 1, .max = 1, .run = fn_sin },
    { .name = "SQRT", .min = 1, .max = 1, .run = fn_sqrt },
    { .name = "SQUARE", .min = 1, .max = 1, .run = fn_square },
    { .name = "TAN", .min = 1, .max = 1, .run = fn_tan },
    { .name = "TRUNC", .min = 1, .max = 1, .run = fn_trunc },
    { .name = "ROUND", .min = 1, .max = 2, .run = fn_round },
    { .name = "POWER", .min = 2, .max = 2, .run = fn_power },
    { .name = "ATN2", .min = 2, .max = 2, .run = fn_atn2 },
    { .name = "LOG", .min = 1, .max = 2, .run = fn_log },
    { .name = "PI", .run = fn_pi },
    { .name = "RAND", .run = fn_rand, .is_volatile = true },
    { 0 },
};
