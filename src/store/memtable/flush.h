/* flush.h -- the memtable flush: writes the rows of an immutable memtable into
 * the map.
 *
 * Group commits go into a memtable (memtable.h).  When it is full, or a
 * checkpoint is due, an empty memtable takes its place, and the maintenance
 * thread writes the rows of the full one into the map in key order, a slice at
 * a time.
 *
 * Readers hold the memtables that they began with and look there first, so a
 * flush changes nothing for them: the rows that are in the map already are the
 * rows that they read from the memtable.  A checkpoint may therefore capture a
 * map that has half of a memtable: recovery puts the whole memtable into memory
 * again, from the WAL.
 *
 * If the disk is full, a memtable stays in memory until there is space.
 * Deletes are still flushed, from either memtable: for the same reason, rows
 * may go into the map in any order, as long as the newest write of a key is the
 * last.
 */
#ifndef RN_STORE_MEMTABLE_FLUSH_H
#define RN_STORE_MEMTABLE_FLUSH_H

#include "store/memtable/memtable.h"
#include "store/wal/wal.h"

struct rn_local;

struct rn_flush {
    /* Guarded by the store's state lock. */
    struct rn_memtable *mutable;
    /* The memtable that is being flushed.  Atomic: while there is one, only the
     * maintenance thread changes the members below and `mutable`. */
    struct rn_memtable *immutable;
    uint64_t visible; /* the last group that readers may see */

    /* An empty memtable, to be the next `mutable`; atomic. */
    struct rn_memtable *spare;

    /* Used by the maintenance thread alone, except where noted. */
    struct rn_wal_place end;     /* of the WAL, when `immutable` was full */
    struct rn_wal_place flushed; /* the map has everything up to here */
    const struct rn_memtable_entry *last; /* the last entry in the map */
    int64_t retry_ns;                     /* no slice before this */
    bool is_blocked;                      /* for lack of space; atomic */
    uint64_t limit;                       /* bytes of a full memtable; atomic */
    uint64_t done, total; /* bytes of `immutable` in the map; atomic */
};

enum rn_code rn_flush_init(struct rn_local *l, struct rn_err *err) RN_CHECK;
void rn_flush_release(struct rn_flush *s);

/* Called with the writer's turn held: begins to flush `mutable`.  False if a
 * flush is under way already, if there is nothing to flush, or if there is no
 * memory. */
bool rn_flush_begin(struct rn_local *l);

/* Called by writers instead of rn_memtable_drop: a memtable without references
 * becomes the next memtable and keeps its memory. */
void rn_flush_drop(struct rn_local *l, struct rn_memtable *table);
/* Called by the maintenance thread: frees the memory that is kept for future
 * writes. */
void rn_flush_rest(struct rn_local *l);

/* Called with the writer's turn held: true if the writer will soon wait for
 * memory unless the maintenance thread stocks some. */
bool rn_flush_is_short(const struct rn_local *l);
void rn_flush_stock(struct rn_local *l); /* called by the maintenance thread */

/* Writes the next rows into the map.  RN_FULL or RN_NOMEM: try again later.
 * After any other failure the store is poisoned. */
enum rn_code rn_flush_slice(struct rn_local *l, struct rn_err *err) RN_CHECK;

/* Flushes everything that is committed; for stores without a maintenance
 * thread. */
enum rn_code rn_flush_all(struct rn_local *l, struct rn_err *err) RN_CHECK;

/* The memtable that is being flushed, or NULL.  Called by the maintenance
 * thread or with the writer's turn held. */
struct rn_memtable *rn_flush_table(const struct rn_local *l);

/* True if a group may be written without waiting for the maintenance thread. */
bool rn_flush_has_room(struct rn_local *l);
bool rn_flush_is_full(struct rn_local *l); /* the mutable memtable */
bool rn_flush_is_blocked(const struct rn_local *l);

/* An estimate of the bytes that the map needs for everything in memory. */
uint64_t rn_flush_pending(struct rn_local *l);

/* How far writers are ahead of the flush: 0 not at all, 1 a whole memtable. */
double rn_flush_lag(struct rn_local *l);

#endif
