/* parse.c -- the parser of SELECT and its clauses. */
#include "query/parse/parse.h"

#include "query/parse/parse_expr.h"
#include "query/parse/parse_primary.h"
#include "json/utf8.h"

/* ---- names --------------------------------------------------------------- */

/* LEFT and RIGHT are function names here and JOIN keywords in other dialects.
 * If they were allowed as aliases, an outer join would silently parse as an
 * alias. */
static enum rn_code take_name(struct rn_parser *p, struct rn_view *out)
{
    if (p->now.kind != RN_LEX_NAME || p->now.word != RN_WORD_NONE ||
        rn_parser_name_is(p, "LEFT") || rn_parser_name_is(p, "RIGHT"))
        return rn_parser_refuse(p);
    *out = p->now.text;
    rn_parser_take(p);
    return RN_OK;
}

/* [AS] name; AS is optional. */
static enum rn_code take_alias(struct rn_parser *p, struct rn_view *out)
{
    if (rn_parser_skip_word(p, RN_WORD_AS))
        return take_name(p, out);
    if (p->now.kind == RN_LEX_NAME && p->now.word == RN_WORD_NONE)
        return take_name(p, out);
    return RN_OK;
}

/* ---- clauses ------------------------------------------------------------- */

/* Up to the token that was taken last. */
static struct rn_clause clause_from(const struct rn_parser *p, uint32_t start)
{
    return (struct rn_clause){ start, (uint32_t)rn_parser_end(p) };
}

/* An integer, or a parameter for one.  It takes no postfix operator: SELECT TOP
 * 10 [c.a, c.b] yields arrays. */
static enum rn_code parse_count(struct rn_parser *p, struct rn_expr **out)
{
    bool is_whole = p->now.kind == RN_LEX_NUMBER;

    for (size_t i = 0; i < p->now.text.len && is_whole; i++)
        is_whole = p->now.text.at[i] >= '0' && p->now.text.at[i] <= '9';
    if (!is_whole && p->now.kind != RN_LEX_PARAMETER)
        return rn_parser_refuse(p);
    return rn_parse_primary(p, out);
}

static enum rn_code parse_item(struct rn_parser *p, struct rn_select *s)
{
    struct rn_item *item;
    enum rn_code rc;

    s->items = rn_ast_grow(p->arena, s->items, s->item_count, &s->item_room,
                           sizeof(*s->items));
    if (!s->items)
        return RN_TOO_LARGE;
    item = &s->items[s->item_count++];
    *item = (struct rn_item){ 0 };
    rc = rn_parse_expr(p, &item->expr);
    return rc ? rc : take_alias(p, &item->alias);
}

static enum rn_code parse_items(struct rn_parser *p, struct rn_select *s)
{
    enum rn_code rc;

    if (rn_parser_sees(p, "*")) {
        s->kind = RN_SELECT_STAR;
        s->star = (uint32_t)p->now.at;
        rn_parser_take(p);
        return RN_OK;
    }
    if (rn_parser_skip_word(p, RN_WORD_VALUE)) {
        s->kind = RN_SELECT_VALUE;
        return parse_item(p, s);
    }
    s->kind = RN_SELECT_LIST;
    do {
        rc = parse_item(p, s);
    } while (!rc && rn_parser_skip(p, ","));
    return rc;
}

/* FROM accepts only a path; any other expression is rejected at its first
 * token. */
static bool is_path(const struct rn_expr *e)
{
    while (e->kind == RN_EXPR_MEMBER ||
           (e->kind == RN_EXPR_INDEX && e->kids[1]->kind == RN_EXPR_LITERAL &&
            e->kids[1]->value.kind == RN_VALUE_NUMBER))
        e = e->kids[0];
    return e->kind == RN_EXPR_NAME;
}

static enum rn_code parse_collection(struct rn_parser *p, struct rn_from *f)
{
    struct rn_parser start = *p;
    enum rn_code rc;

    if (rn_parser_sees(p, "(")) {
        rn_parser_take(p);
        rc = rn_parse_select(p, &f->query);
        return rc ? rc : rn_parser_expect(p, ")");
    }
    rc = rn_parse_postfix(p, &f->path);
    if (!rc && !is_path(f->path))
        rc = rn_parser_refuse(&start);
    return rc;
}

