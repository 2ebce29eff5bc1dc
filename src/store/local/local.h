/* local.h -- the embedded store from within: what its files share.
 *
 * A log for durability, a table in memory for what is new, a map for order
 * (wal.h, memtable.h, map.h).  Whoever reads looks into the table first:
 *
 *   local.c       transactions: the table of store.h
 *   local_rows.c  keys, values and cursors in them
 *   recover.c     opening, always the same way, and replay.c
 *   maintenance.c      checkpoints and log segments, beside commits
 *   held.c        what a copy keeps them from giving up
 *   flush.c      from the table into the map, likewise
 *   defrag.c        thinned-out leaves, likewise
 *
 * Invariants (tests and comments cite them)
 *   S1  A group is in the log and synced before it is visible, and visible
 *       before it is answered.
 *   S2  The map has every group up to its seq row.  Of later ones it may have
 *       some rows; those groups are in the log, and in memory.
 *   S3  The pinned state of the durable checkpoint stays whole on disk, and so
 *       does the log behind it, until a later checkpoint is durable.
 *   S4  Once a sync has failed, or the map could not follow the log, nothing
 *       is written any more: the store is poisoned until it is reopened.  (A
 *       full disk is none of these: what cannot settle stays in memory.)
 *   S5  Only the keeper writes to the map.
 *
 * Locks: the writer's turn, which a write transaction has for its life, then
 * state.  The log and the map have one of their own each, below both.
 */
#ifndef RN_STORE_LOCAL_LOCAL_H
#define RN_STORE_LOCAL_LOCAL_H

#include "store/lmdb/defrag.h"
#include "store/local/checkpoint.h"
#include "store/local/format.h"
#include "store/memtable/flush.h"
#include "store/store.h"

#include <pthread.h>

/* What a transaction sees: the tables, the newer first, as of a group, and
 * below them the map. */
struct rn_local_txn {
    struct rn_txn base;
    struct rn_memtable *tables[2]; /* NULL: nothing in it */
    uint64_t seq;
    struct rn_map_txn *map;
    int64_t begun_ns;
    bool failed; /* a write found damage: only abort is left */
    struct rn_local_txn *before, *after; /* among the readers */
};

struct rn_local {
    struct rn_store base;
    struct rn_store_opts opts; /* with the defaults filled in */
    struct rn_env *env;
    char *dir;
    struct rn_format format;
    struct rn_file *lock_file;

    const struct rn_map_ops *map_ops;
    struct rn_wal *log;
    struct rn_map *map;
    uint64_t generation;

    struct rn_buf redo; /* the writer's record: header, then payload */

    pthread_mutex_t state;  /* guards all that follows */
    pthread_cond_t changed; /* the log has room, or never will */
    pthread_cond_t left;    /* the writer's turn is free */
    bool writing;           /* it is taken */
    bool keeper_waits;      /* for it, and comes before any writer */
    bool closing;           /* no task is to be woken */
    bool poisoned;
    char reason[160];
    struct rn_store_status counts;
    struct rn_local_txn *readers;
    struct rn_flush settle; /* partly guarded: see there */

    /* The keeper's own, except where noted. */
    struct rn_task keeper;
    struct rn_task flusher;
    bool flushing; /* atomic: the next three are the flusher's */
    struct rn_checkpoint checkpoint;
    enum rn_code flush_rc;
    struct rn_err flush_err;
    struct rn_map_pin *pin;     /* of the durable checkpoint */
    struct rn_map_pin *new_pin; /* of the one in progress */
    struct rn_map_pin *held;    /* of an older one that a backup reads */
    bool log_held; /* there may be more of it than that checkpoint needs */
    struct rn_file *backup_file, *format_file; /* for their locks */
    uint64_t copy_progress;      /* of a copy, when last looked at, */
    int64_t copy_moved_ns;       /* and since when; 0: there is none */
    struct rn_wal_place durable; /* where the durable checkpoint's log starts */
    uint64_t written_at_durable; /* map bytes when it was captured; atomic */
    uint64_t written_at_capture;
    int64_t opened_ns, captured_ns;
    int64_t retry_ns;   /* no new attempt before this */
    bool keeper_idle;   /* under state: wants a wake-up at the next commit */
    bool hurry;         /* under state: somebody waits for a checkpoint */
    int64_t no_room_ns; /* atomic: since when writers find none; 0: they do */
    uint64_t given_up;  /* under state: checkpoints that could not be had */
    bool is_failing;    /* the last attempt at a checkpoint has */
    bool is_lost;       /* the map is, and that was told */
    int64_t ample_ns;   /* atomic: until then the disk cannot be full */
    struct rn_defrag thin;
};

