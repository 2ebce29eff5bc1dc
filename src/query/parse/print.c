/* print.c -- prints a syntax tree as query text; see print.h. */
#include "query/parse/print.h"

#include "json/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { NESTED_MAX = 16 }; /* operands of one AND that are printed nested */

void rn_print_view(struct rn_printer *p, struct rn_view text)
{
    if (!p->rc)
        p->rc = rn_buf_add(p->buf, text);
}

void rn_print_text(struct rn_printer *p, const char *text)
{
    rn_print_view(p, rn_view_text(text));
}

void rn_print_string(struct rn_printer *p, struct rn_view text)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(p->buf);

    if (p->rc)
        return;
    rn_json_out_string(&o, text);
    p->rc = rn_json_out_finish(&o);
}

void rn_print_count(struct rn_printer *p, uint64_t count)
{
    if (!p->rc)
        p->rc = rn_buf_printf(p->buf, "%" PRIu64, count);
}

/* Prints doubles as the service's planner does, with all 17 digits. */
static void print_number(struct rn_printer *p, const struct rn_value *v)
{
    char text[40];

    if (v->is_integer)
        snprintf(text, sizeof(text), "%" PRId64, v->integer);
    else if (isnan(v->real))
        snprintf(text, sizeof(text), "NaN");
    else if (isinf(v->real))
        snprintf(text, sizeof(text), v->real < 0 ? "-Infinity" : "Infinity");
    else
        snprintf(text, sizeof(text), "%.17g", v->real);
    rn_print_text(p, text);
}

static void print_literal(struct rn_printer *p, const struct rn_value *v)
{
    if (v->kind == RN_VALUE_UNDEFINED)
        rn_print_text(p, "undefined");
    else if (v->kind == RN_VALUE_NULL)
        rn_print_text(p, "null");
    else if (v->kind == RN_VALUE_BOOL)
        rn_print_text(p, v->truth ? "true" : "false");
    else if (v->kind == RN_VALUE_NUMBER)
        print_number(p, v);
    else
        rn_print_string(p, v->text);
}

static const char *op_text(uint8_t op)
{
    static const char *const texts[] = {
        [RN_OP_MULTIPLY] = " * ",     [RN_OP_DIVIDE] = " / ",
        [RN_OP_MODULO] = " % ",       [RN_OP_ADD] = " + ",
        [RN_OP_SUBTRACT] = " - ",     [RN_OP_SHIFT_LEFT] = " << ",
        [RN_OP_SHIFT_RIGHT] = " >> ", [RN_OP_SHIFT_ZERO] = " >>> ",
        [RN_OP_LESS] = " < ",         [RN_OP_LESS_EQUAL] = " <= ",
        [RN_OP_GREATER] = " > ",      [RN_OP_GREATER_EQUAL] = " >= ",
        [RN_OP_EQUAL] = " = ",        [RN_OP_NOT_EQUAL] = " != ",
        [RN_OP_BIT_AND] = " & ",      [RN_OP_BIT_XOR] = " ^ ",
        [RN_OP_BIT_OR] = " | ",       [RN_OP_CONCAT] = " || ",
        [RN_OP_AND] = " AND ",        [RN_OP_OR] = " OR ",
        [RN_OP_COALESCE] = " ?? ",    [RN_OP_NOT] = "NOT ",
        [RN_OP_MINUS] = "- ",         [RN_OP_PLUS] = "+ ",
        [RN_OP_BIT_NOT] = "~ ",
    };

    return texts[op];
}

static void print_kids(struct rn_printer *p, const struct rn_expr *e,
                       uint32_t from)
{
    for (uint32_t i = from; i < e->count; i++) {
        if (i > from)
            rn_print_text(p, ", ");
        rn_print_expr(p, e->kids[i]);
    }
}

/* The operands of one AND are printed as nested pairs: ((a AND b) AND c).  Many
 * operands are printed flat, (a AND b AND c): nested, they would exceed the
 * parser's depth limit. */
static void print_binary(struct rn_printer *p, const struct rn_expr *e)
{
    uint32_t inner = e->count > NESTED_MAX ? 0 : e->count - 2;

    for (uint32_t i = 0; i <= inner; i++)
        rn_print_text(p, "(");
    rn_print_expr(p, e->kids[0]);
    for (uint32_t i = 1; i < e->count; i++) {
        rn_print_text(p, op_text(e->op));
        rn_print_expr(p, e->kids[i]);
        if (i <= inner)
            rn_print_text(p, ")");
    }
    rn_print_text(p, ")");
}

