/* parse_expr.c -- the parser of expressions. */
#include "query/parse/parse_expr.h"

#include "query/parse/parse_primary.h"
#include "json/utf8.h"

/* Binary operators, tightest first.  An operand of BETWEEN, IN and LIKE needs
 * parentheses if its operator binds looser than LOOSEST_OPERAND. */
static const struct {
    char sign[4];
    enum rn_op op;
    int level;
} operators[] = {
    { "*", RN_OP_MULTIPLY, 1 },     { "/", RN_OP_DIVIDE, 1 },
    { "%", RN_OP_MODULO, 1 },       { "+", RN_OP_ADD, 2 },
    { "-", RN_OP_SUBTRACT, 2 },     { "<<", RN_OP_SHIFT_LEFT, 3 },
    { ">>", RN_OP_SHIFT_RIGHT, 3 }, { ">>>", RN_OP_SHIFT_ZERO, 3 },
    { "<", RN_OP_LESS, 4 },         { "<=", RN_OP_LESS_EQUAL, 4 },
    { ">", RN_OP_GREATER, 4 },      { ">=", RN_OP_GREATER_EQUAL, 4 },
    { "=", RN_OP_EQUAL, 5 },        { "!=", RN_OP_NOT_EQUAL, 5 },
    { "<>", RN_OP_NOT_EQUAL, 5 },   { "&", RN_OP_BIT_AND, 6 },
    { "^", RN_OP_BIT_XOR, 7 },      { "|", RN_OP_BIT_OR, 8 },
    { "||", RN_OP_CONCAT, 9 },      { "??", RN_OP_COALESCE, 13 },
};

enum {
    LOOSEST_OPERAND = 9,
    LEVEL_PREDICATE = 10,
    LEVEL_AND = 11,
    LEVEL_OR = 12,
    LEVEL_ANY = 13,
};

static enum rn_code parse_binary(struct rn_parser *p, int level,
                                 struct rn_expr **out);

struct rn_expr *rn_expr_new(struct rn_parser *p, enum rn_expr_kind kind,
                            size_t start)
{
    struct rn_expr *e = rn_arena_alloc(p->arena, sizeof(*e));

    if (e) {
        *e = (struct rn_expr){ .kind = (uint8_t)kind,
                               .depth = 1,
                               .start = (uint32_t)start,
                               .end = (uint32_t)start,
                               .slot = RN_SLOT_NONE };
    }
    return e;
}

enum rn_code rn_expr_add(struct rn_parser *p, struct rn_expr *to,
                         struct rn_expr *kid)
{
    to->kids = rn_ast_grow(p->arena, to->kids, to->count, &to->room,
                           sizeof(struct rn_expr *));
    if (!to->kids)
        return RN_TOO_LARGE;
    to->kids[to->count++] = kid;
    if (to->depth <= kid->depth)
        to->depth = (uint16_t)(kid->depth + 1);
    to->end = (uint32_t)rn_parser_end(p);
    if (p->deepest < to->depth)
        p->deepest = to->depth;
    return to->depth > RN_QUERY_DEPTH_MAX ? rn_parser_too_deep(p) : RN_OK;
}

enum rn_code rn_parse_kid(struct rn_parser *p, struct rn_expr *to)
{
    struct rn_expr *kid;
    enum rn_code rc = rn_parse_expr(p, &kid);

    return rc ? rc : rn_expr_add(p, to, kid);
}

enum rn_code rn_parse_list(struct rn_parser *p, struct rn_expr *to)
{
    enum rn_code rc;

    do {
        rc = rn_parse_kid(p, to);
    } while (!rc && rn_parser_skip(p, ","));
    return rc;
}

/* ---- prefix ------------------------------------------------------------- */

static enum rn_op unary_op(const struct rn_parser *p)
{
    if (rn_parser_sees(p, "-"))
        return RN_OP_MINUS;
    if (rn_parser_sees(p, "+"))
        return RN_OP_PLUS;
    if (rn_parser_sees(p, "~"))
        return RN_OP_BIT_NOT;
    return p->now.word == RN_WORD_NOT ? RN_OP_NOT : RN_OP_NONE;
}