static enum rn_code parse_source(struct rn_parser *p, struct rn_select *s)
{
    struct rn_from *f;
    uint32_t start;
    enum rn_code rc = RN_OK;

    s->from = rn_ast_grow(p->arena, s->from, s->from_count, &s->from_room,
                          sizeof(*s->from));
    if (!s->from)
        return RN_TOO_LARGE;
    f = &s->from[s->from_count++];
    *f = (struct rn_from){ .slot = RN_SLOT_NONE };
    start = (uint32_t)p->now.at;
    if (p->now.kind == RN_LEX_NAME && rn_parser_peek(p).word == RN_WORD_IN) {
        f->is_each = true;
        rc = take_name(p, &f->alias);
        if (!rc)
            rc = rn_parser_expect_word(p, RN_WORD_IN);
    }
    if (!rc)
        rc = parse_collection(p, f);
    f->at = clause_from(p, start);
    return rc || f->is_each ? rc : take_alias(p, &f->alias);
}

static enum rn_code parse_from(struct rn_parser *p, struct rn_select *s)
{
    uint32_t start = (uint32_t)p->now.at;
    enum rn_code rc = parse_source(p, s);

    while (!rc && rn_parser_skip_word(p, RN_WORD_JOIN)) {
        if (p->joins++ == RN_QUERY_JOINS_MAX) {
            return rn_faults_add(p->faults, "SC3002", 0, p->lexer.text.len,
                                 "The SQL query exceeded the maximum number of "
                                 "joins. The allowed limit is %d.",
                                 RN_QUERY_JOINS_MAX);
        }
        rc = parse_source(p, s);
    }
    s->from_at = clause_from(p, start);
    return rc;
}

static enum rn_code parse_group(struct rn_parser *p, struct rn_select *s)
{
    enum rn_code rc = rn_parser_expect_word(p, RN_WORD_BY);

    if (rc)
        return rc;
    do {
        s->group = rn_ast_grow(p->arena, s->group, s->group_count,
                               &s->group_room, sizeof(struct rn_expr *));
        if (!s->group)
            return RN_TOO_LARGE;
        rc = rn_parse_expr(p, &s->group[s->group_count++]);
    } while (!rc && rn_parser_skip(p, ","));
    return rc;
}

static enum rn_code parse_order_item(struct rn_parser *p, struct rn_select *s)
{
    struct rn_order *order;
    enum rn_code rc;

    s->order = rn_ast_grow(p->arena, s->order, s->order_count, &s->order_room,
                           sizeof(*s->order));
    if (!s->order)
        return RN_TOO_LARGE;
    order = &s->order[s->order_count++];
    *order = (struct rn_order){ 0 };
    rc = rn_parse_expr(p, &order->expr);
    if (rn_parser_skip_word(p, RN_WORD_ASC))
        order->direction = RN_ORDER_ASC;
    else if (rn_parser_skip_word(p, RN_WORD_DESC))
        order->direction = RN_ORDER_DESC;
    if (!rc && s->is_rank && order->expr->kind != RN_EXPR_CALL)
        rc = rn_parser_refuse(p);
    return rc;
}

static enum rn_code parse_order(struct rn_parser *p, struct rn_select *s)
{
    enum rn_code rc = rn_parser_expect_word(p, RN_WORD_BY);

    if (rc)
        return rc;
    if (rn_parser_name_is(p, "RANK") && rn_parser_peek(p).kind == RN_LEX_NAME &&
        rn_parser_peek(p).word == RN_WORD_NONE) {
        rn_parser_take(p);
        s->is_rank = true;
    }
    do {
        rc = parse_order_item(p, s);
    } while (!rc && rn_parser_skip(p, ","));
    return rc;
}

static enum rn_code parse_offset(struct rn_parser *p, struct rn_select *s)
{
    enum rn_code rc = parse_count(p, &s->offset);

