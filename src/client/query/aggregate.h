/* aggregate.h -- combines the partial aggregates of several ranges.
 *
 *   COUNT, COUNTIF   {"item":n}            the sum of all
 *   SUM              {"item":n} or {}      undefined if one is
 *   AVG              {"item":{"sum":n,"count":n}}
 *   MIN, MAX         {"item":v,"item2":{"min":v,"count":n}}
 *   MAKELIST         {"item":[...]}        concatenated
 *   MAKESET          {"item":[...]}        each once
 *
 * One thread.
 */
#ifndef RN_CLIENT_QUERY_AGGREGATE_H
#define RN_CLIENT_QUERY_AGGREGATE_H

#include "client/query/plan.h"
#include "client/query/value.h"
#include "client/query/value_set.h"

struct rn_total {
    enum rn_merge_aggregate kind;
    bool is_undefined; /* undefined, whatever else comes */
    bool has_value;
    int64_t whole; /* the sum while it is an integer of 64 bits */
    bool is_real;  /* the sum no longer is */
    double real, count;
    struct rn_view value;     /* JSON: the least, the greatest, of the key */
    struct rn_buf list;       /* elements, a comma before each */
    struct rn_value_set seen; /* the elements of a set */
};

void rn_total_init(struct rn_total *t, enum rn_merge_aggregate kind);
void rn_total_release(struct rn_total *t);

/* Adds the partial result of a range.  Values that are kept are copied to the
 * arena, whose limit is that of the query.  RN_CORRUPT if it does not have that
 * form. */
enum rn_code rn_total_add(struct rn_total *t, struct rn_merge_item said,
                          struct rn_arena *arena) RN_CHECK;

/* Appends the result; if it is undefined, `*defined` is false and nothing is
 * appended.  RN_BAD_REQUEST: it is too large for a number. */
enum rn_code rn_total_print(const struct rn_total *t, struct rn_buf *out,
                            bool *defined) RN_CHECK;

#endif
