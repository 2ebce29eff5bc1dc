/* pkdef.h -- the partition key definition of a container: the paths of the key,
 * and its hash.
 *
 * As JSON, in a container's "partitionKey":
 *
 *   {"paths":["/pk"],"kind":"Hash","version":2}
 *
 *   kind      Hash (the default) with one path; MultiHash, hierarchical, with
 *             up to three; Range, of very old containers, without a hash
 *   version   1 (the default) or 2: which hash.  Clients compute it too, from
 *             the definition we return, so an absent version stays absent
 *   systemKey containers created before partition keys existed
 *
 * A definition is immutable.  Its text lives in the given arena.  Any thread
 * may read it.
 */
#ifndef RN_COSMOS_PKDEF_H
#define RN_COSMOS_PKDEF_H

#include "cosmos/pk.h"
#include "json/json.h"
#include "json/path.h"

enum rn_pkdef_kind { RN_PKDEF_HASH, RN_PKDEF_MULTIHASH, RN_PKDEF_RANGE };

struct rn_pkdef {
    enum rn_pkdef_kind kind;
    uint32_t version; /* 0 if absent; see rn_pkdef_version */
    bool is_system;
    size_t count;
    struct rn_view texts[RN_PK_MAX]; /* the paths as written */
    struct rn_json_path paths[RN_PK_MAX];
};

/* RN_BAD_REQUEST, with the service's message, if `value` is not a
 * definition. */
enum rn_code rn_pkdef_parse(const struct rn_json *j, uint32_t value,
                            struct rn_arena *arena, struct rn_pkdef *out,
                            struct rn_err *err) RN_CHECK;

enum rn_code rn_pkdef_print(const struct rn_pkdef *def,
                            struct rn_buf *out) RN_CHECK;

/* 1 or 2. */
uint32_t rn_pkdef_version(const struct rn_pkdef *def);

/* Whether both have the same paths in the same order, and the same hash. */
bool rn_pkdef_eq(const struct rn_pkdef *a, const struct rn_pkdef *b);

/* The key of a document: a missing value, an object or an array is undefined.
 * Strings are borrowed from the document's text, or from the arena if they were
 * escaped. */
enum rn_code rn_pkdef_extract(const struct rn_pkdef *def,
                              const struct rn_json *j, uint32_t document,
                              struct rn_arena *arena, struct rn_pk *out,
                              struct rn_err *err) RN_CHECK;

/* Checks that this is a complete key of the container.  In a container older
 * than partition keys, [] is replaced by the undefined key.  Too few components
 * are RN_REASON_KEY_MISMATCH. */
enum rn_code rn_pkdef_fit(const struct rn_pkdef *def, struct rn_pk *pk,
                          struct rn_err *err) RN_CHECK;

/* Likewise, but a prefix of at least one component is allowed. */
enum rn_code rn_pkdef_fit_prefix(const struct rn_pkdef *def, struct rn_pk *pk,
                                 struct rn_err *err) RN_CHECK;

#endif
