/* distinct.h -- building blocks of DistinctHash, by which clients order arrays
 * and objects.
 *
 * query/run/distinct_hash.h defines the hash.  The server computes it over the
 * values of a query, the client library over parsed rows; both use these
 * functions.  Values only; any thread.
 */
#ifndef RN_JSON_DISTINCT_H
#define RN_JSON_DISTINCT_H

#include "base/hash.h"

/* The seed of a top-level value. */
extern const struct rn_hash128 rn_distinct_root;

/* Hashes a hash with M. */
struct rn_hash128 rn_distinct_mix(struct rn_hash128 h, struct rn_hash128 seed);

struct rn_hash128 rn_distinct_null(struct rn_hash128 seed);
struct rn_hash128 rn_distinct_bool(bool truth, struct rn_hash128 seed);
struct rn_hash128 rn_distinct_string(struct rn_view text,
                                     struct rn_hash128 seed);
struct rn_hash128 rn_distinct_real(double real, struct rn_hash128 seed);
struct rn_hash128 rn_distinct_integer(int64_t i, struct rn_hash128 seed);

/* An array: start with `out` and the seed of its first item, then for each item
 * mix its hash into `out` and advance the seed. */
struct rn_hash128 rn_distinct_array(struct rn_hash128 seed,
                                    struct rn_hash128 *first);
void rn_distinct_next(struct rn_hash128 *item_seed);

/* An object: the seed of a member's value, and the final step over the
 * exclusive or of all members' hashes. */
struct rn_hash128 rn_distinct_member(struct rn_view name);
struct rn_hash128 rn_distinct_object(struct rn_hash128 members,
                                     struct rn_hash128 seed);

/* Whether clients read this text of a number as an integer.  -0.0 is not 0. */
bool rn_distinct_is_plain(struct rn_view number);

enum { RN_DISTINCT_LEN = 16 };

/* The bytes by which hashes compare. */
void rn_distinct_put(struct rn_hash128 h, char out[RN_DISTINCT_LEN]);

#endif
