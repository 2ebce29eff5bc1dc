/* valuekey.h -- a bounded key for a row of values, by which the rows of
 * DISTINCT and GROUP BY are ordered; internal to the module. */
#ifndef RN_QUERY_RUN_VALUEKEY_H
#define RN_QUERY_RUN_VALUEKEY_H

#include "query/run/value.h"

struct rn_run;

enum { RN_VALUES_HASH_LEN = 16, RN_VALUEKEY_MAX = 256 + RN_VALUES_HASH_LEN };

struct rn_valuekey {
    size_t len;
    char bytes[RN_VALUEKEY_MAX];
};

/* The key of a row of values; valuekey.c has the format. */
enum rn_code rn_valuekey_make(const struct rn_value *values, uint32_t count,
                              struct rn_run *r,
                              struct rn_valuekey *out) RN_CHECK;
/* A hash of the values; equal values have equal hashes. */
enum rn_code rn_values_hash(const struct rn_value *values, uint32_t count,
                            struct rn_run *r,
                            char out[RN_VALUES_HASH_LEN]) RN_CHECK;

#endif
