/* tree.h -- a persistent (immutable, path-copying) weight-balanced tree: an
 * ordered map with free snapshots.
 *
 * Nodes never change once made: a write makes new nodes from the place of the
 * change up to the root and shares all others.  So a copy of the map is a
 * pointer and a reference count, and its readers need no lock.  No path is
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
};

/* Owned by the tree; lives as long as any tree that holds it. */
struct rn_tree_entry {
    struct rn_view key, value;
    bool gone; /* a tombstone, put by rn_tree_mark */
};

struct rn_tree rn_tree_copy(const struct rn_tree *t) RN_CHECK;
void rn_tree_release(struct rn_tree *t);

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
enum rn_code rn_tree_mark(struct rn_tree *t, struct rn_view key) RN_CHECK;
/* RN_NOT_FOUND if absent. */
enum rn_code rn_tree_del(struct rn_tree *t, struct rn_view key) RN_CHECK;

#endif
