/* eval.c -- the expression evaluator.
 *
 * There are no type errors: an operation on unsuitable types yields undefined.
 */
#include "query/run/eval.h"

#include "query/fn/function.h"
#include "query/fn/like.h"
#include "query/run/subquery.h"

#include <math.h>

enum {
    BYTES_PER_STEP = 128, /* of strings that a function is given */
};

/* ---- operators ----------------------------------------------------------- */

/* As in JavaScript: the low 32 bits of the integer part. */
static int32_t to_int32(const struct rn_value *v)
{
    double real = rn_value_real(v);

    if (v->is_integer)
        return (int32_t)(uint32_t)(uint64_t)v->integer;
    if (!isfinite(real))
        return 0;
    real = fmod(trunc(real), 4294967296.0);
    return (int32_t)(uint32_t)(int64_t)real;
}

static struct rn_value bitwise(uint8_t op, int32_t x, int32_t y)
{
    uint32_t ux = (uint32_t)x, uy = (uint32_t)y, by = uy & 31;

    switch (op) {
    case RN_OP_BIT_AND:
        return rn_value_int((int32_t)(ux & uy));
    case RN_OP_BIT_OR:
        return rn_value_int((int32_t)(ux | uy));
    case RN_OP_BIT_XOR:
        return rn_value_int((int32_t)(ux ^ uy));
    case RN_OP_SHIFT_LEFT:
        return rn_value_int((int32_t)(ux << by));
    case RN_OP_SHIFT_RIGHT:
        return rn_value_int(x >> by);
    default:
        return rn_value_int(ux >> by);
    }
}

/* Integer arithmetic stays exact while the result fits in 64 bits. */
static bool whole_arithmetic(uint8_t op, int64_t x, int64_t y,
                             struct rn_value *out)
{
    int64_t n;
    bool is_out;

    if (op == RN_OP_ADD)
        is_out = __builtin_add_overflow(x, y, &n);
    else if (op == RN_OP_SUBTRACT)
        is_out = __builtin_sub_overflow(x, y, &n);
    else if (op == RN_OP_MULTIPLY)
        is_out = __builtin_mul_overflow(x, y, &n);
    else if (op == RN_OP_MODULO && y != 0)
        is_out = (n = y == -1 ? 0 : x % y, false);
    else
        return false;
    *out = rn_value_int(n);
    return !is_out;
}

static struct rn_value arithmetic(uint8_t op, const struct rn_value *a,
                                  const struct rn_value *b)
{
    struct rn_value whole;
    double x, y;

    if (a->kind != RN_VALUE_NUMBER || b->kind != RN_VALUE_NUMBER)
        return rn_value_undefined();
    if (a->is_integer && b->is_integer &&
        whole_arithmetic(op, a->integer, b->integer, &whole))
        return whole;
    x = rn_value_real(a);
    y = rn_value_real(b);
    switch (op) {
    case RN_OP_MULTIPLY:
        return rn_value_double(x * y);
    case RN_OP_DIVIDE:
        return rn_value_double(x / y);
    case RN_OP_MODULO:
        return rn_value_double(fmod(x, y));
    case RN_OP_ADD:
        return rn_value_double(x + y);
    case RN_OP_SUBTRACT:
        return rn_value_double(x - y);
    default:
        return bitwise(op, to_int32(a), to_int32(b));
    }
}

static enum rn_code concat(struct rn_run *r, const struct rn_value *a,
                           const struct rn_value *b, struct rn_value *out)
{
    char *at;

    if (a->kind != RN_VALUE_STRING || b->kind != RN_VALUE_STRING)
        return RN_OK;
    at = rn_arena_alloc(r->arena, a->text.len + b->text.len + 1);
    if (!at)
        return RN_TOO_LARGE;
    memcpy(at, a->text.at ? a->text.at : "", a->text.len);
    memcpy(at + a->text.len, b->text.at ? b->text.at : "", b->text.len);
    *out = rn_value_string(rn_view_of(at, a->text.len + b->text.len));
    return rn_run_step(r, (a->text.len + b->text.len) / 64);
}

