/* query_reference.c -- see query_reference.h. */
#include "lib/query_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- values of the reference --------------------------------------------- */

static const struct value undefined = { .kind = UNDEFINED };

static struct value truth(bool b)
{
    return (struct value){ .kind = BOOL, .number = b };
}

static struct value number(long n)
{
    return (struct value){ .kind = NUMBER, .number = n };
}

struct value draw_value(struct rn_prng *c, bool may_miss)
{
    static const char *const texts[] = { "", "a", "b", "ab", "A" };
    struct value v = { 0 };

    v.kind = (enum kind)rn_prng_below(c, 6);
    if (v.kind == UNDEFINED && !may_miss)
        v.kind = NUMBER;
    v.number = v.kind == BOOL ? (long)rn_prng_below(c, 2)
                              : (long)rn_prng_below(c, 5) - 2;
    if (v.kind == STRING)
        snprintf(v.text, sizeof(v.text), "%s", texts[rn_prng_below(c, 5)]);
    if (v.kind == ARRAY) {
        v.count = (int)rn_prng_below(c, LIST_MAX + 1);
        for (int i = 0; i < v.count; i++)
            v.items[i] = (long)rn_prng_below(c, 3);
    }
    return v;
}

void print_value(struct rn_buf *out, const struct value *v)
{
    enum rn_code rc = RN_OK;

    switch (v->kind) {
    case UNDEFINED:
        rc = rn_buf_add(out, RN_LIT("undefined"));
        break;
    case NIL:
        rc = rn_buf_add(out, RN_LIT("null"));
        break;
    case BOOL:
        rc = rn_buf_printf(out, "%s", v->number ? "true" : "false");
        break;
    case NUMBER:
        rc = rn_buf_printf(out, "%ld", v->number);
        break;
    case STRING:
        rc = rn_buf_printf(out, "\"%s\"", v->text);
        break;
    case ARRAY:
        rc = rn_buf_add(out, RN_LIT("["));
        for (int i = 0; i < v->count && !rc; i++)
            rc = rn_buf_printf(out, "%s%ld", i ? "," : "", v->items[i]);
        if (!rc)
            rc = rn_buf_add(out, RN_LIT("]"));
        break;
    }
    assert_int_equal(rc, RN_OK);
}

/* ---- trees --------------------------------------------------------------- */

static const struct {
    const char *text; /* % stands for an operand */
    int operands;
} shapes[OPS] = {
    [EQ] = { "(% = %)", 2 },
    [NE] = { "(% != %)", 2 },
    [LT] = { "(% < %)", 2 },
    [LE] = { "(% <= %)", 2 },
    [GT] = { "(% > %)", 2 },
    [GE] = { "(% >= %)", 2 },
    [ADD] = { "(% + %)", 2 },
    [SUB] = { "(% - %)", 2 },
    [MUL] = { "(% * %)", 2 },
    [AND] = { "(% AND %)", 2 },
    [OR] = { "(% OR %)", 2 },
    [COALESCE] = { "(% ?? %)", 2 },
    [NOT] = { "(NOT %)", 1 },
    [CHOICE] = { "(% ? % : %)", 3 },
    [BETWEEN] = { "(% BETWEEN % AND %)", 3 },
    [IN] = { "(% IN (%, %))", 3 },
    [IS_DEFINED] = { "IS_DEFINED(%)", 1 },
    [IS_NUMBER] = { "IS_NUMBER(%)", 1 },
    [IS_BOOL] = { "IS_BOOL(%)", 1 },
    [LENGTH] = { "LENGTH(%)", 1 },
    [CONCAT] = { "CONCAT(%, %)", 2 },
    [LIST_LENGTH] = { "ARRAY_LENGTH(%)", 1 },
    [CONTAINS] = { "ARRAY_CONTAINS(%, %)", 2 },
};

const struct node *draw_tree(struct tree *t, struct rn_prng *c, int depth)
{
    struct node *n = &t->nodes[t->count++];

    if (depth == 0 || t->count > NODES_MAX - 4 - 3 * depth)
        n->op = rn_prng_percent(c, 40) ? LITERAL : FIELD;
    else
        n->op = (enum op)(EQ + rn_prng_below(c, OPS - EQ));
    if (n->op == LITERAL)
        n->value = draw_value(c, true);
    else if (n->op == FIELD)
        n->value.number = (long)rn_prng_below(c, FIELDS);
    for (int i = 0; i < shapes[n->op].operands; i++) {
        int below = (int)rn_prng_below(c, (uint64_t)depth);
        n->kids[i] = draw_tree(t, c, t->count > NODES_MAX - 16 ? 0 : below);
    }
    return n;
}

