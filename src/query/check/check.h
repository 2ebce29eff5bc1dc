/* check.h -- what the names and calls of a parsed query mean.
 *
 * Gives each source, aggregate and group key its slot, binds names and
 * parameters, finds functions, and refuses what has no meaning.
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
    struct rn_parameters *given;    /* the same, by name */
    uint32_t slots;                 /* given out so far */
    const struct rn_policy *policy; /* of the container; NULL: none */
    struct rn_expr **computed;      /* of the policy, those met so far */
};

/* Checks a whole query, whose slots are then counted in `c->slots`.
 * RN_BAD_REQUEST with faults noted, or RN_TOO_LARGE. */
enum rn_code rn_check_query(struct rn_check *c, struct rn_select *s) RN_CHECK;

/* Reads what the query was sent with, and gives a parameter its value; the
 * checker's own. */
enum rn_code rn_parameters_read(struct rn_check *c) RN_CHECK;
enum rn_code rn_parameters_bind(struct rn_check *c, struct rn_expr *e) RN_CHECK;

/* Checks SELECT and GROUP BY against each other; the checker's own. */
enum rn_code rn_check_groups(struct rn_check *c, struct rn_select *s) RN_CHECK;

/* Decides how a call of VectorDistance compares, and checks its option; the
 * checker's own. */
enum rn_code rn_check_vector(struct rn_check *c, struct rn_expr *e,
                             const struct rn_select *s) RN_CHECK;

/* Checks that ORDER BY sorts groups by their keys; the checker's own. */
enum rn_code rn_check_group_order(struct rn_check *c,
                                  struct rn_select *s) RN_CHECK;

/* Refuses orders that no index of the container serves; the checker's own. */
enum rn_code rn_check_order(struct rn_check *c, struct rn_select *s) RN_CHECK;

/* Decides which way a checked key goes if nobody said. */
void rn_order_set_direction(struct rn_order *order);

/* The expression that the policy gives the name; NULL if it gives none. */
enum rn_code rn_check_computed(struct rn_check *c, struct rn_view name,
                               struct rn_expr **out) RN_CHECK;
/* Binds the one item of a SELECT VALUE from one whole document, whose slot is
 * 0. */
enum rn_code rn_check_item(struct rn_check *c, struct rn_select *s) RN_CHECK;

/* The path of the document that an expression reads, if that is all it does;
 * else it is empty. */
enum rn_code rn_expr_path(const struct rn_select *s, const struct rn_expr *e,
                          struct rn_arena *a,
                          struct rn_json_path *out) RN_CHECK;

/* True if both say the same, with names bound the same. */
bool rn_expr_equals(const struct rn_expr *a, const struct rn_expr *b);

/* The name a path of members and indexes begins with, or NULL. */
const struct rn_expr *rn_expr_root(const struct rn_expr *e);

#endif
