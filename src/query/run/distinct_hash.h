/* distinct_hash.h -- the SDKs' DistinctHash: the 128-bit hash by which clients
 * order arrays and objects.
 *
 * .NET merges the rows of several ranges by ORDER BY.  It compares arrays with
 * arrays, and objects with objects, by this hash, and it resumes with the hash
 * instead of the value.  So the server sorts them the same way.
 *
 *   M(bytes, seed)  MurmurHash3 x64_128 that begins with 128 bits of seed
 *   H(v, s)         the hash of a value under a seed:
 *     undefined       s
 *     null, bool      M(a constant, s)
 *     number          M(double 8 | more bits of an integer 2, M(NUMBER, s))
 *     string          M(UTF-8, M(STRING, s))
 *     array           h = M(ARRAY, s), then for each item i
 *                     h = M(H(item, INDEX + i), h)
 *     object          h = M(OBJECT, s), then h = M(x, h) where x is the
 *                     exclusive or of H(member, M(name, M(STRING, NAME))),
 *                     unless x is 0
 *
 * A hash is stored as its low half, then its high half, each little endian;
 * hashes compare as these bytes do.
 *
 * Threads: values only.
 */
#ifndef RN_QUERY_RUN_DISTINCT_HASH_H
#define RN_QUERY_RUN_DISTINCT_HASH_H

#include "base/hash.h"
#include "query/run/value.h"

enum { RN_DISTINCT_HASH_LEN = 16 };

/* The hash of a whole value.  The arena holds unescaped strings. */
enum rn_code rn_distinct_hash(const struct rn_value *v, struct rn_arena *arena,
                              struct rn_hash128 *out) RN_CHECK;

void rn_distinct_hash_put(struct rn_hash128 h, char out[RN_DISTINCT_HASH_LEN]);

/* For an array or an object, a value of the same kind that holds only its hash
 * (RN_FORM_HASH), in the arena; for any other value, the value itself. */
enum rn_code rn_distinct_hash_only(const struct rn_value *v,
                                   struct rn_arena *arena,
                                   struct rn_value *out) RN_CHECK;

#endif
