/* aggregate.h -- the accumulator of an aggregate function; internal to the
 * module. */
#ifndef RN_QUERY_RUN_AGGREGATE_H
#define RN_QUERY_RUN_AGGREGATE_H

#include "query/run/hash_set.h"
#include "query/run/run.h"

struct rn_aggregate {
    const struct rn_function *function;
    uint64_t count; /* of defined inputs */
    double sum;
    bool is_spoilt; /* an input had an invalid type */
    struct rn_value best;
    size_t best_room; /* capacity of the memory of a best string */
    struct rn_value *list;
    uint32_t list_count, list_room;
    struct rn_hash_set set;
};

enum rn_code rn_aggregate_add(struct rn_run *r, struct rn_aggregate *a,
                              const struct rn_value *v, enum rn_hold hold,
                              struct rn_arena *arena) RN_CHECK;
struct rn_value rn_aggregate_end(const struct rn_aggregate *a);

#endif
