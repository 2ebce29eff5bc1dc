/* encode.h -- a canonical encoding of values, for hash tables and for the
 * hashes of unique keys in the store; encode.c has the format. */
#ifndef RN_QUERY_RUN_ENCODE_H
#define RN_QUERY_RUN_ENCODE_H

#include "query/run/value.h"

/* An encoding that is the same exactly for equal values. */
enum rn_code rn_value_encode(const struct rn_value *v, struct rn_arena *arena,
                             struct rn_buf *out) RN_CHECK;

/* The members of an object sorted by name, in the arena. */
enum rn_code rn_value_sort_members(const struct rn_value *v,
                                   struct rn_arena *arena,
                                   struct rn_member **out,
                                   uint32_t *count) RN_CHECK;

#endif
