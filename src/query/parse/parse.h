/* parse.h -- the parser's internal interface, shared by parse.c, parse_expr.c
 * and parse_primary.c.
 *
 * Recursive descent, with precedence climbing for binary operators.  Nesting is
 * counted, so that no text can exhaust the stack.
 */
#ifndef RN_QUERY_PARSE_PARSE_H
#define RN_QUERY_PARSE_PARSE_H

#include "query/check/fault.h"
#include "query/parse/ast.h"
#include "query/parse/lex.h"

struct rn_parser {
    struct rn_lexer lexer; /* positioned after `now` */
    struct rn_lexeme now;
    struct rn_lexeme before; /* the token taken last */
    struct rn_arena *arena;
    struct rn_faults *faults;
    uint32_t depth;   /* current nesting */
    uint32_t joins;   /* in the whole text */
    uint16_t deepest; /* expression parsed so far in this SELECT */
};

/* Parses a whole text into `out`.  RN_BAD_REQUEST with a fault recorded, or
 * RN_TOO_LARGE when the arena is full. */
enum rn_code rn_parse(struct rn_view text, struct rn_arena *a,
                      struct rn_faults *faults,
                      struct rn_select **out) RN_CHECK;

enum rn_code rn_parse_select(struct rn_parser *p,
                             struct rn_select **out) RN_CHECK;
enum rn_code rn_parse_expr(struct rn_parser *p, struct rn_expr **out) RN_CHECK;
/* A literal, a name, a parameter, a call, or a bracketed expression. */
enum rn_code rn_parse_primary(struct rn_parser *p,
                              struct rn_expr **out) RN_CHECK;
/* A primary expression followed by members and indexes: a path. */
enum rn_code rn_parse_postfix(struct rn_parser *p,
                              struct rn_expr **out) RN_CHECK;
/* Parses an expression and appends it to the kids of `to`. */
enum rn_code rn_parse_kid(struct rn_parser *p, struct rn_expr *to) RN_CHECK;
/* expr {"," expr}, appended to the kids of `to`. */
enum rn_code rn_parse_list(struct rn_parser *p, struct rn_expr *to) RN_CHECK;

void rn_parser_take(struct rn_parser *p);
bool rn_parser_sees(const struct rn_parser *p, const char *sign);
bool rn_parser_skip(struct rn_parser *p, const char *sign);
bool rn_parser_skip_word(struct rn_parser *p, enum rn_word word);
bool rn_parser_name_is(const struct rn_parser *p, const char *name);
/* The token after this one. */
struct rn_lexeme rn_parser_peek(const struct rn_parser *p);
enum rn_code rn_parser_expect(struct rn_parser *p, const char *sign) RN_CHECK;
enum rn_code rn_parser_expect_word(struct rn_parser *p,
                                   enum rn_word word) RN_CHECK;
/* Records a syntax error at the current token. */
enum rn_code rn_parser_refuse(struct rn_parser *p);
enum rn_code rn_parser_too_deep(struct rn_parser *p);
/* The end of the token taken last. */
size_t rn_parser_end(const struct rn_parser *p);

struct rn_expr *rn_expr_new(struct rn_parser *p, enum rn_expr_kind kind,
                            size_t start);
enum rn_code rn_expr_add(struct rn_parser *p, struct rn_expr *to,
                         struct rn_expr *kid) RN_CHECK;

#endif
