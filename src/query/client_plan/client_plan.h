/* client_plan.h -- the query plan for SDKs: how to execute a query over several
 * ranges.
 *
 * An SDK sends the rewritten text to each range and merges the rows as the plan
 * says: it sorts by orderByItems, adds up aggregates, groups by groupByItems,
 * drops repetitions, and applies TOP or OFFSET and LIMIT.
 */
#ifndef RN_QUERY_CLIENT_PLAN_CLIENT_PLAN_H
#define RN_QUERY_CLIENT_PLAN_CLIENT_PLAN_H

#include "query/query.h"

/* How the values of a partition key map to ranges. */
struct rn_plan_keys {
    const struct rn_json_path *paths;
    uint32_t count;
    bool is_hierarchical; /* a prefix of the values already selects a range */
    struct rn_view features; /* supported by the client; empty: all */
    void *context;
    /* Writes the effective partition key of `count` values; for a prefix, also
     * the end of its interval. */
    enum rn_code (*place)(void *context, const struct rn_value *values,
                          uint32_t count, struct rn_buf *min,
                          struct rn_buf *max);
};

/* The body of the answer to a plan request.  RN_BAD_REQUEST with a fault if the
 * results of several ranges cannot be merged. */
enum rn_code rn_query_plan_print(const struct rn_query *q,
                                 const struct rn_plan_keys *keys,
                                 struct rn_faults *faults, struct rn_buf *out,
                                 struct rn_err *err) RN_CHECK;

#endif
