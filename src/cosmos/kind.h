/* kind.h -- the kinds of resources, their names and their hierarchy.
 *
 *   account
 *     database               dbs
 *       container            colls
 *         document           docs
 *         partition range    pkranges
 *         script             sprocs, triggers, udfs
 *         conflict           conflicts
 *       user                 users
 *         permission         permissions
 *       client key           clientencryptionkeys
 *     offer                  offers
 *
 * Constant data; any thread.
 */
#ifndef RN_COSMOS_KIND_H
#define RN_COSMOS_KIND_H

#include "base/mem.h"

enum rn_kind {
    RN_KIND_ACCOUNT,
    RN_KIND_DATABASE,
    RN_KIND_CONTAINER,
    RN_KIND_DOCUMENT,
    RN_KIND_RANGE,
    RN_KIND_PROCEDURE,
    RN_KIND_TRIGGER,
    RN_KIND_FUNCTION,
    RN_KIND_CONFLICT,
    RN_KIND_USER,
    RN_KIND_PERMISSION,
    RN_KIND_CLIENT_KEY,
    RN_KIND_OFFER,

    RN_KINDS, /* number of kinds */
};

enum {
    /* Number of ids on the deepest path: dbs/{}/colls/{}/docs/{}. */
    RN_KIND_DEPTH = 3,
};

/* The word in paths, which is also the signed resource type: "docs".  Empty for
 * the account. */
struct rn_view rn_kind_word(enum rn_kind kind);

/* The member that holds a list of them: "Documents". */
struct rn_view rn_kind_list(enum rn_kind kind);

/* The kind of the owner; the account owns itself. */
enum rn_kind rn_kind_owner(enum rn_kind kind);

/* The number of ids in its path: 3 for a document, 0 for the account. */
size_t rn_kind_depth(enum rn_kind kind);

/* The kind of that word, or RN_KIND_ACCOUNT if there is none.  Words are lower
 * case only. */
enum rn_kind rn_kind_find(struct rn_view word);

#endif