static enum rn_code equality(struct rn_run *r, uint8_t op,
                             const struct rn_value *a, const struct rn_value *b,
                             struct rn_value *out)
{
    bool is_equal;
    enum rn_code rc;

    if (a->kind == RN_VALUE_UNDEFINED || b->kind == RN_VALUE_UNDEFINED)
        return RN_OK;
    if (a->kind > RN_VALUE_STRING && a->kind == b->kind)
        rn_run_look(r); /* the arguments may be large */
    rc = rn_value_equals(a, b, r->arena, &is_equal);
    *out = rn_value_bool(is_equal == (op == RN_OP_EQUAL));
    return rc;
}

static bool is_nan(const struct rn_value *v)
{
    return v->kind == RN_VALUE_NUMBER && !v->is_integer && isnan(v->real);
}

/* Only scalars of the same kind are ordered. */
static enum rn_code order(struct rn_run *r, uint8_t op,
                          const struct rn_value *a, const struct rn_value *b,
                          struct rn_value *out)
{
    int found;
    enum rn_code rc;

    if (a->kind != b->kind || a->kind == RN_VALUE_UNDEFINED ||
        a->kind > RN_VALUE_STRING)
        return RN_OK;
    rc = rn_value_compare(a, b, r->arena, &found);
    if (is_nan(a) || is_nan(b))
        *out = rn_value_bool(false);
    else if (op == RN_OP_LESS)
        *out = rn_value_bool(found < 0);
    else if (op == RN_OP_LESS_EQUAL)
        *out = rn_value_bool(found <= 0);
    else if (op == RN_OP_GREATER)
        *out = rn_value_bool(found > 0);
    else
        *out = rn_value_bool(found >= 0);
    return rc;
}

static enum rn_code eval_binary(struct rn_run *r, const struct rn_expr *e,
                                struct rn_value *out)
{
    struct rn_value a, b;
    enum rn_code rc = rn_eval(r, e->kids[0], &a);

    if (rc)
        return rc;
    if (e->op == RN_OP_COALESCE && a.kind != RN_VALUE_UNDEFINED) {
        *out = a;
        return RN_OK;
    }
    rc = rn_eval(r, e->kids[1], &b);
    if (rc)
        return rc;
    if (e->op == RN_OP_COALESCE)
        *out = b;
    else if (e->op == RN_OP_EQUAL || e->op == RN_OP_NOT_EQUAL)
        return equality(r, e->op, &a, &b, out);
    else if (e->op >= RN_OP_LESS && e->op <= RN_OP_GREATER_EQUAL)
        return order(r, e->op, &a, &b, out);
    else if (e->op == RN_OP_CONCAT)
        return concat(r, &a, &b, out);
    else
        *out = arithmetic(e->op, &a, &b);
    return RN_OK;
}

/* False decides AND, true decides OR; otherwise undefined wins. */
static enum rn_code eval_logic(struct rn_run *r, const struct rn_expr *e,
                               struct rn_value *out)
{
    bool winner = e->op == RN_OP_OR;
    bool is_known = true;
    struct rn_value v;

    for (uint32_t i = 0; i < e->count; i++) {
        enum rn_code rc = rn_eval(r, e->kids[i], &v);
        if (rc)
            return rc;
        if (v.kind == RN_VALUE_BOOL && v.truth == winner) {
            *out = v;
            return RN_OK;
        }
        is_known = is_known && v.kind == RN_VALUE_BOOL;
    }
    if (is_known)
        *out = rn_value_bool(!winner);
    return RN_OK;
}

static enum rn_code eval_unary(struct rn_run *r, const struct rn_expr *e,
                               struct rn_value *out)
{
    struct rn_value v;
    enum rn_code rc = rn_eval(r, e->kids[0], &v);

    if (rc)
        return rc;
    if (e->op == RN_OP_NOT && v.kind == RN_VALUE_BOOL)
        *out = rn_value_bool(!v.truth);
    if (e->op == RN_OP_NOT || v.kind != RN_VALUE_NUMBER)
        return RN_OK;
    if (e->op == RN_OP_PLUS)
        *out = v;
    else if (e->op == RN_OP_MINUS && v.is_integer && v.integer != INT64_MIN)
        *out = rn_value_int(-v.integer);
    else if (e->op == RN_OP_MINUS)
        *out = rn_value_double(-rn_value_real(&v));
    else
        *out = rn_value_int(~to_int32(&v));
    return RN_OK;
}

