/* catalog_remove.h -- an object goes, and with it all that lies in it. */
#ifndef RN_ENGINE_CATALOG_CATALOG_REMOVE_H
#define RN_ENGINE_CATALOG_CATALOG_REMOVE_H

#include "engine/catalog/catalog.h"
#include "engine/key.h"

/* How far a deleted database's objects have been removed.  Nothing is added to
 * them, so a slice goes on where the last one ended: what that removed lies
 * there as tombstones, which a scan from the start would pass over anew. */
struct rn_removal {
    uint32_t database;
    size_t kind; /* which of its kinds of objects; see catalog_remove.c */
    struct rn_key at;
};

/* What a slice took out of the store, and memory is to follow. */
enum { RN_REMOVED_MAX = 16 };
struct rn_removed {
    size_t count;
    struct rn_rid rids[RN_REMOVED_MAX];
    bool is_last;           /* nothing is left of the database */
    struct rn_removal next; /* where the next slice begins */
};

/* An object and all that lies in it; what lies in a database
 * goes later (drop_container.c), and nobody sees it any more. */
enum rn_code rn_object_remove(struct rn_txn *txn, const struct rn_object *o,
                              struct rn_err *err) RN_CHECK;
/* Some of what lies in a deleted database, from a place on. */
enum rn_code rn_objects_remove(struct rn_txn *txn,
                               const struct rn_removal *from,
                               struct rn_removed *out) RN_CHECK;

#endif