static void print_object(struct rn_printer *p, const struct rn_expr *e)
{
    rn_print_text(p, "{");
    for (uint32_t i = 0; i < e->count; i++) {
        if (i)
            rn_print_text(p, ", ");
        rn_print_string(p, e->names[i]);
        rn_print_text(p, ": ");
        rn_print_expr(p, e->kids[i]);
    }
    rn_print_text(p, "}");
}

static void print_predicate(struct rn_printer *p, const struct rn_expr *e)
{
    rn_print_text(p, "(");
    rn_print_expr(p, e->kids[0]);
    rn_print_text(p, e->is_negated ? " NOT" : "");
    if (e->kind == RN_EXPR_IN) {
        rn_print_text(p, " IN (");
        print_kids(p, e, 1);
        rn_print_text(p, ")");
    } else {
        rn_print_text(p, e->kind == RN_EXPR_LIKE ? " LIKE " : " BETWEEN ");
        rn_print_expr(p, e->kids[1]);
    }
    if (e->kind == RN_EXPR_BETWEEN) {
        rn_print_text(p, " AND ");
        rn_print_expr(p, e->kids[2]);
    }
    if (e->kind == RN_EXPR_LIKE && e->name.at) {
        rn_print_text(p, " ESCAPE ");
        rn_print_string(p, e->name);
    }
    rn_print_text(p, ")");
}

static void print_member(struct rn_printer *p, const struct rn_expr *e)
{
    rn_print_expr(p, e->kids[0]);
    if (!e->is_bracket) {
        rn_print_text(p, ".");
        rn_print_view(p, e->name);
        return;
    }
    rn_print_text(p, "[");
    if (e->kind == RN_EXPR_MEMBER)
        rn_print_string(p, e->name);
    rn_print_text(p, "]");
}

static void print_subquery(struct rn_printer *p, const struct rn_expr *e)
{
    static const char *const heads[] = {
        [RN_SUBQUERY_SCALAR] = "(",     [RN_SUBQUERY_EXISTS] = "EXISTS(",
        [RN_SUBQUERY_ARRAY] = "ARRAY(", [RN_SUBQUERY_ALL] = "ALL(",
        [RN_SUBQUERY_FIRST] = "FIRST(", [RN_SUBQUERY_LAST] = "LAST(",
    };

    rn_print_text(p, heads[e->op]);
    p->nested++;
    rn_print_select(p, e->query);
    p->nested--;
    rn_print_text(p, ")");
}

static void print_call(struct rn_printer *p, const struct rn_expr *e)
{
    rn_print_text(p, e->is_bracket ? "udf." : "");
    rn_print_view(p, e->name);
    rn_print_text(p, "(");
    print_kids(p, e, 0);
    rn_print_text(p, ")");
}

static void print_choice(struct rn_printer *p, const struct rn_expr *e)
{
    rn_print_text(p, "(");
    rn_print_expr(p, e->kids[0]);
    rn_print_text(p, " ? ");
    rn_print_expr(p, e->kids[1]);
    rn_print_text(p, " : ");
    rn_print_expr(p, e->kids[2]);
    rn_print_text(p, ")");
}

static void print_around(struct rn_printer *p, const char *open,
                         const struct rn_expr *e, const char *close)
{
    rn_print_text(p, open);
    print_kids(p, e, 0);
    rn_print_text(p, close);
}

