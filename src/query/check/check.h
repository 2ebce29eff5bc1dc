/* check.h -- semantic analysis of a parsed query.
 *
 * Assigns a slot to each source, aggregate and group key, binds names and
 * parameters, resolves functions, and rejects invalid queries.
 */
#ifndef RN_QUERY_CHECK_CHECK_H
#define RN_QUERY_CHECK_CHECK_H

#include "query/check/fault.h"
#include "query/parse/ast.h"

struct rn_check {
    struct rn_arena *arena;
    struct rn_faults *faults;
    const struct rn_json *json;     /* of the parameters; NULL: none */
    uint32_t parameters;            /* an array of {name, value} */
    struct rn_parameters *given;    /* the same, indexed by name */
    uint32_t slots;                 /* assigned so far */
    const struct rn_policy *policy; /* of the container; NULL: none */
    struct rn_expr **computed;      /* computed properties parsed so far */
};

/* Checks a whole query and counts its slots in `c->slots`.  RN_BAD_REQUEST with
 * faults recorded, or RN_TOO_LARGE. */
enum rn_code rn_check_query(struct rn_check *c, struct rn_select *s) RN_CHECK;

/* Binds the single item of SELECT VALUE over one whole document, whose slot is
 * 0. */
enum rn_code rn_check_item(struct rn_check *c, struct rn_select *s) RN_CHECK;

#endif