/* local.c */

/* The store with another map under it; for the simulation. */
enum rn_code rn_local_open_with(const struct rn_map_ops *map_ops,
                                const struct rn_store_opts *opts,
                                struct rn_store **out,
                                struct rn_err *err) RN_CHECK;
/* S4.  The first reason stays. */
void rn_local_poison(struct rn_local *l, const char *reason);
bool rn_local_is_poisoned(struct rn_local *l);
/* The keeper's way to the writer's turn, ahead of those who wait for it. */
void rn_local_enter(struct rn_local *l);
void rn_local_leave(struct rn_local *l);
/* Payload of the largest record that a segment can be asked to take. */
uint64_t rn_local_record_max(const struct rn_local *l);
/* RN_FULL if the disk is down to the reserve and `mode` may not use it. */
enum rn_code rn_local_check_space(struct rn_local *l, enum rn_txn_mode mode,
                                  struct rn_err *err) RN_CHECK;
void rn_local_path(const struct rn_local *l, const char *name,
                   char out[RN_PATH_MAX]);
void rn_local_map_path(const char *dir, uint64_t generation,
                       char out[RN_PATH_MAX]);

/* local_rows.c: of the table in store.h */
void rn_local_expect(struct rn_txn *base, const struct rn_view *keys,
                     size_t len);
enum rn_code rn_local_get(struct rn_txn *base, struct rn_view key,
                          struct rn_view *out);
enum rn_code rn_local_put(struct rn_txn *base, struct rn_view key,
                          struct rn_view value);
enum rn_code rn_local_del(struct rn_txn *base, struct rn_view key);
enum rn_code rn_local_scan(struct rn_txn *base,
                           const struct rn_key_interval *range,
                           struct rn_cursor **out);
enum rn_code rn_local_next(struct rn_cursor *base, struct rn_view *key,
                           struct rn_view *value);
void rn_local_end(struct rn_cursor *base);

/* recover.c */

/* Opens log and map at the newest durable state; creates them in an empty
 * directory.  Damage is found before anything is changed. */
enum rn_code rn_local_recover(struct rn_local *l, struct rn_err *err) RN_CHECK;

/* Removes maps that the checkpoint does not name: what a compaction leaves. */
enum rn_code rn_local_sweep(struct rn_env *env, const char *dir,
                            struct rn_err *err) RN_CHECK;

/* maintenance.c */

/* A step of the keeper; the env's task, or the test's hand if opts.manual. */
int64_t rn_local_keep(void *local);
/* A step of the flusher; only a task. */
int64_t rn_local_flush(void *local);
/* rn_wal_prepare; if it lost something, the store is poisoned. */
enum rn_code rn_local_prepare(struct rn_local *l, bool *ready,
                              struct rn_err *err) RN_CHECK;
/* Starts a checkpoint and works it up to the rename that makes it count. */
enum rn_code rn_local_checkpoint_begin(struct rn_local *l,
                                       struct rn_err *err) RN_CHECK;
/* Starts a checkpoint if none is in progress and works it to its end. */
enum rn_code rn_local_checkpoint(struct rn_local *l,
                                 struct rn_err *err) RN_CHECK;
/* Waits until another checkpoint is durable.  False if none is to be had, by
 * then or because it failed, or if it would bring nothing new. */
bool rn_local_await_checkpoint(struct rn_local *l,
                               const struct timespec *until);
/* True if commits have happened that the durable checkpoint does not have. With
 * the state lock, or without a keeper. */
bool rn_local_has_news(struct rn_local *l);
/* `limit`, or in a small store a share of its size, but `least`. */
uint64_t rn_local_limit(struct rn_local *l, uint64_t limit, uint64_t share,
                        uint64_t least);
/* Called now and then by the keeper and the flusher, with a store for context:
 * lets others go first unless writers would soon have to wait for them. */
void rn_local_give_way(void *local);
/* After a commit: wakes the keeper if there is something to do. */
void rn_local_nudge(struct rn_local *l);
/* How long a writer must wait for the keeper to come after; 0: not. */
int64_t rn_local_throttle_ns(struct rn_local *l);

/* held.c */

/* A checkpoint is durable; `old` is the pin of the one before.  Returns it, to
 * be released, unless a copy reads that state. */
struct rn_map_pin *rn_held_keep(struct rn_local *l, struct rn_map_pin *old);
/* What was kept for a copy goes when that is over, and not only with the next
 * checkpoint: with the log full, or the disk, there would never be one.
 * Returns when to look again. */
int64_t rn_held_let_go(struct rn_local *l);

#endif
