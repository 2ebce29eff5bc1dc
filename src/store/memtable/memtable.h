/* memtable.h -- the memtable: a sorted linked list with a sparse index and a
 * hash table; MVCC by sequence number; readers take no lock.
 *
 * It holds the committed writes that are not in the map yet.  Applied group by
 * group, they would copy a page of the map for almost every row.  So groups are
 * gathered here, and the flush (flush.c) writes long runs of rows in key order,
 * which copies a page once for many rows.
 *
 * For each key the memtable holds all writes, the newest first, each with the
 * number of its group.  A reader at group n sees the newest write that is not
 * newer than n, so a memtable that is being written to can be read as of any
 * earlier group.  Entries are never removed: a memtable is dropped as a whole.
 *
 * The list has the order of keys, the sparse index (sparse_index.h) says where
 * in the list a search begins, and the hash table serves point lookups.  All of
 * it lies in the memtable's own arena (block_arena.h).  (tree.h has snapshots
 * too, but copies the path to the root for each write.)
 *
 * Threads: one writer at a time; readers beside it need no lock.
 */
#ifndef RN_STORE_MEMTABLE_MEMTABLE_H
#define RN_STORE_MEMTABLE_MEMTABLE_H

#include "store/store.h"

struct rn_memtable;
struct rn_memtable_entry;

/* A link of the list, with the first bytes of the next key as a number: most
 * searches see from the number that the next key is too far, without reading
 * the entry. */
struct rn_memtable_link {
    uint64_t start;               /* atomic; UINT64_MAX at the end */
    struct rn_memtable_entry *to; /* atomic */
};

struct rn_memtable_entry {
    struct rn_view key, value;
    uint64_t seq;  /* of the group; atomic: UINT64_MAX once rolled back */
    uint32_t hash; /* of the key */
    bool gone;     /* a tombstone: hides the row of the map, if any */
    struct rn_memtable_entry
        *chained; /* an older entry of the same hash chain */
    struct rn_memtable_entry
        *before; /* the entry written before in the same group */
    /* The members that a search reads, adjacent: the first bytes of the key as
     * numbers, which decide most comparisons, and the link to the next key. */
    uint64_t start[2];
    struct rn_memtable_link next;
};

/* `limit` is the expected number of bytes of entries; it may be exceeded.
 * NULL: out of memory. */
struct rn_memtable *rn_memtable_new(uint64_t limit);
struct rn_memtable *rn_memtable_keep(struct rn_memtable *r); /* NULL is fine */
void rn_memtable_drop(struct rn_memtable *r);                /* NULL is fine */
/* Drops a reference.  If it was the last one, returns the memtable, empty, for
 * reuse: fresh memory would cost as much as the writes to it.  NULL if other
 * references remain, or if `r` is NULL. */
struct rn_memtable *rn_memtable_recycle(struct rn_memtable *r) RN_CHECK;
/* Called by the writer: frees the spare blocks that it has not used yet. */
void rn_memtable_trim(struct rn_memtable *r);
/* The first touch of fresh memory can take milliseconds, and the writer would
 * wait for it.  So when a memtable is short of memory, another thread, one at a
 * time, stocks it. */
bool rn_memtable_is_short(const struct rn_memtable *r); /* any thread */
void rn_memtable_stock(struct rn_memtable *r);

uint64_t
rn_memtable_bytes(const struct rn_memtable *r); /* allocated; any thread */

/* Called by the writer.  Group `seq` is not older than any in the memtable. */
enum rn_code rn_memtable_put(struct rn_memtable *r, uint64_t seq,
                             struct rn_view key, struct rn_view value) RN_CHECK;
enum rn_code rn_memtable_delete(struct rn_memtable *r, uint64_t seq,
                                struct rn_view key) RN_CHECK;
/* Ends a group: its entries stay, or are rolled back as if never written. */
void rn_memtable_end(struct rn_memtable *r, bool stays);

/* Prefetches the memory that a search for `key` will read. */
void rn_memtable_prefetch(const struct rn_memtable *r, struct rn_view key);
/* The entry that a reader at group `seq` sees, a tombstone included.  NULL if
 * the memtable has no such entry. */
const struct rn_memtable_entry *
rn_memtable_find(const struct rn_memtable *r, uint64_t seq, struct rn_view key);

/* The entry that follows `last` in `range`, tombstones included, or the first
 * of `range` if `last` is NULL.  NULL at the end. */
const struct rn_memtable_entry *
rn_memtable_next(const struct rn_memtable *r, uint64_t seq,
                 const struct rn_key_interval *range,
                 const struct rn_memtable_entry *last);

#endif
