/* parse_primary.c -- the parser of operands: literals, names, calls,
 * constructors and subqueries, and the paths that follow them. */
#include "query/parse/parse_primary.h"

#include "query/parse/parse.h"
#include "query/parse/parse_expr.h"
#include "json/number.h"

#include <math.h>

/* ---- primaries ----------------------------------------------------------- */

/* An integer while it fits in 64 bits, else a double. */
static struct rn_value hex_value(struct rn_view text)
{
    double real = 0;
    int64_t whole = 0;
    bool is_whole = true;

    for (size_t i = 2; i < text.len; i++) {
        int c = text.at[i] | 0x20;
        int digit = c <= '9' ? c - '0' : c - 'a' + 10;
        real = real * 16 + digit;
        is_whole = is_whole && whole <= INT64_MAX >> 4;
        if (is_whole)
            whole = whole * 16 + digit;
    }
    return is_whole ? rn_value_int(whole) : rn_value_double(real);
}

/* ".5" and "1." are numbers in this dialect, but not in JSON. */
static enum rn_code number_value(struct rn_parser *p, struct rn_value *out)
{
    struct rn_view text = p->now.text;
    char *at = rn_arena_alloc(p->arena, text.len + 3);
    bool is_whole = true; /* digits only; otherwise it is a double first */
    size_t n = 0;
    int64_t integer;

    if (!at)
        return RN_TOO_LARGE;
    if (text.len > 1 && (text.at[1] | 0x20) == 'x') {
        *out = hex_value(text);
        return RN_OK;
    }
    if (text.at[0] == '.')
        at[n++] = '0';
    for (size_t i = 0; i < text.len; i++) {
        bool has_digit =
            i + 1 < text.len && text.at[i + 1] >= '0' && text.at[i + 1] <= '9';
        at[n++] = text.at[i];
        is_whole = is_whole && text.at[i] >= '0' && text.at[i] <= '9';
        if (text.at[i] == '.' && !has_digit)
            at[n++] = '0';
    }
    if (is_whole && rn_number_int64(rn_view_of(at, n), &integer))
        *out = rn_value_int(integer);
    else
        *out = rn_value_double(rn_number_double(rn_view_of(at, n)));
    return RN_OK;
}

/* RN_BAD_REQUEST at the token if an escape is invalid. */
static enum rn_code unquote(struct rn_parser *p, struct rn_view *out)
{
    enum rn_code rc = rn_lex_unquote(p->now.text, p->arena, out);

    if (rc == RN_BAD_REQUEST)
        p->now.kind = RN_LEX_BAD_STRING;
    return rc;
}

static enum rn_code literal_value(struct rn_parser *p, struct rn_value *out)
{
    *out = rn_value_undefined();
    if (p->now.kind == RN_LEX_NUMBER)
        return number_value(p, out);
    if (p->now.kind == RN_LEX_STRING) {
        out->kind = RN_VALUE_STRING;
        return unquote(p, &out->text);
    }
    if (p->now.word == RN_WORD_NULL)
        out->kind = RN_VALUE_NULL;
    else if (p->now.word == RN_WORD_TRUE || p->now.word == RN_WORD_FALSE)
        *out = rn_value_bool(p->now.word == RN_WORD_TRUE);
    else if (p->now.word == RN_WORD_NONE)
        *out = rn_value_double(p->now.text.at[0] == 'N' ? (double)NAN
                                                        : (double)INFINITY);
    return RN_OK;
}

static enum rn_code parse_literal(struct rn_parser *p, struct rn_expr **out)
{
    enum rn_code rc;

    *out = rn_expr_new(p, RN_EXPR_LITERAL, p->now.at);
    if (!*out)
        return RN_TOO_LARGE;
    rc = literal_value(p, &(*out)->value);
    if (rc == RN_BAD_REQUEST)
        return rn_parser_refuse(p);
    rn_parser_take(p);
    (*out)->end = (uint32_t)rn_parser_end(p);
    return rc;
}

static enum rn_code parse_subquery(struct rn_parser *p, enum rn_subquery how,
                                   size_t start, struct rn_expr **out)
{
    enum rn_code rc;

    *out = rn_expr_new(p, RN_EXPR_QUERY, start);
    if (!*out)
        return RN_TOO_LARGE;
    (*out)->op = (uint8_t)how;
    rc = rn_parse_select(p, &(*out)->query);
    if (!rc)
        rc = rn_parser_expect(p, ")");
    (*out)->depth = (*out)->query->depth;
    (*out)->end = (uint32_t)rn_parser_end(p);
    return rc;
}

static enum rn_code parse_parenthesis(struct rn_parser *p, struct rn_expr **out)
{
    size_t start = p->now.at;
    enum rn_code rc;

