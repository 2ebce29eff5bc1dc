/* check.h -- what the names and calls of a parsed query mean.
 *
 * Gives each source, aggregate and group key its slot, binds names and
 * parameters, finds functions, and refuses what has no meaning.
 */
#ifndef RN_QUERY_CHECK_H
#define RN_QUERY_CHECK_H

#include "query/ast.h"
#include "query/fault.h"

struct rn_check {
    struct rn_arena *arena;
    struct rn_faults *faults;
    const struct rn_json *json; /* of the parameters; NULL: none */
    uint32_t parameters;        /* an array of {name, value} */
    uint32_t slots;             /* given out so far */
};

/* Checks a whole query, whose slots are then counted in `c->slots`.
 * RN_BAD_REQUEST with faults noted, or RN_TOO_LARGE. */
enum rn_code rn_check_query(struct rn_check *c, struct rn_select *s) RN_CHECK;

/* Checks SELECT and GROUP BY against each other; the checker's own. */
enum rn_code rn_check_groups(struct rn_check *c, struct rn_select *s) RN_CHECK;

/* True if both say the same, with names bound the same. */
bool rn_expr_equals(const struct rn_expr *a, const struct rn_expr *b);

/* The name a path of members and indexes begins with, or NULL. */
const struct rn_expr *rn_expr_root(const struct rn_expr *e);

#endif