void rn_print_expr(struct rn_printer *p, const struct rn_expr *e)
{
    switch ((enum rn_expr_kind)e->kind) {
    case RN_EXPR_LITERAL:
        print_literal(p, &e->value);
        break;
    case RN_EXPR_PARAMETER:
    case RN_EXPR_NAME:
        rn_print_view(p, e->name);
        break;
    case RN_EXPR_MEMBER:
        print_member(p, e);
        break;
    case RN_EXPR_INDEX:
        rn_print_expr(p, e->kids[0]);
        rn_print_text(p, "[");
        rn_print_expr(p, e->kids[1]);
        rn_print_text(p, "]");
        break;
    case RN_EXPR_UNARY:
        rn_print_text(p, "(");
        print_around(p, op_text(e->op), e, ")");
        break;
    case RN_EXPR_BINARY:
    case RN_EXPR_LOGIC:
        print_binary(p, e);
        break;
    case RN_EXPR_BETWEEN:
    case RN_EXPR_IN:
    case RN_EXPR_LIKE:
        print_predicate(p, e);
        break;
    case RN_EXPR_CHOICE:
        print_choice(p, e);
        break;
    case RN_EXPR_CALL:
        print_call(p, e);
        break;
    case RN_EXPR_ARRAY:
        print_around(p, "[", e, "]");
        break;
    case RN_EXPR_OBJECT:
        print_object(p, e);
        break;
    case RN_EXPR_QUERY:
        print_subquery(p, e);
        break;
    }
}

/* ---- clauses ------------------------------------------------------------- */

static void clause(struct rn_printer *p, const char *word)
{
    rn_print_text(p, p->nested ? " " : "\n");
    rn_print_text(p, word);
}

static void print_source(struct rn_printer *p, const struct rn_from *f)
{
    if (f->is_each) {
        rn_print_view(p, f->alias);
        rn_print_text(p, " IN ");
    }
    if (f->query) {
        rn_print_text(p, "(");
        p->nested++;
        rn_print_select(p, f->query);
        p->nested--;
        rn_print_text(p, ")");
    } else {
        rn_print_expr(p, f->path);
    }
    if (!f->is_each && f->alias.len) {
        rn_print_text(p, " AS ");
        rn_print_view(p, f->alias);
    }
}

void rn_print_from(struct rn_printer *p, const struct rn_select *s)
{
    for (uint32_t i = 0; i < s->from_count; i++) {
        clause(p, i ? "JOIN " : "FROM ");
        print_source(p, &s->from[i]);
    }
}

void rn_print_where(struct rn_printer *p, const struct rn_select *s)
{
    if (!s->where)
        return;
    clause(p, "WHERE ");
    rn_print_expr(p, s->where);
}

void rn_print_group(struct rn_printer *p, const struct rn_select *s)
{
    for (uint32_t i = 0; i < s->group_count; i++) {
        if (i)
            rn_print_text(p, ", ");
        else
            clause(p, "GROUP BY ");
        rn_print_expr(p, s->group[i]);
    }
}

void rn_print_order(struct rn_printer *p, const struct rn_select *s)
{
    for (uint32_t i = 0; i < s->order_count; i++) {
        if (i)
            rn_print_text(p, ", ");
        else
            clause(p, s->is_rank ? "ORDER BY RANK " : "ORDER BY ");
        rn_print_expr(p, s->order[i].expr);
        if (s->order[i].direction != RN_ORDER_UNSAID)
            rn_print_text(p, s->order[i].direction == RN_ORDER_ASC ? " ASC"
                                                                   : " DESC");
    }
}

void rn_print_offset(struct rn_printer *p, const struct rn_select *s)
{
    if (!s->offset)
        return;
    clause(p, "OFFSET ");
    rn_print_expr(p, s->offset);
    rn_print_text(p, " LIMIT ");
    rn_print_expr(p, s->limit);
}

void rn_print_items(struct rn_printer *p, const struct rn_select *s)
{
    if (s->kind == RN_SELECT_STAR)
        rn_print_text(p, "*");
    else if (s->kind == RN_SELECT_VALUE)
        rn_print_text(p, "VALUE ");
    for (uint32_t i = 0; i < s->item_count; i++) {
        if (i)
            rn_print_text(p, ", ");
        rn_print_expr(p, s->items[i].expr);
        if (s->items[i].alias.len && s->kind == RN_SELECT_LIST) {
            rn_print_text(p, " AS ");
            rn_print_view(p, s->items[i].alias);
        }
    }
}

void rn_print_select(struct rn_printer *p, const struct rn_select *s)
{
    rn_print_text(p, s->is_distinct ? "SELECT DISTINCT " : "SELECT ");
    if (s->top) {
        rn_print_text(p, "TOP ");
        rn_print_expr(p, s->top);
        rn_print_text(p, " ");
    }
    rn_print_items(p, s);
    rn_print_from(p, s);
    rn_print_where(p, s);
    rn_print_group(p, s);
    rn_print_order(p, s);
    rn_print_offset(p, s);
}
