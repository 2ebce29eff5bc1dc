/* aggregate.h -- an aggregate put together from what ranges say of it.
 *
 *   COUNT, COUNTIF   {"item":n}            the sum of all
 *   SUM              {"item":n} or {}      undefined if one is
 *   AVG              {"item":{"sum":n,"count":n}}
 *   MIN, MAX         {"item":v,"item2":{"min":v,"count":n}}
 *   MAKELIST         {"item":[...]}        one after the other
 *   MAKESET          {"item":[...]}        each once
 *
 * One thread.
 */
#ifndef RN_CLIENT_QUERY_AGGREGATE_H
#define RN_CLIENT_QUERY_AGGREGATE_H

#include "client/query/plan.h"
#include "client/query/seen.h"
#include "client/query/value.h"

struct rn_total {
    enum rn_merge_aggregate kind;
    bool is_undefined; /* whatever else comes */
    bool has_value;
    int64_t whole; /* of a sum while it is one of integers that fit */
    bool is_real;  /* no longer */
    double real, count;
    struct rn_view value; /* JSON: the least, the greatest, of the key */
    struct rn_buf list;   /* elements, a comma before each */
    struct rn_seen seen;  /* of a set */
};

void rn_total_init(struct rn_total *t, enum rn_merge_aggregate kind);
void rn_total_release(struct rn_total *t);

/* Adds what a range says.  Values that are kept are copied to the arena, whose
 * ceiling is that of the query.  RN_CORRUPT if it is not of that form. */
enum rn_code rn_total_add(struct rn_total *t, struct rn_merge_item said,
                          struct rn_arena *arena) RN_CHECK;

/* Appends the result; `*defined` is false, and nothing is, if there is none. */
enum rn_code rn_total_print(const struct rn_total *t, struct rn_buf *out,
                            bool *defined) RN_CHECK;

#endif
