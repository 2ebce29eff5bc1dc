/* catalog_remove.h -- cascading deletion: an object and everything it contains.
 */
#ifndef RN_ENGINE_CATALOG_CATALOG_REMOVE_H
#define RN_ENGINE_CATALOG_CATALOG_REMOVE_H

#include "engine/catalog/catalog.h"
#include "engine/key.h"

/* How far a deleted database's objects have been removed.  None are added, so a
 * slice goes on where the last one ended: the keys before that are tombstones,
 * which a scan from the start would have to skip again. */
struct rn_removal {
    uint32_t database;
    size_t kind; /* index into the kinds of catalog_remove.c */
    struct rn_key at;
};

/* Objects that a slice removed from the store, to be removed from memory. */
enum { RN_REMOVED_MAX = 16 };
struct rn_removed {
    size_t count;
    struct rn_rid rids[RN_REMOVED_MAX];
    bool is_last;           /* nothing remains of the database */
    struct rn_removal next; /* where the next slice begins */
};

/* Deletes an object and everything it contains.  The objects of a database are
 * removed later (drop_container.c), and are invisible until then. */
enum rn_code rn_object_remove(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_err *err) RN_CHECK;
/* Removes some objects of a deleted database, starting at `from`. */
enum rn_code rn_objects_remove(struct rn_txn *txn,
                               const struct rn_removal *from,
                               struct rn_removed *out) RN_CHECK;

#endif