    rn_parser_take(p);
    if (p->now.word == RN_WORD_SELECT)
        return parse_subquery(p, RN_SUBQUERY_SCALAR, start, out);
    rc = rn_parse_expr(p, out);
    return rc ? rc : rn_parser_expect(p, ")");
}

static enum rn_code parse_array(struct rn_parser *p, struct rn_expr **out)
{
    enum rn_code rc = RN_OK;

    *out = rn_expr_new(p, RN_EXPR_ARRAY, p->now.at);
    if (!*out)
        return RN_TOO_LARGE;
    rn_parser_take(p);
    if (!rn_parser_sees(p, "]"))
        rc = rn_parse_list(p, *out);
    if (!rc)
        rc = rn_parser_expect(p, "]");
    (*out)->end = (uint32_t)rn_parser_end(p);
    return rc;
}

static enum rn_code parse_property(struct rn_parser *p, struct rn_expr *to,
                                   uint32_t *room)
{
    enum rn_code rc = RN_OK;

    to->names =
        rn_ast_grow(p->arena, to->names, to->count, room, sizeof(*to->names));
    if (!to->names)
        return RN_TOO_LARGE;
    if (p->now.kind == RN_LEX_STRING)
        rc = unquote(p, &to->names[to->count]);
    else if (p->now.kind == RN_LEX_NAME)
        to->names[to->count] = p->now.text;
    else
        rc = RN_BAD_REQUEST;
    if (rc == RN_BAD_REQUEST)
        return rn_parser_refuse(p);
    rn_parser_take(p);
    if (!rc)
        rc = rn_parser_expect(p, ":");
    return rc ? rc : rn_parse_kid(p, to);
}

static enum rn_code parse_object(struct rn_parser *p, struct rn_expr **out)
{
    uint32_t room = 0;
    enum rn_code rc = RN_OK;

    *out = rn_expr_new(p, RN_EXPR_OBJECT, p->now.at);
    if (!*out)
        return RN_TOO_LARGE;
    rn_parser_take(p);
    if (!rn_parser_sees(p, "}")) {
        do {
            rc = parse_property(p, *out, &room);
        } while (!rc && rn_parser_skip(p, ","));
    }
    if (!rc)
        rc = rn_parser_expect(p, "}");
    (*out)->end = (uint32_t)rn_parser_end(p);
    return rc;
}

static enum rn_code parse_call(struct rn_parser *p, struct rn_view name,
                               size_t start, struct rn_expr **out)
{
    enum rn_code rc = RN_OK;

    *out = rn_expr_new(p, RN_EXPR_CALL, start);
    if (!*out)
        return RN_TOO_LARGE;
    (*out)->name = name;
    rn_parser_take(p); /* the parenthesis */
    if (!rn_parser_sees(p, ")"))
        rc = rn_parse_list(p, *out);
    if (!rc)
        rc = rn_parser_expect(p, ")");
    (*out)->end = (uint32_t)rn_parser_end(p);
    return rc;
}

static enum rn_code parse_udf(struct rn_parser *p, struct rn_expr **out)
{
    size_t start = p->now.at;
    struct rn_view name;
    enum rn_code rc;

    rn_parser_take(p);
    rn_parser_take(p);
    if (p->now.kind != RN_LEX_NAME)
        return rn_parser_refuse(p);
    name = p->now.text;
    rn_parser_take(p);
    if (!rn_parser_sees(p, "("))
        return rn_parser_refuse(p);
    rc = parse_call(p, name, start, out);
    if (!rc)
        (*out)->is_bracket = true;
    return rc;
}

static enum rn_subquery subquery_of(const struct rn_parser *p)
{
    if (p->now.word == RN_WORD_EXISTS)
        return RN_SUBQUERY_EXISTS;
    if (p->now.word == RN_WORD_ARRAY)
        return RN_SUBQUERY_ARRAY;
    if (rn_parser_name_is(p, "ALL"))
        return RN_SUBQUERY_ALL;
    if (rn_parser_name_is(p, "FIRST"))
        return RN_SUBQUERY_FIRST;
    if (rn_parser_name_is(p, "LAST"))
        return RN_SUBQUERY_LAST;
    return RN_SUBQUERY_SCALAR;
}

static bool is_query_next(const struct rn_parser *p)
{
    struct rn_lexer ahead = p->lexer;
    struct rn_lexeme t = rn_lexer_next(&ahead);

    return t.kind == RN_LEX_SIGN && t.sign[0] == '(' &&
           rn_lexer_next(&ahead).word == RN_WORD_SELECT;
}

/* Reports the token that is not the start of a query. */
static enum rn_code refuse_no_query(struct rn_parser *p)
{
    enum rn_code rc;

