/* pkdef.h -- a container's partition key definition: where keys come from.
 *
 * As JSON, in a container's "partitionKey":
 *
 *   {"paths":["/pk"],"kind":"Hash","version":2}
 *
 *   kind      Hash (the default) with one path; MultiHash, hierarchical, with
 *             up to three; Range, of very old containers, without a hash
 *   version   1 (the default) or 2: which hash.  Clients compute it too, and
 *             from what we answer, so an absent one stays absent
 *   systemKey containers from the time before partition keys
 *
 * A definition never changes.  Its text lives in the arena it was given.
 * Any thread may read it.
 */
#ifndef RN_COSMOS_PKDEF_H
#define RN_COSMOS_PKDEF_H

#include "cosmos/pk.h"
#include "json/json.h"
#include "json/path.h"

enum rn_pkdef_kind { RN_PKDEF_HASH, RN_PKDEF_MULTIHASH, RN_PKDEF_RANGE };

struct rn_pkdef {
    enum rn_pkdef_kind kind;
    uint32_t version; /* 0 if it was not said; see rn_pkdef_version */
    bool is_system;
    size_t count;
    struct rn_view texts[RN_PK_MAX]; /* the paths as they were written */
    struct rn_json_path paths[RN_PK_MAX];
};

/* RN_BAD_REQUEST, in the service's words, if `value` is no definition. */
enum rn_code rn_pkdef_parse(const struct rn_json *j, uint32_t value,
                            struct rn_arena *arena, struct rn_pkdef *out,
                            struct rn_err *err) RN_CHECK;

enum rn_code rn_pkdef_print(const struct rn_pkdef *def,
                            struct rn_buf *out) RN_CHECK;

/* 1 or 2. */
uint32_t rn_pkdef_version(const struct rn_pkdef *def);

/* The same paths in the same order, hashed alike? */
bool rn_pkdef_eq(const struct rn_pkdef *a, const struct rn_pkdef *b);

/* The key of a document: what is missing, or is an object or an array, is
 * undefined.  Strings are borrowed from the document's text, or from the arena
 * where they were escaped. */
enum rn_code rn_pkdef_extract(const struct rn_pkdef *def,
                              const struct rn_json *j, uint32_t document,
                              struct rn_arena *arena, struct rn_pk *out,
                              struct rn_err *err) RN_CHECK;

/* Is this a whole key of the container?  [] is the undefined key of a container
 * from the time before, and is replaced by it.  Too few components are
 * RN_REASON_KEY_MISMATCH. */
enum rn_code rn_pkdef_fit(const struct rn_pkdef *def, struct rn_pk *pk,
                          struct rn_err *err) RN_CHECK;

/* Likewise, but fewer components will do, if there is one. */
enum rn_code rn_pkdef_fit_prefix(const struct rn_pkdef *def, struct rn_pk *pk,
                                 struct rn_err *err) RN_CHECK;

#endif
