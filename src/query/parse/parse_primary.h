/* parse_primary.h -- the parser of operands: literals, names, calls,
 * constructors, subqueries and paths; internal to the parser. */
#ifndef RN_QUERY_PARSE_PARSE_PRIMARY_H
#define RN_QUERY_PARSE_PARSE_PRIMARY_H

#include "query/parse/parser.h"

/* A literal, a name, a parameter, a call, or a bracketed expression. */
enum rn_code rn_parse_primary(struct rn_parser *p,
                              struct rn_expr **out) RN_CHECK;
/* A primary expression followed by members and indexes: a path. */
enum rn_code rn_parse_postfix(struct rn_parser *p,
                              struct rn_expr **out) RN_CHECK;

#endif