    rn_parser_take(p);
    rc = rn_parser_expect(p, "(");
    return rc ? rc : rn_parser_refuse(p);
}

/* A name, a call, or a keyword that introduces a subquery. */
static enum rn_code parse_named(struct rn_parser *p, struct rn_expr **out)
{
    enum rn_subquery how = subquery_of(p);
    struct rn_lexeme name = p->now;
    struct rn_lexeme next = rn_parser_peek(p);

    if (how != RN_SUBQUERY_SCALAR && is_query_next(p)) {
        rn_parser_take(p);
        rn_parser_take(p);
        return parse_subquery(p, how, name.at, out);
    }
    if (name.word == RN_WORD_EXISTS || name.word == RN_WORD_ARRAY)
        return refuse_no_query(p);
    if (name.word != RN_WORD_NONE)
        return rn_parser_refuse(p);
    if (rn_view_eq(name.text, RN_LIT("udf")) && next.sign[0] == '.')
        return parse_udf(p, out);
    if (next.sign[0] == '(') {
        rn_parser_take(p);
        return parse_call(p, name.text, name.at, out);
    }
    if (rn_view_eq(name.text, RN_LIT("NaN")) ||
        rn_view_eq(name.text, RN_LIT("Infinity")))
        return parse_literal(p, out);
    *out = rn_expr_new(p, RN_EXPR_NAME, name.at);
    if (!*out)
        return RN_TOO_LARGE;
    (*out)->name = name.text;
    rn_parser_take(p);
    (*out)->end = (uint32_t)rn_parser_end(p);
    return RN_OK;
}

static enum rn_code parse_parameter(struct rn_parser *p, struct rn_expr **out)
{
    *out = rn_expr_new(p, RN_EXPR_PARAMETER, p->now.at);
    if (!*out)
        return RN_TOO_LARGE;
    (*out)->name = p->now.text;
    rn_parser_take(p);
    (*out)->end = (uint32_t)rn_parser_end(p);
    return RN_OK;
}

enum rn_code rn_parse_primary(struct rn_parser *p, struct rn_expr **out)
{
    if (p->now.kind == RN_LEX_NUMBER || p->now.kind == RN_LEX_STRING ||
        p->now.word >= RN_WORD_TRUE)
        return parse_literal(p, out);
    if (p->now.kind == RN_LEX_NAME)
        return parse_named(p, out);
    if (p->now.kind == RN_LEX_PARAMETER)
        return parse_parameter(p, out);
    if (rn_parser_sees(p, "("))
        return parse_parenthesis(p, out);
    if (rn_parser_sees(p, "["))
        return parse_array(p, out);
    if (rn_parser_sees(p, "{"))
        return parse_object(p, out);
    return rn_parser_refuse(p);
}

/* ---- postfix and prefix -------------------------------------------------- */

static enum rn_code parse_dot(struct rn_parser *p, struct rn_expr *of,
                              struct rn_expr **out)
{
    enum rn_code rc;

    *out = rn_expr_new(p, RN_EXPR_MEMBER, of->start);
    if (!*out)
        return RN_TOO_LARGE;
    rn_parser_take(p);
    if (p->now.kind != RN_LEX_NAME)
        return rn_parser_refuse(p);
    (*out)->name = p->now.text;
    rn_parser_take(p);
    rc = rn_expr_add(p, *out, of);
    return rc;
}

/* A constant string in brackets is a member, like a name after a dot. */
static enum rn_code parse_bracket(struct rn_parser *p, struct rn_expr *of,
                                  struct rn_expr **out)
{
    struct rn_expr *index;
    enum rn_code rc;

    rn_parser_take(p);
    rc = rn_parse_expr(p, &index);
    if (!rc)
        rc = rn_parser_expect(p, "]");
    if (rc)
        return rc;
    *out = rn_expr_new(p, RN_EXPR_INDEX, of->start);
    if (!*out)
        return RN_TOO_LARGE;
    rc = rn_expr_add(p, *out, of);
    if (rc)
        return rc;
    if (index->kind != RN_EXPR_LITERAL || index->value.kind != RN_VALUE_STRING)
        return rn_expr_add(p, *out, index);
    (*out)->kind = RN_EXPR_MEMBER;
    (*out)->is_bracket = true;
    (*out)->name = index->value.text;
    return RN_OK;
}

enum rn_code rn_parse_postfix(struct rn_parser *p, struct rn_expr **out)
{
    enum rn_code rc = rn_parse_primary(p, out);

    while (!rc) {
        if (rn_parser_sees(p, "."))
            rc = parse_dot(p, *out, out);
        else if (rn_parser_sees(p, "["))
            rc = parse_bracket(p, *out, out);
        else
            break;
    }
    return rc;
}
