/* print.h -- prints a syntax tree as query text.
 *
 * The form is that of the service's planner: operators in parentheses, strings
 * in double quotes, one clause per line.  The output parses to the same tree.
 *
 * The first error is kept, and later calls do nothing.
 */
#ifndef RN_QUERY_PARSE_PRINT_H
#define RN_QUERY_PARSE_PRINT_H

#include "query/parse/ast.h"

struct rn_printer {
    struct rn_buf *buf;
    enum rn_code rc;
    uint32_t nested; /* depth of the enclosing subqueries */
};

#define RN_PRINTER_INIT(b) ((struct rn_printer){ .buf = (b) })

void rn_print_text(struct rn_printer *p, const char *text);
void rn_print_view(struct rn_printer *p, struct rn_view text);
void rn_print_string(struct rn_printer *p, struct rn_view text);
void rn_print_count(struct rn_printer *p, uint64_t count);
void rn_print_expr(struct rn_printer *p, const struct rn_expr *e);
void rn_print_select(struct rn_printer *p, const struct rn_select *s);
/* Single clauses, each with its leading separator; they print nothing if the
 * query does not have the clause. */
void rn_print_from(struct rn_printer *p, const struct rn_select *s);
void rn_print_where(struct rn_printer *p, const struct rn_select *s);
void rn_print_group(struct rn_printer *p, const struct rn_select *s);
void rn_print_order(struct rn_printer *p, const struct rn_select *s);
void rn_print_offset(struct rn_printer *p, const struct rn_select *s);
void rn_print_items(struct rn_printer *p, const struct rn_select *s);

#endif
