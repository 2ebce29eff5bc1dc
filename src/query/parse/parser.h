/* parser.h -- the state of a recursive-descent parser: its tokens, with a
 * lookahead of two, and its nesting; internal to the parser.
 *
 * parse.c, parse_expr.c and parse_primary.c parse with it.  Nesting is counted,
 * so that no text can exhaust the stack.
 */
#ifndef RN_QUERY_PARSE_PARSER_H
#define RN_QUERY_PARSE_PARSER_H

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
/* The end of the token taken last. */
size_t rn_parser_end(const struct rn_parser *p);

/* Always RN_BAD_REQUEST; inline, so that clang-tidy knows that. */
static inline enum rn_code rn_parser_too_deep(struct rn_parser *p)
{
    rn_faults_add(p->faults, NULL, 0, 0, "The query is nested deeper than %d.",
                  RN_QUERY_DEPTH_MAX);
    return RN_BAD_REQUEST;
}

#endif
