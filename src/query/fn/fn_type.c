/* fn_type.c -- built-in functions: type checks.  They are never undefined. */
#include "query/fn/function.h"

#include "query/fn/datetime.h"

#include <math.h>

static enum rn_code say(struct rn_value *out, bool truth)
{
    *out = rn_value_bool(truth);
    return RN_OK;
}

static enum rn_code is_defined(const struct rn_fn_args *a, struct rn_value *out)
{
    return say(out, a->at[0].kind != RN_VALUE_UNDEFINED);
}

static enum rn_code is_null(const struct rn_fn_args *a, struct rn_value *out)
{
    return say(out, a->at[0].kind == RN_VALUE_NULL);
}

static enum rn_code is_bool(const struct rn_fn_args *a, struct rn_value *out)
{
    return say(out, a->at[0].kind == RN_VALUE_BOOL);
}

static enum rn_code is_number(const struct rn_fn_args *a, struct rn_value *out)
{
    return say(out, a->at[0].kind == RN_VALUE_NUMBER);
}

static enum rn_code is_string(const struct rn_fn_args *a, struct rn_value *out)
{
    return say(out, a->at[0].kind == RN_VALUE_STRING);
}

static enum rn_code is_array(const struct rn_fn_args *a, struct rn_value *out)
{
    return say(out, a->at[0].kind == RN_VALUE_ARRAY);
}

static enum rn_code is_object(const struct rn_fn_args *a, struct rn_value *out)
{
    return say(out, a->at[0].kind == RN_VALUE_OBJECT);
}

static enum rn_code is_primitive(const struct rn_fn_args *a,
                                 struct rn_value *out)
{
    return say(out, a->at[0].kind >= RN_VALUE_NULL &&
                        a->at[0].kind <= RN_VALUE_STRING);
}

static enum rn_code is_integer(const struct rn_fn_args *a, struct rn_value *out)
{
    return say(out, a->at[0].kind == RN_VALUE_NUMBER && a->at[0].is_integer);
}

static enum rn_code is_finite(const struct rn_fn_args *a, struct rn_value *out)
{
    const struct rn_value *v = &a->at[0];

    return say(out, v->kind == RN_VALUE_NUMBER && isfinite(rn_value_real(v)));
}

static enum rn_code is_datetime(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    int64_t ticks;

    return say(out, rn_arg_is(a, 0, RN_VALUE_STRING) &&
                        rn_datetime_parse(a->at[0].text, &ticks));
}

const struct rn_function rn_functions_type[] = {
    { .name = "IS_DEFINED", .min = 1, .max = 1, .run = is_defined },
    { .name = "IS_NULL", .min = 1, .max = 1, .run = is_null },
    { .name = "IS_BOOL", .min = 1, .max = 1, .run = is_bool },
    { .name = "IS_BOOLEAN", .min = 1, .max = 1, .run = is_bool },
    { .name = "IS_NUMBER", .min = 1, .max = 1, .run = is_number },
    { .name = "IS_STRING", .min = 1, .max = 1, .run = is_string },
    { .name = "IS_ARRAY", .min = 1, .max = 1, .run = is_array },
    { .name = "IS_OBJECT", .min = 1, .max = 1, .run = is_object },
    { .name = "IS_PRIMITIVE", .min = 1, .max = 1, .run = is_primitive },
    { .name = "IS_INTEGER", .min = 1, .max = 1, .run = is_integer },
    { .name = "IS_FINITE_NUMBER", .min = 1, .max = 1, .run = is_finite },
    { .name = "IS_DATETIME", .min = 1, .max = 1, .run = is_datetime },
    { 0 },
};