    if (!rc)
        rc = rn_parser_expect_word(p, RN_WORD_LIMIT);
    return rc ? rc : parse_count(p, &s->limit);
}

static enum rn_code parse_clauses(struct rn_parser *p, struct rn_select *s)
{
    uint32_t start;
    enum rn_code rc = RN_OK;

    if (rn_parser_skip_word(p, RN_WORD_FROM))
        rc = parse_from(p, s);
    if (!rc && rn_parser_skip_word(p, RN_WORD_WHERE))
        rc = rn_parse_expr(p, &s->where);
    if (!rc && rn_parser_skip_word(p, RN_WORD_GROUP))
        rc = parse_group(p, s);
    start = (uint32_t)p->now.at;
    if (!rc && rn_parser_skip_word(p, RN_WORD_ORDER)) {
        rc = parse_order(p, s);
        s->order_at = clause_from(p, start);
    }
    start = (uint32_t)p->now.at;
    if (!rc && rn_parser_skip_word(p, RN_WORD_OFFSET)) {
        rc = parse_offset(p, s);
        s->offset_at = clause_from(p, start);
    }
    return rc;
}

static enum rn_code parse_body(struct rn_parser *p, struct rn_select *s)
{
    uint32_t start;
    enum rn_code rc;

    rc = rn_parser_expect_word(p, RN_WORD_SELECT);
    if (!rc) {
        s->is_distinct = rn_parser_skip_word(p, RN_WORD_DISTINCT);
        start = (uint32_t)p->now.at;
        if (rn_parser_skip_word(p, RN_WORD_TOP))
            rc = parse_count(p, &s->top);
        s->top_at = clause_from(p, start);
    }
    if (!rc)
        rc = parse_items(p, s);
    return rc ? rc : parse_clauses(p, s);
}

/* Executing a SELECT takes a deeper stack than evaluating an expression. */
enum { DEPTH_OF_SELECT = 8 };

enum rn_code rn_parse_select(struct rn_parser *p, struct rn_select **out)
{
    struct rn_select *s = rn_arena_alloc(p->arena, sizeof(*s));
    uint16_t deepest = p->deepest;
    enum rn_code rc;

    if (!s)
        return RN_TOO_LARGE;
    *s = (struct rn_select){ 0 };
    *out = s;
    p->depth += DEPTH_OF_SELECT;
    if (p->depth > RN_QUERY_DEPTH_MAX)
        return rn_parser_too_deep(p);
    p->deepest = 1;
    rc = parse_body(p, s);
    p->depth -= DEPTH_OF_SELECT;
    s->depth = (uint16_t)(p->deepest + DEPTH_OF_SELECT);
    if (!rc && s->depth > RN_QUERY_DEPTH_MAX + DEPTH_OF_SELECT)
        rc = rn_parser_too_deep(p);
    p->deepest = deepest > s->depth ? deepest : s->depth;
    return rc;
}

/* PCRE2 requires the strings of a query to be valid UTF-8. */
static enum rn_code check_utf8(struct rn_view text, struct rn_faults *faults)
{
    for (size_t i = 0, n; i < text.len; i += n) {
        n = rn_utf8_len(text.at + i, text.at + text.len);
        if (n == 0)
            return rn_faults_add(faults, "SC1012", i, i + 1,
                                 "The query text is not UTF-8.");
    }
    return RN_OK;
}

enum rn_code rn_parse(struct rn_view text, struct rn_arena *a,
                      struct rn_faults *faults, struct rn_select **out)
{
    struct rn_parser p = { .lexer = { .text = text },
                           .arena = a,
                           .faults = faults };
    enum rn_code rc;

    faults->text = text;
    if (text.len > RN_QUERY_TEXT_MAX) {
        return rn_faults_add(faults, NULL, 0, 0,
                             "The query text is longer than %d bytes.",
                             RN_QUERY_TEXT_MAX);
    }
    rc = check_utf8(text, faults);
    if (rc)
        return rc;
    rn_parser_take(&p);
    rc = rn_parse_select(&p, out);
    if (!rc && p.now.kind != RN_LEX_END)
        rc = rn_parser_refuse(&p);
    return rc;
}
