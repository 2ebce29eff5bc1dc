/* parse_expr.h -- the parser of expressions: operators by their precedence;
 * internal to the parser. */
#ifndef RN_QUERY_PARSE_PARSE_EXPR_H
#define RN_QUERY_PARSE_PARSE_EXPR_H

#include "query/parse/parser.h"

enum rn_code rn_parse_expr(struct rn_parser *p, struct rn_expr **out) RN_CHECK;
/* Parses an expression and appends it to the kids of `to`. */
enum rn_code rn_parse_kid(struct rn_parser *p, struct rn_expr *to) RN_CHECK;
/* expr {"," expr}, appended to the kids of `to`. */
enum rn_code rn_parse_list(struct rn_parser *p, struct rn_expr *to) RN_CHECK;

/* A node of the tree that begins at byte `start` of the text. */
struct rn_expr *rn_expr_new(struct rn_parser *p, enum rn_expr_kind kind,
                            size_t start);
enum rn_code rn_expr_add(struct rn_parser *p, struct rn_expr *to,
                         struct rn_expr *kid) RN_CHECK;

#endif
