/* memtable.h -- committed writes that are not in the map yet, in memory.
 *
 * A map that is changed group by group copies a page for almost every row of
 * each.  So groups are gathered here, and the map follows in long stretches of
 * rows in order (flush.c), which copies a page once for many rows.
 *
 * A table holds, for a key, the writes made to it, the newest first, each with
 * the number of its group.  Who reads at group n sees the newest that is not
 * newer than n; so a table that is being written to can be read at any state
 * that it has had.  Nothing is ever taken out: a table is dropped as a whole.
 *
 * (tree.h keeps states too, but makes new nodes up to the root for each write.)
 * A list for the order, with a guide that tells where in it to begin
 * (sparse_index.h), and a hash table for single keys; all of it lies in blocks
 * of the table's own.
 *
 * Threads: one writer at a time; readers beside it need no lock.
 */
#ifndef RN_STORE_MEMTABLE_MEMTABLE_H
#define RN_STORE_MEMTABLE_MEMTABLE_H

#include "store/store.h"

struct rn_memtable;
struct rn_memtable_entry;

/* Where the list goes on, and the start of the key there, as a number: by that
 * a search mostly sees that it would go too far, without a look at the entry.
 */
struct rn_memtable_link {
    uint64_t start;               /* atomic; UINT64_MAX at the end */
    struct rn_memtable_entry *to; /* atomic */
};

struct rn_memtable_entry {
    struct rn_view key, value;
    uint64_t seq;  /* of the group; atomic: UINT64_MAX once it is taken back */
    uint32_t hash; /* of the key */
    bool gone;     /* deleted: there is no such row, whatever lies below */
    struct rn_memtable_entry *chained; /* an older one of the same hash */
    struct rn_memtable_entry *before;  /* written before in the same group */
    /* What a search goes by, side by side: the start of the key, as numbers,
     * with which comparing mostly ends, and the link, in the order of keys. */
    uint64_t start[2];
    struct rn_memtable_link next;
};

/* For about `limit` bytes of entries, which it may exceed.  NULL: out of
 * memory. */
struct rn_memtable *rn_memtable_new(uint64_t limit);
struct rn_memtable *rn_memtable_keep(struct rn_memtable *r); /* NULL is fine */
void rn_memtable_drop(struct rn_memtable *r);                /* NULL is fine */
/* Drops it, and if nobody else has it, gives it back empty, for the next one:
 * fresh memory would cost as much as what is written to it.  NULL if somebody
 * has it, or if it is NULL. */
struct rn_memtable *rn_memtable_recycle(struct rn_memtable *r) RN_CHECK;
/* The writer's: gives up what it has at hand and has not used yet. */
void rn_memtable_trim(struct rn_memtable *r);
/* Fresh memory can take milliseconds to be had, at the first touch, and the
 * writer would wait for it.  So when a table is short of it, some other thread,
 * one at a time, stocks it. */
bool rn_memtable_is_short(const struct rn_memtable *r); /* any thread */
void rn_memtable_stock(struct rn_memtable *r);

uint64_t
rn_memtable_bytes(const struct rn_memtable *r); /* it has taken; any thread */

/* The writer's.  Group `seq` is not older than any in the table. */
enum rn_code rn_memtable_put(struct rn_memtable *r, uint64_t seq,
                             struct rn_view key, struct rn_view value) RN_CHECK;
enum rn_code rn_memtable_delete(struct rn_memtable *r, uint64_t seq,
                                struct rn_view key) RN_CHECK;
/* Ends a group: it stays, or it is taken back as if it had never been. */
void rn_memtable_end(struct rn_memtable *r, bool stays);

/* It will be looked for soon. */
void rn_memtable_expect(const struct rn_memtable *r, struct rn_view key);
/* What a reader at group `seq` finds; NULL if the table has nothing to say. */
const struct rn_memtable_entry *
rn_memtable_find(const struct rn_memtable *r, uint64_t seq, struct rn_view key);

/* The one that follows `last` in `range`, deletes included, or the range's
 * first if `last` is NULL.  NULL at the end. */
const struct rn_memtable_entry *
rn_memtable_next(const struct rn_memtable *r, uint64_t seq,
                 const struct rn_key_interval *range,
                 const struct rn_memtable_entry *last);

#endif
