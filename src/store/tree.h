/* tree.h -- a persistent (path-copying) weight-balanced tree: an ordered map
 * with free snapshots.
 *
 * Nodes that two trees share never change: a write copies those on the path to
 * the place of the change, and changes in place those that are its own already.
 * So a copy of the map is a pointer and a reference count, its readers need no
 * lock, and the second write of a transaction allocates little.  No path is
 * longer than 2.41 * log2(count + 1), whatever the keys are.
 *
 * Keys compare as store.h says; every key is at least one byte long.
 *
 * Threads: a `struct rn_tree` belongs to one thread at a time; copies of it,
 * though they share nodes, may be used and released by different threads.
 */
#ifndef RN_STORE_TREE_H
#define RN_STORE_TREE_H

#include "store/store.h"

/* Zeroed is empty. */
struct rn_tree {
    struct rn_tree_node *root;
    struct rn_tree_node *spare; /* a list: memory for the next change */
    size_t spares;
};

/* Owned by the tree; lives until no tree holds it, so that a change of its key
 * may end it. */
struct rn_tree_entry {
    struct rn_view key, value;
    bool gone; /* a tombstone, put by rn_tree_put_tombstone */
};

struct rn_tree rn_tree_copy(const struct rn_tree *t) RN_CHECK;
void rn_tree_release(struct rn_tree *t);
/* Moves the memory kept for changes to a copy that has none yet. */
void rn_tree_take_spares(struct rn_tree *t, struct rn_tree *from);

uint64_t rn_tree_count(const struct rn_tree *t);
uint64_t rn_tree_bytes(const struct rn_tree *t); /* of all keys and values */

/* NULL if absent. */
const struct rn_tree_entry *rn_tree_find(const struct rn_tree *t,
                                         struct rn_view key);

/* The entry that follows `last` in `range`, or the range's first if `last` is
 * NULL.  NULL at the end. */
const struct rn_tree_entry *rn_tree_next(const struct rn_tree *t,
                                         const struct rn_key_interval *range,
                                         const struct rn_tree_entry *last);

/* All three leave the tree as it was when they return RN_NOMEM. */
enum rn_code rn_tree_put(struct rn_tree *t, struct rn_view key,
                         struct rn_view value) RN_CHECK;
/* Puts a tombstone, which hides the key of an underlying map. */
enum rn_code rn_tree_put_tombstone(struct rn_tree *t,
                                   struct rn_view key) RN_CHECK;
/* RN_NOT_FOUND if absent. */
enum rn_code rn_tree_del(struct rn_tree *t, struct rn_view key) RN_CHECK;

#endif