/* ---- predicates ---------------------------------------------------------- */

static void negate(const struct rn_expr *e, struct rn_value *v)
{
    if (e->is_negated && v->kind == RN_VALUE_BOOL)
        v->truth = !v->truth;
}

static enum rn_code eval_between(struct rn_run *r, const struct rn_expr *e,
                                 struct rn_value *out)
{
    struct rn_value v, low, high;
    struct rn_value above = rn_value_undefined(), below = above;
    enum rn_code rc;

    rc = rn_eval(r, e->kids[0], &v);
    if (!rc)
        rc = rn_eval(r, e->kids[1], &low);
    if (!rc)
        rc = rn_eval(r, e->kids[2], &high);
    if (!rc)
        rc = order(r, RN_OP_GREATER_EQUAL, &v, &low, &above);
    if (!rc)
        rc = order(r, RN_OP_LESS_EQUAL, &v, &high, &below);
    if (rc)
        return rc;
    if ((above.kind && !above.truth) || (below.kind && !below.truth))
        *out = rn_value_bool(false);
    else if (above.kind && below.kind)
        *out = rn_value_bool(true);
    negate(e, out);
    return RN_OK;
}

static enum rn_code eval_in(struct rn_run *r, const struct rn_expr *e,
                            struct rn_value *out)
{
    struct rn_value v, other;
    bool is_equal = false;
    enum rn_code rc = rn_eval(r, e->kids[0], &v);

    if (rc || v.kind == RN_VALUE_UNDEFINED)
        return rc;
    for (uint32_t i = 1; i < e->count && !is_equal; i++) {
        rc = rn_eval(r, e->kids[i], &other);
        if (!rc)
            rc = rn_value_equals(&v, &other, r->arena, &is_equal);
        if (rc)
            return rc;
    }
    *out = rn_value_bool(is_equal);
    negate(e, out);
    return RN_OK;
}

static enum rn_code eval_like(struct rn_run *r, const struct rn_expr *e,
                              struct rn_value *out)
{
    struct rn_value v, pattern;
    bool fits = false;
    enum rn_code rc;

    rc = rn_eval(r, e->kids[0], &v);
    if (!rc)
        rc = rn_eval(r, e->kids[1], &pattern);
    if (rc || v.kind != RN_VALUE_STRING || pattern.kind != RN_VALUE_STRING)
        return rc;
    rc = rn_like(r, v.text, pattern.text, e->name, &fits);
    *out = rn_value_bool(fits);
    negate(e, out);
    return rc;
}

/* ---- constructors, paths, calls ------------------------------------------ */

static enum rn_code eval_array(struct rn_run *r, const struct rn_expr *e,
                               struct rn_value *out)
{
    struct rn_value *items;
    uint32_t n = 0;

    items = rn_arena_alloc(r->arena, (e->count + 1) * sizeof(*items));
    if (!items)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < e->count; i++) {
        enum rn_code rc = rn_eval(r, e->kids[i], &items[n]);
        if (rc)
            return rc;
        n += items[n].kind != RN_VALUE_UNDEFINED;
    }
    *out = rn_value_array(items, n);
    return RN_OK;
}

static enum rn_code eval_object(struct rn_run *r, const struct rn_expr *e,
                                struct rn_value *out)
{
    struct rn_member *members;
    uint32_t n = 0;

    members = rn_arena_alloc(r->arena, (e->count + 1) * sizeof(*members));
    if (!members)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < e->count; i++) {
        enum rn_code rc = rn_eval(r, e->kids[i], &members[n].value);
        if (rc)
            return rc;
        members[n].name = e->names[i];
        n += members[n].value.kind != RN_VALUE_UNDEFINED;
    }
    *out = rn_value_object(members, n);
    return RN_OK;
}

