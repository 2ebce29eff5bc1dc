/* parse.h -- the parser: the text of a query to its syntax tree.
 *
 * Recursive descent: parse.c has SELECT and its clauses, parse_expr.c the
 * operators, by precedence climbing, and parse_primary.c the operands.
 */
#ifndef RN_QUERY_PARSE_PARSE_H
#define RN_QUERY_PARSE_PARSE_H

#include "query/parse/parser.h"

/* Parses a whole text into `out`.  RN_BAD_REQUEST with a fault recorded, or
 * RN_TOO_LARGE when the arena is full. */
enum rn_code rn_parse(struct rn_view text, struct rn_arena *a,
                      struct rn_faults *faults,
                      struct rn_select **out) RN_CHECK;

/* A query or a subquery; internal to the parser. */
enum rn_code rn_parse_select(struct rn_parser *p,
                             struct rn_select **out) RN_CHECK;

#endif
