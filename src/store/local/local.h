/* local.h -- the embedded store: a WAL for durability, a memtable for new rows,
 * a map (LMDB's B+tree) for the rest (wal.h, memtable.h, map.h).
 *
 * Readers look into the memtables first, then into the map.  The files:
 *
 *   local.c        transactions: the ops of store.h
 *   local_rows.c   keys, values and cursors in them
 *   recover.c      recovery, the same for every open, and replay.c
 *   maintenance.c  the maintenance thread: checkpoints, WAL segments
 *   held.c         what a running backup keeps from being released
 *   flush.c        memtable flush, by the maintenance thread
 *   defrag.c       defragmentation of leaves, by the maintenance thread
 *
 * Invariants (tests and comments cite them)
 *   S1  A group is in the WAL and synced before it is visible, and visible
 *       before it is answered.
 *   S2  The map has every group up to its seq row.  Of later ones it may have
 *       some rows; those groups are in the WAL, and in memory.
 *   S3  The pinned state of the durable checkpoint stays whole on disk, and so
 *       does the WAL after it, until a later checkpoint is durable.
 *   S4  Once a sync has failed, or a flush into the map has, nothing is
 *       written any more: the store is poisoned until it is reopened.  (A
 *       full disk does not poison: rows that cannot be flushed stay in memory.)
 *   S5  Only the maintenance thread writes to the map.
 *
 * Locks: the writer's turn, which a write transaction holds for its life, then
 * state.  The WAL and the map have one of their own each, below both.
 */
#ifndef RN_STORE_LOCAL_LOCAL_H
#define RN_STORE_LOCAL_LOCAL_H

#include "store/lmdb/defrag.h"
#include "store/local/checkpoint.h"
#include "store/local/format.h"
#include "store/memtable/flush.h"
#include "store/store.h"

#include <pthread.h>

/* The snapshot of a transaction: the memtables, the newer first, as of a group,
 * and below them the map. */
struct rn_local_txn {
    struct rn_txn base;
    struct rn_memtable *tables[2]; /* NULL: empty */
    uint64_t seq;
    struct rn_map_txn *map;
    int64_t begun_ns;
    bool failed; /* a write found damage: only abort is left */
    struct rn_local_txn *before, *after; /* in the list of readers */
};

struct rn_local {
    struct rn_store base;
    struct rn_store_opts opts; /* with the defaults filled in */
    struct rn_env *env;
    char *dir;
    struct rn_format format;
    struct rn_file *lock_file;

    const struct rn_map_ops *map_ops;
    struct rn_wal *wal;
    struct rn_map *map;
    uint64_t generation;

    struct rn_buf redo; /* the writer's record: header, then payload */

    pthread_mutex_t state;  /* guards the members up to `flush` */
    pthread_cond_t changed; /* the WAL has room, or never will */
    pthread_cond_t left;    /* the writer's turn is free */
    bool writing;           /* the writer's turn is taken */
    bool maintenance_waits; /* for the turn, ahead of any writer */
    bool closing;           /* tasks must not be woken */
    bool poisoned;
    char reason[160];
    struct rn_store_status counts;
    struct rn_local_txn *readers;
    struct rn_flush flush; /* partly guarded: see there */

    /* Used by the maintenance thread alone, except where noted. */
    struct rn_task maintenance;
    struct rn_task checkpointer;
    bool is_handed_over; /* atomic: the next three belong to the checkpoint
                            thread */
    struct rn_checkpoint checkpoint;
    enum rn_code flush_rc;
    struct rn_err flush_err;
    struct rn_map_pin *pin;     /* of the durable checkpoint */
    struct rn_map_pin *new_pin; /* of the one in progress */
    struct rn_map_pin *held;    /* of an older one that a backup reads */
    bool log_held; /* the WAL may have more than that checkpoint needs */
    struct rn_file *backup_file, *format_file; /* for their locks */
    uint64_t copy_progress;      /* of a backup, at the last check */
    int64_t copy_moved_ns;       /* since when it is so; 0: no backup */
    struct rn_wal_place durable; /* where that checkpoint's WAL starts */
    uint64_t written_at_durable; /* map bytes when it was captured; atomic */
    uint64_t written_at_capture;
    int64_t opened_ns, captured_ns;
    int64_t retry_ns;      /* no new attempt before this */
    bool maintenance_idle; /* under state: to be woken at the next commit */
    bool hurry;            /* under state: a thread waits for a checkpoint */
    int64_t
        no_room_ns; /* atomic: since when writers lack room; 0: they do not */
    uint64_t given_up; /* under state: failed attempts at a checkpoint */
    bool is_failing;   /* the last attempt at a checkpoint failed */
    bool is_lost;      /* the map is lost, and that was reported */
    int64_t ample_ns;  /* atomic: until then the disk cannot be full */
    struct rn_defrag defrag;
};

/* Opens the store with another map under it; for the simulation. */
enum rn_code rn_local_open_with(const struct rn_map_ops *map_ops,
                                const struct rn_store_opts *opts,
                                struct rn_store **out,
                                struct rn_err *err) RN_CHECK;
/* S4.  The first reason is kept. */
void rn_local_poison(struct rn_local *l, const char *reason);
bool rn_local_is_poisoned(struct rn_local *l);
/* Takes the writer's turn for the maintenance thread, ahead of waiting writers.
 */
void rn_local_enter(struct rn_local *l);
void rn_local_leave(struct rn_local *l);
/* Payload of the largest record that a segment must be able to take. */
uint64_t rn_local_record_max(const struct rn_local *l);
/* RN_FULL if the disk is down to the reserve and `mode` may not use it. */
enum rn_code rn_local_check_space(struct rn_local *l, enum rn_txn_mode mode,
                                  struct rn_err *err) RN_CHECK;
void rn_local_path(const struct rn_local *l, const char *name,
                   char out[RN_PATH_MAX]);
void rn_local_map_path(const char *dir, uint64_t generation,
                       char out[RN_PATH_MAX]);

#endif