static enum rn_code eval_index(struct rn_run *r, const struct rn_expr *e,
                               struct rn_value *out)
{
    struct rn_value of, index;
    enum rn_code rc;

    rc = rn_eval(r, e->kids[0], &of);
    if (!rc)
        rc = rn_eval(r, e->kids[1], &index);
    if (rc)
        return rc;
    if (index.kind == RN_VALUE_STRING)
        return rn_value_member(&of, index.text, r->arena, out);
    if (index.kind == RN_VALUE_NUMBER && index.is_integer &&
        index.integer >= 0 && index.integer < UINT32_MAX)
        return rn_value_element(&of, (uint32_t)index.integer, r->arena, out);
    return RN_OK;
}

static enum rn_code eval_call(struct rn_run *r, const struct rn_expr *e,
                              struct rn_value *out)
{
    struct rn_value few[8], *args = few;
    struct rn_fn_args a = {
        .run = r, .arena = r->arena, .count = e->count, .mode = e->op
    };
    enum rn_code rc = RN_OK;
    size_t bytes = 0;

    if (e->count > sizeof(few) / sizeof(few[0]))
        args = rn_arena_alloc(r->arena, e->count * sizeof(*args));
    if (!args)
        return RN_TOO_LARGE;
    for (uint32_t i = 0; i < e->count && !rc; i++) {
        rc = rn_eval(r, e->kids[i], &args[i]);
        if (!rc && args[i].kind == RN_VALUE_STRING)
            bytes += args[i].text.len;
    }
    if (!rc && bytes >= BYTES_PER_STEP)
        rc = rn_run_step(r, bytes / BYTES_PER_STEP);
    a.at = args;
    return rc ? rc : e->function->run(&a, out);
}

static enum rn_code eval_member(struct rn_run *r, const struct rn_expr *e,
                                struct rn_value *out)
{
    struct rn_value of;
    enum rn_code rc;

    if (e->computed)
        return rn_eval(r, e->computed, out);
    rc = rn_eval(r, e->kids[0], &of);
    return rc ? rc : rn_value_member(&of, e->name, r->arena, out);
}

static enum rn_code eval_choice(struct rn_run *r, const struct rn_expr *e,
                                struct rn_value *out)
{
    struct rn_value v;
    enum rn_code rc = rn_eval(r, e->kids[0], &v);

    return rc ? rc : rn_eval(r, e->kids[rn_value_is_true(&v) ? 1 : 2], out);
}

/* NOLINT(readability-function-size): one arm per kind */
enum rn_code rn_eval(struct rn_run *r, const struct rn_expr *e,
                     struct rn_value *out)
{
    enum rn_code rc = rn_run_step(r, 1);

    *out = rn_value_undefined();
    if (rc)
        return rc;
    if (e->slot != RN_SLOT_NONE) {
        *out = r->frame[e->slot];
        return RN_OK;
    }
    switch ((enum rn_expr_kind)e->kind) {
    case RN_EXPR_LITERAL:
    case RN_EXPR_PARAMETER:
        *out = e->value;
        return RN_OK;
    case RN_EXPR_NAME:
        return RN_OK;
    case RN_EXPR_MEMBER:
        return eval_member(r, e, out);
    case RN_EXPR_INDEX:
        return eval_index(r, e, out);
    case RN_EXPR_UNARY:
        return eval_unary(r, e, out);
    case RN_EXPR_BINARY:
        return eval_binary(r, e, out);
    case RN_EXPR_LOGIC:
        return eval_logic(r, e, out);
    case RN_EXPR_BETWEEN:
        return eval_between(r, e, out);
    case RN_EXPR_IN:
        return eval_in(r, e, out);
    case RN_EXPR_LIKE:
        return eval_like(r, e, out);
    case RN_EXPR_CHOICE:
        return eval_choice(r, e, out);
    case RN_EXPR_CALL:
        return eval_call(r, e, out);
    case RN_EXPR_ARRAY:
        return eval_array(r, e, out);
    case RN_EXPR_OBJECT:
        return eval_object(r, e, out);
    case RN_EXPR_QUERY:
        return rn_eval_subquery(r, e, out);
    }
    return RN_OK;
}