/* -5 is folded into a number, so that IN lists and plans contain a literal. */
static bool fold_minus(struct rn_expr *e)
{
    if (e->kind != RN_EXPR_LITERAL || e->value.kind != RN_VALUE_NUMBER)
        return false;
    if (e->value.is_integer && e->value.integer != INT64_MIN)
        e->value.integer = -e->value.integer;
    else
        e->value = rn_value_double(-rn_value_real(&e->value));
    return true;
}

static enum rn_code parse_unary(struct rn_parser *p, struct rn_expr **out)
{
    enum rn_op op = unary_op(p);
    size_t start = p->now.at;
    struct rn_expr *kid;
    enum rn_code rc;

    if (op == RN_OP_NONE)
        return rn_parse_postfix(p, out);
    if (++p->depth > RN_QUERY_DEPTH_MAX)
        return rn_parser_too_deep(p);
    rn_parser_take(p);
    rc = parse_unary(p, &kid);
    p->depth--;
    if (rc)
        return rc;
    if (op == RN_OP_MINUS && fold_minus(kid)) {
        kid->start = (uint32_t)start;
        *out = kid;
        return RN_OK;
    }
    *out = rn_expr_new(p, RN_EXPR_UNARY, start);
    if (!*out)
        return RN_TOO_LARGE;
    (*out)->op = (uint8_t)op;
    return rn_expr_add(p, *out, kid);
}

/* ---- binary -------------------------------------------------------------- */

static enum rn_op binary_op(const struct rn_parser *p, int *level)
{
    if (p->now.word == RN_WORD_AND) {
        *level = LEVEL_AND;
        return RN_OP_AND;
    }
    if (p->now.word == RN_WORD_OR) {
        *level = LEVEL_OR;
        return RN_OP_OR;
    }
    if (p->now.kind != RN_LEX_SIGN)
        return RN_OP_NONE;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (rn_parser_sees(p, operators[i].sign)) {
            *level = operators[i].level;
            return operators[i].op;
        }
    }
    return RN_OP_NONE;
}

/* AND and OR collect their operands in one node, since clients send
 * thousands. */
static enum rn_code combine(struct rn_parser *p, enum rn_op op,
                            struct rn_expr *right, struct rn_expr **out)
{
    struct rn_expr *left = *out;
    bool is_logic = op == RN_OP_AND || op == RN_OP_OR;
    enum rn_code rc;

    if (is_logic && left->kind == RN_EXPR_LOGIC && left->op == op)
        return rn_expr_add(p, left, right);
    *out =
        rn_expr_new(p, is_logic ? RN_EXPR_LOGIC : RN_EXPR_BINARY, left->start);
    if (!*out)
        return RN_TOO_LARGE;
    (*out)->op = (uint8_t)op;
    rc = rn_expr_add(p, *out, left);
    return rc ? rc : rn_expr_add(p, *out, right);
}

static enum rn_code parse_between(struct rn_parser *p, struct rn_expr *e)
{
    struct rn_expr *bound;
    enum rn_code rc;

    rc = parse_binary(p, LOOSEST_OPERAND, &bound);
    if (!rc)
        rc = rn_expr_add(p, e, bound);
    if (!rc)
        rc = rn_parser_expect_word(p, RN_WORD_AND);
    if (!rc)
        rc = parse_binary(p, LOOSEST_OPERAND, &bound);
    return rc ? rc : rn_expr_add(p, e, bound);
}

static enum rn_code parse_in(struct rn_parser *p, struct rn_expr *e)
{
    enum rn_code rc = rn_parser_expect(p, "(");

    if (!rc)
        rc = rn_parse_list(p, e);
    if (!rc)
        rc = rn_parser_expect(p, ")");
    e->end = (uint32_t)rn_parser_end(p);
    return rc;
}

