/* unique.h -- unique key constraints: values that no two documents of one
 * partition key value may share.
 *
 * As JSON, in a container's "uniqueKeyPolicy", fixed when it is created:
 *
 *   {"uniqueKeys":[{"paths":["/email"]},{"paths":["/name","/address/zip"]}]}
 *
 * A missing value is null, and null is a value like the others: one document
 * may lack it, a second may not.  Values are equal as a query finds them equal:
 * 1 is 1.0, members are equal in any order.
 *
 * A 'u' row for each unique key of a document holds a hash of its values.  If
 * another document has the same hash, the values themselves are compared.
 */
#ifndef RN_ENGINE_DOCUMENT_UNIQUE_H
#define RN_ENGINE_DOCUMENT_UNIQUE_H

#include "base/hash.h"
#include "cosmos/epk.h"
#include "engine/row.h"
#include "store/store.h"

struct rn_container;
struct rn_key;

enum {
    RN_UNIQUE_KEYS_MAX = 10,
    RN_UNIQUE_PATHS_MAX = 16
}; /* the service's
      limits */

struct rn_unique_key {
    uint32_t count;
    const struct rn_json_path *paths;
};

struct rn_unique {
    struct rn_view text; /* the policy's JSON; empty if absent */
    uint32_t count;
    struct rn_unique_key keys[RN_UNIQUE_KEYS_MAX];
};

/* One hash for each key of the container. */
struct rn_unique_hashes {
    struct rn_hash128 of[RN_UNIQUE_KEYS_MAX];
};

/* `policy` may be undefined or null.  RN_BAD_REQUEST if it is not a policy. */
enum rn_code rn_unique_parse(const struct rn_json *j, uint32_t policy,
                             struct rn_arena *arena, struct rn_unique *out,
                             struct rn_err *err) RN_CHECK;
/* The same paths in the same order? */
bool rn_unique_eq(const struct rn_unique *a, const struct rn_unique *b);

/* The hashes of a parsed document; of a stored one. */
enum rn_code rn_unique_hash(const struct rn_container *c,
                            const struct rn_json *j,
                            struct rn_unique_hashes *out) RN_CHECK;
enum rn_code rn_unique_hash_stored(const struct rn_container *c,
                                   struct rn_view json,
                                   struct rn_unique_hashes *out) RN_CHECK;

/* Asks which other document has these values. */
struct rn_unique_ask {
    const struct rn_container *container;
    uint32_t key;             /* the unique key's number */
    struct rn_view epk, json; /* of the document that is to have them */
    struct rn_hash128 hash;
    uint64_t rid; /* the document's own, which is skipped; 0: a new one */
};

/* Finds another document with the same values: its 'd' key and row.
 * RN_NOT_FOUND if none exists. */
enum rn_code rn_unique_find(struct rn_txn *txn, const struct rn_unique_ask *ask,
                            struct rn_key *key,
                            struct rn_row_document *row) RN_CHECK;

/* Deletes the rows of `was` and puts those of `is`; either may be NULL.  Rows
 * that both have stay. */
enum rn_code rn_unique_write(struct rn_txn *txn, const struct rn_container *c,
                             struct rn_view epk, uint64_t rid,
                             const struct rn_unique_hashes *was,
                             const struct rn_unique_hashes *is) RN_CHECK;

#endif
