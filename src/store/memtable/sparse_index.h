/* sparse_index.h -- the sparse index of a memtable: a lock-free two-level tree
 * over its sorted list, which says where a search begins.
 *
 * The entries of a memtable (memtable.h) are a list in key order, scattered
 * over its memory: each entry that a search visits costs a cache miss.  So the
 * index has slots, each a pointer to an entry and the first bytes of its key as
 * a number.  Slots are in the order of the list, some dozens in a leaf.  The
 * slots of a directory point to the leaves, and the directory is small enough
 * to stay in the cache.  A search misses the cache for one leaf and for the
 * entry that the leaf points to.
 *
 * Invariant: the index leads to an entry before the key's position, and from
 * there the list leads on.  A missing slot makes a search longer, never wrong;
 * so not every entry has a slot, and running out of memory is no failure.
 *
 * Threads: one writer; readers beside it need no lock.  A slot can only be
 * replaced by the slot of an earlier entry: a reader that has seen that a slot
 * is before a key may follow it later, whatever was inserted in between.
 */
#ifndef RN_STORE_MEMTABLE_SPARSE_INDEX_H
#define RN_STORE_MEMTABLE_SPARSE_INDEX_H

#include "store/memtable/block_arena.h"
#include "store/memtable/memtable.h"

/* A key, prepared for searches. */
struct rn_sought {
    uint64_t start[2];
    struct rn_view key;
};

struct rn_sought rn_sought_of(struct rn_view key);

/* Does the entry come before the key? */
static inline bool rn_sought_is_after(const struct rn_sought *s,
                                      const struct rn_memtable_entry *e)
{
    for (int i = 0; i < 2; i++) {
        if (e->start[i] != s->start[i])
            return e->start[i] < s->start[i];
    }
    return rn_view_compare(e->key, s->key) < 0;
}

/* A zeroed index has no slots.  Its memory is the memtable's. */
struct rn_sparse_index {
    struct rn_sparse_index_node *leaves; /* the directory; atomic */
};

/* Where the slot of a key is, or would be inserted. */
struct rn_sparse_index_spot {
    struct rn_sparse_index_node *leaf; /* NULL: there is no leaf yet */
    unsigned leaf_at;                  /* in the directory */
    unsigned at;                       /* in the leaf */
};

/* The last entry with a slot that comes before the key, or NULL.  Sets `spot`,
 * which the writer may use until something is added. */
struct rn_memtable_entry *
rn_sparse_index_find(const struct rn_sparse_index *g,
                     const struct rn_sought *key,
                     struct rn_sparse_index_spot *spot);
/* Prefetches the leaf that a search for `key` will read. */
void rn_sparse_index_prefetch(const struct rn_sparse_index *g,
                              const struct rn_sought *key);
/* The last entry with a slot, or NULL. */
struct rn_memtable_entry *
rn_sparse_index_find_last(const struct rn_sparse_index *g);

/* Where nodes are allocated. */
struct rn_sparse_index_memory {
    struct rn_block_arena *blocks;
    struct rn_room *room;
};

/* Adds a slot at the key's spot for an entry that is in the list already,
 * unless the key has one: the older entry of a key leads further. */
void rn_sparse_index_add(struct rn_sparse_index *g,
                         const struct rn_sparse_index_spot *spot,
                         struct rn_memtable_entry *e,
                         struct rn_sparse_index_memory memory);

#endif