static bool is_one_character(struct rn_view text)
{
    return text.len && rn_utf8_len(text.at, text.at + text.len) == text.len;
}

static enum rn_code parse_like(struct rn_parser *p, struct rn_expr *e)
{
    struct rn_expr *pattern;
    enum rn_code rc = parse_binary(p, LOOSEST_OPERAND, &pattern);

    if (!rc)
        rc = rn_expr_add(p, e, pattern);
    if (rc || !rn_parser_skip_word(p, RN_WORD_ESCAPE))
        return rc;
    if (p->now.kind != RN_LEX_STRING)
        return rn_parser_refuse(p);
    rc = rn_lex_unquote(p->now.text, p->arena, &e->name);
    if (rc == RN_BAD_REQUEST || (!rc && !is_one_character(e->name)))
        return rn_parser_refuse(p);
    rn_parser_take(p);
    return rc;
}

/* Parses [NOT] BETWEEN, IN or LIKE with `out` as its left operand, if one
 * follows. */
static enum rn_code parse_predicate(struct rn_parser *p, struct rn_expr **out)
{
    bool is_negated = p->now.word == RN_WORD_NOT;
    enum rn_word word = is_negated ? rn_parser_peek(p).word : p->now.word;
    enum rn_expr_kind kind = word == RN_WORD_BETWEEN ? RN_EXPR_BETWEEN
                             : word == RN_WORD_IN    ? RN_EXPR_IN
                                                     : RN_EXPR_LIKE;
    struct rn_expr *e;
    enum rn_code rc;

    if (word != RN_WORD_BETWEEN && word != RN_WORD_IN && word != RN_WORD_LIKE)
        return RN_OK;
    e = rn_expr_new(p, kind, (*out)->start);
    if (!e)
        return RN_TOO_LARGE;
    e->is_negated = is_negated;
    if (is_negated)
        rn_parser_take(p);
    rn_parser_take(p);
    rc = rn_expr_add(p, e, *out);
    *out = e;
    if (rc)
        return rc;
    return kind == RN_EXPR_BETWEEN ? parse_between(p, e)
           : kind == RN_EXPR_IN    ? parse_in(p, e)
                                   : parse_like(p, e);
}

/* Parses operators of `level` and tighter. */
static enum rn_code parse_binary(struct rn_parser *p, int level,
                                 struct rn_expr **out)
{
    struct rn_expr *right;
    enum rn_op op;
    int found = 0;
    enum rn_code rc = parse_unary(p, out);

    for (int limit = 1; !rc;) {
        if (limit < LEVEL_PREDICATE && level >= LEVEL_PREDICATE) {
            op = binary_op(p, &found);
            if (op == RN_OP_NONE || found > LOOSEST_OPERAND) {
                rc = parse_predicate(p, out);
                limit = LEVEL_PREDICATE;
                continue;
            }
        }
        op = binary_op(p, &found);
        if (op == RN_OP_NONE || found > level || found < limit)
            break;
        rn_parser_take(p);
        rc = parse_binary(p, found - 1, &right);
        if (!rc)
            rc = combine(p, op, right, out);
        limit = limit > found ? limit : found;
    }
    return rc;
}

enum rn_code rn_parse_expr(struct rn_parser *p, struct rn_expr **out)
{
    struct rn_expr *choice;
    enum rn_code rc;

    if (++p->depth > RN_QUERY_DEPTH_MAX)
        return rn_parser_too_deep(p);
    rc = parse_binary(p, LEVEL_ANY, out);
    if (!rc && rn_parser_skip(p, "?")) {
        choice = rn_expr_new(p, RN_EXPR_CHOICE, (*out)->start);
        rc = choice ? rn_expr_add(p, choice, *out) : RN_TOO_LARGE;
        if (!rc)
            rc = rn_parse_kid(p, choice);
        if (!rc)
            rc = rn_parser_expect(p, ":");
        if (!rc)
            rc = rn_parse_kid(p, choice);
        *out = choice;
    }
    p->depth--;
    return rc;
}
