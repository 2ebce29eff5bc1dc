/* fn_number.c -- built-in functions: 64-bit integers, and bins. */
#include "query/fn/function.h"
#include "query/run/value_rid.h"

#include <math.h>

enum whole_op { ADD, SUB, MUL, DIV, MOD, AND, OR, XOR, LEFT, RIGHT };

/* Overflow wraps; division by zero yields undefined. */
static enum rn_code whole(const struct rn_fn_args *a, enum whole_op op,
                          struct rn_value *out)
{
    int64_t x, y;
    uint64_t ux, uy;

    if (!rn_arg_int(a, 0, &x) || !rn_arg_int(a, 1, &y))
        return RN_OK;
    ux = (uint64_t)x;
    uy = (uint64_t)y;
    if ((op == DIV || op == MOD) && y == 0)
        return RN_OK;
    if ((op == DIV || op == MOD) && y == -1) { /* INT64_MIN / -1 traps */
        *out = rn_value_int(op == DIV ? (int64_t)(0 - ux) : 0);
        return RN_OK;
    }
    switch (op) {
    case ADD:
        *out = rn_value_int((int64_t)(ux + uy));
        break;
    case SUB:
        *out = rn_value_int((int64_t)(ux - uy));
        break;
    case MUL:
        *out = rn_value_int((int64_t)(ux * uy));
        break;
    case DIV:
        *out = rn_value_int(x / y);
        break;
    case MOD:
        *out = rn_value_int(x % y);
        break;
    case AND:
        *out = rn_value_int((int64_t)(ux & uy));
        break;
    case OR:
        *out = rn_value_int((int64_t)(ux | uy));
        break;
    case XOR:
        *out = rn_value_int((int64_t)(ux ^ uy));
        break;
    case LEFT:
        *out = rn_value_int((int64_t)(ux << (uy & 63)));
        break;
    case RIGHT:
        *out = rn_value_int(x >> (uy & 63));
        break;
    }
    return RN_OK;
}

static enum rn_code int_add(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, ADD, out);
}

static enum rn_code int_sub(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, SUB, out);
}

static enum rn_code int_mul(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, MUL, out);
}

static enum rn_code int_div(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, DIV, out);
}

static enum rn_code int_mod(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, MOD, out);
}

static enum rn_code int_and(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, AND, out);
}

static enum rn_code int_or(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, OR, out);
}

static enum rn_code int_xor(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, XOR, out);
}

static enum rn_code int_left(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, LEFT, out);
}

static enum rn_code int_right(const struct rn_fn_args *a, struct rn_value *out)
{
    return whole(a, RIGHT, out);
}

static enum rn_code int_not(const struct rn_fn_args *a, struct rn_value *out)
{
    int64_t x;

    if (rn_arg_int(a, 0, &x))
        *out = rn_value_int(~x);
    return RN_OK;
}

/* The bin is rounded to the digits of its size: 37.75, not 37.7500001. */
static enum rn_code number_bin(const struct rn_fn_args *a, struct rn_value *out)
{
    double x, size = 1, bin, scale;

    if (!rn_arg_is(a, 0, RN_VALUE_NUMBER) ||
        (a->count > 1 && !rn_arg_is(a, 1, RN_VALUE_NUMBER)))
        return RN_OK;
    x = rn_value_real(&a->at[0]);
    if (a->count > 1)
        size = rn_value_real(&a->at[1]);
    if (size == 0 || !isfinite(size) || !isfinite(x))
        return RN_OK;
    bin = floor(x / size) * size;
    scale = pow(10, fmin(15, fmax(0, 3 - floor(log10(fabs(size))))));
    *out = rn_value_double(fabs(bin) < 1e12 / scale ? round(bin * scale) / scale
                                                    : bin);
    return RN_OK;
}

/* The number in the _rid of a document; any other value has none. */
static enum rn_code document_id(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    uint64_t number;
    bool found;
    enum rn_code rc = rn_value_rid(&a->at[0], a->arena, &number, &found);

    if (!rc && found)
        *out = rn_value_int((int64_t)number);
    return rc;
}

const struct rn_function rn_functions_number[] = {
    { .name = "DOCUMENTID", .min = 1, .max = 1, .run = document_id },
    { .name = "IntAdd", .min = 2, .max = 2, .run = int_add },
    { .name = "IntSub", .min = 2, .max = 2, .run = int_sub },
    { .name = "IntMul", .min = 2, .max = 2, .run = int_mul },
    { .name = "IntDiv", .min = 2, .max = 2, .run = int_div },
    { .name = "IntMod", .min = 2, .max = 2, .run = int_mod },
    { .name = "IntBitAnd", .min = 2, .max = 2, .run = int_and },
    { .name = "IntBitOr", .min = 2, .max = 2, .run = int_or },
    { .name = "IntBitXor", .min = 2, .max = 2, .run = int_xor },
    { .name = "IntBitNot", .min = 1, .max = 1, .run = int_not },
    { .name = "IntBitLeftShift", .min = 2, .max = 2, .run = int_left },
    { .name = "IntBitRightShift", .min = 2, .max = 2, .run = int_right },
    { .name = "IntBitwiseAnd", .min = 2, .max = 2, .run = int_and },
    { .name = "IntBitwiseOr", .min = 2, .max = 2, .run = int_or },
    { .name = "IntBitwiseXor", .min = 2, .max = 2, .run = int_xor },
    { .name = "IntBitwiseNot", .min = 1, .max = 1, .run = int_not },
    { .name = "IntBitwiseLeftShift", .min = 2, .max = 2, .run = int_left },
    { .name = "IntBitwiseRightShift", .min = 2, .max = 2, .run = int_right },
    { .name = "NumberBin", .min = 1, .max = 2, .run = number_bin },
    { 0 },
};
