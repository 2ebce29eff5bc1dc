/* flush.h -- moves committed groups from memory into the map.
 *
 * Groups go into a table in memory (memtable.h).  When that is full, or a
 * checkpoint is due, an empty one takes its place and the keeper puts the full
 * one's rows into the map, in the order of their keys, a slice at a time.
 *
 * Readers hold the tables that they began with, and look there first, so
 * nothing changes for them while a table settles: what the map has of it
 * already is what they read from the table.  The same goes for a state of the
 * map that has one half of a table, should it be captured: recovery puts the
 * whole of it into memory again, from the log.
 *
 * Where the disk is full a table stays in memory until there is space.  Deletes
 * are let pass then, whichever table they are in: for the same reason rows may
 * go into the map in any order, as long as the newest of a key is the last.
 */
#ifndef RN_STORE_MEMTABLE_FLUSH_H
#define RN_STORE_MEMTABLE_FLUSH_H

#include "store/memtable/memtable.h"
#include "store/wal/wal.h"

struct rn_local;

struct rn_flush {
    /* Guarded by the store's state lock. */
    struct rn_memtable *recent; /* what the writer writes to */
    /* Full; on its way into the map.  Atomic: while there is one, all below and
     * `recent` stay as they are but for the keeper. */
    struct rn_memtable *settling;
    uint64_t visible; /* the last group that readers may see */

    struct rn_memtable *spare; /* empty, to be the next `recent`; atomic */

    /* The keeper's own, except where noted. */
    struct rn_wal_place end;     /* of the log, when `settling` was full */
    struct rn_wal_place settled; /* up to here the map has everything */
    const struct rn_memtable_entry *last; /* put into the map */
    int64_t retry_ns;                     /* no slice before this */
    bool stuck;                           /* for lack of space; atomic */
    uint64_t limit;                       /* bytes of a full table; atomic */
    uint64_t done, total; /* bytes of `settling` in the map; atomic */
};

enum rn_code rn_flush_init(struct rn_local *l, struct rn_err *err) RN_CHECK;
void rn_flush_release(struct rn_flush *s);

/* In the writer's turn: begins to settle what there is.  False if a table is
 * settling already, if there is nothing to settle, or no memory. */
bool rn_flush_begin(struct rn_local *l);

/* Instead of rn_memtable_drop, by who writes: what nobody has any more becomes
 * the next table, memory and all. */
void rn_flush_drop(struct rn_local *l, struct rn_memtable *table);
/* The keeper's: gives back memory that is kept for what is to be written. */
void rn_flush_rest(struct rn_local *l);

/* In the writer's turn: true if it will soon wait for memory, unless the keeper
 * gets some ready. */
bool rn_flush_is_short(const struct rn_local *l);
void rn_flush_stock(struct rn_local *l); /* the keeper's */

/* Puts the next rows into the map.  RN_FULL or RN_NOMEM: not now; after any
 * other failure the store is poisoned. */
enum rn_code rn_flush_slice(struct rn_local *l, struct rn_err *err) RN_CHECK;

/* Everything that is committed; for when there is no keeper. */
enum rn_code rn_flush_all(struct rn_local *l, struct rn_err *err) RN_CHECK;

/* The one that is settling, or NULL; for the keeper and whoever has the turn.
 */
struct rn_memtable *rn_flush_table(const struct rn_local *l);

/* True if a group may be written without waiting for the keeper. */
bool rn_flush_has_room(struct rn_local *l);
bool rn_flush_is_full(struct rn_local *l); /* the table that is written to */
bool rn_flush_is_stuck(const struct rn_local *l);

/* What the map may need for all that is in memory, as far as one can tell. */
uint64_t rn_flush_pending(struct rn_local *l);

/* By how much writers are ahead: 0 not at all, 1 a whole table. */
double rn_flush_lag(struct rn_local *l);

#endif