void print_tree(struct rn_buf *out, const struct node *n)
{
    int kid = 0;

    if (n->op == LITERAL) {
        print_value(out, &n->value);
        return;
    }
    if (n->op == FIELD) {
        assert_int_equal(rn_buf_printf(out, "c.f%ld", n->value.number), RN_OK);
        return;
    }
    for (const char *at = shapes[n->op].text; *at; at++) {
        if (*at == '%')
            print_tree(out, n->kids[kid++]);
        else
            assert_int_equal(rn_buf_add(out, rn_view_of(at, 1)), RN_OK);
    }
}

/* ---- the reference ------------------------------------------------------- */

static bool is_equal(const struct value *a, const struct value *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == STRING)
        return strcmp(a->text, b->text) == 0;
    if (a->kind != ARRAY)
        return a->kind == NIL || a->number == b->number;
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        if (a->items[i] != b->items[i])
            return false;
    }
    return true;
}

static struct value compare(enum op op, const struct value *a,
                            const struct value *b)
{
    long order;

    if (a->kind != b->kind || a->kind == UNDEFINED || a->kind == ARRAY)
        return undefined;
    order = a->kind == STRING ? strcmp(a->text, b->text)
            : a->kind == NIL  ? 0
                              : a->number - b->number;
    switch (op) {
    case LT:
        return truth(order < 0);
    case LE:
        return truth(order <= 0);
    case GT:
        return truth(order > 0);
    default:
        return truth(order >= 0);
    }
}

static struct value both(const struct value *a, const struct value *b)
{
    if ((a->kind == BOOL && !a->number) || (b->kind == BOOL && !b->number))
        return truth(false);
    return a->kind == BOOL && b->kind == BOOL ? truth(true) : undefined;
}

static struct value negation(const struct value *a)
{
    return a->kind == BOOL ? truth(!a->number) : undefined;
}

static struct value either(const struct value *a, const struct value *b)
{
    struct value x = negation(a), y = negation(b), z = both(&x, &y);

    return negation(&z);
}

static struct value calculate(enum op op, const struct value *a,
                              const struct value *b)
{
    if (a->kind != NUMBER || b->kind != NUMBER)
        return undefined;
    return number(op == ADD   ? a->number + b->number
                  : op == SUB ? a->number - b->number
                              : a->number * b->number);
}

static struct value among(const struct value v[3])
{
    if (v[0].kind == UNDEFINED)
        return undefined;
    return truth(is_equal(&v[0], &v[1]) || is_equal(&v[0], &v[2]));
}

static struct value concatenation(const struct value *a, const struct value *b)
{
    struct value out = { .kind = STRING };

    if (a->kind != STRING || b->kind != STRING ||
        strlen(a->text) + strlen(b->text) >= sizeof(out.text))
        return undefined;
    snprintf(out.text, sizeof(out.text), "%s%s", a->text, b->text);
    return out;
}

static struct value contains(const struct value *list, const struct value *v)
{
    if (list->kind != ARRAY || v->kind == UNDEFINED)
        return undefined;
    for (int i = 0; i < list->count; i++) {
        struct value item = number(list->items[i]);
        if (is_equal(&item, v))
            return truth(true);
    }
    return truth(false);
}

struct value evaluate(const struct node *n, const struct value *fields)
{
    struct value v[3] = { undefined, undefined, undefined }, x, y;

    for (int i = 0; i < shapes[n->op].operands; i++)
        v[i] = evaluate(n->kids[i], fields);
    switch (n->op) {
    case LITERAL:
        return n->value;
    case FIELD:
        return fields[n->value.number];
    case EQ:
    case NE:
        if (v[0].kind == UNDEFINED || v[1].kind == UNDEFINED)
            return undefined;
        return truth(is_equal(&v[0], &v[1]) == (n->op == EQ));
    case LT:
    case LE:
    case GT:
    case GE:
        return compare(n->op, &v[0], &v[1]);
    case ADD:
    case SUB:
    case MUL:
        return calculate(n->op, &v[0], &v[1]);
    case AND:
        return both(&v[0], &v[1]);
    case OR:
        return either(&v[0], &v[1]);
    case COALESCE:
        return v[0].kind == UNDEFINED ? v[1] : v[0];
    case NOT:
        return negation(&v[0]);
    case CHOICE:
        return v[0].kind == BOOL && v[0].number ? v[1] : v[2];
    case BETWEEN:
        x = compare(GE, &v[0], &v[1]);
        y = compare(LE, &v[0], &v[2]);
        return both(&x, &y);
    case IN:
        return among(v);
    case IS_DEFINED:
        return truth(v[0].kind != UNDEFINED);
    case IS_NUMBER:
        return truth(v[0].kind == NUMBER);
    case IS_BOOL:
        return truth(v[0].kind == BOOL);
    case LENGTH:
        return v[0].kind == STRING ? number((long)strlen(v[0].text))
                                   : undefined;
    case CONCAT:
        return concatenation(&v[0], &v[1]);
    case LIST_LENGTH:
        return v[0].kind == ARRAY ? number(v[0].count) : undefined;
    case CONTAINS:
        return contains(&v[0], &v[1]);
    case OPS:
        break;
    }
    return undefined;
}
