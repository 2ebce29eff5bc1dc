/* sparse_index.h -- where in the list of a table a search begins.
 *
 * The entries of a table (memtable.h) are a list in the order of their keys,
 * and lie all over its memory: each that a search comes by it has to wait for.
 * So a guide has posts, of which each tells an entry and the start of its key
 * as a number.  They stand in the order of the list, some dozens in a leaf, and
 * the leaves are told by the posts of a directory, which is small enough to
 * stay at hand.  A search waits for a leaf, and for the entry that it is led
 * to.
 *
 * What always holds: a guide leads to an entry before the key's place, and from
 * there the list leads on.  A post that is missing makes the way longer, never
 * wrong; so not every entry has one, and lack of memory is no failure.
 *
 * Threads: one writer; readers beside it need no lock.  Where a post stands,
 * only one of an earlier entry can ever take its place: who has seen that it is
 * before a key may follow it a moment later, whatever was put in between.
 */
#ifndef RN_STORE_MEMTABLE_SPARSE_INDEX_H
#define RN_STORE_MEMTABLE_SPARSE_INDEX_H

#include "store/memtable/block_arena.h"
#include "store/memtable/memtable.h"

/* A key, ready to be looked for. */
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

/* Zeroed: it has no posts.  Its memory is the table's. */
struct rn_sparse_index {
    struct rn_sparse_index_node *leaves; /* the directory; atomic */
};

/* Where the post of a key stands, or would. */
struct rn_sparse_index_spot {
    struct rn_sparse_index_node *leaf; /* NULL: there is none yet */
    unsigned leaf_at;                  /* in the directory */
    unsigned at;                       /* in the leaf */
};

/* The last entry with a post that comes before the key, NULL if none does; its
 * spot, for the writer, until something is added. */
struct rn_memtable_entry *
rn_sparse_index_find(const struct rn_sparse_index *g,
                     const struct rn_sought *key,
                     struct rn_sparse_index_spot *spot);
/* It will be looked for soon. */
void rn_sparse_index_expect(const struct rn_sparse_index *g,
                            const struct rn_sought *key);
/* The last entry with a post, or NULL. */
struct rn_memtable_entry *
rn_sparse_index_find_last(const struct rn_sparse_index *g);

/* Where nodes come from. */
struct rn_sparse_index_memory {
    struct rn_block_arena *blocks;
    struct rn_room *room;
};

/* Gives an entry, which is in the list already, a post at the spot of its key,
 * unless that has one: of one key the older entry leads further. */
void rn_sparse_index_add(struct rn_sparse_index *g,
                         const struct rn_sparse_index_spot *spot,
                         struct rn_memtable_entry *e,
                         struct rn_sparse_index_memory memory);

#endif
