/* store.h -- the storage interface: an ordered key-value store with atomic
 * transactions and snapshots.
 *
 * Keys and values are byte strings.  Documents, containers, the change feed,
 * unique keys and leases are built above, once, out of keys (see engine/key.h),
 * so a new store is one file and passes tests/store/conformance_test.c
 * unchanged.
 *
 * Contract every store keeps, and store.c asserts on the way in and out:
 *
 *   order       keys compare as unsigned bytes, shorter first on a tie
 *   snapshot    a transaction sees the state at its begin, plus its own writes
 *   atomicity   after commit returns RN_OK all writes survive a crash; after
 *               RN_UNKNOWN they may, decided at the next open at the latest;
 *               after any other return, or abort, none do
 *   durable     nothing is visible to another transaction before it would
 *               survive a crash
 *   writers     one at a time per *lock*: begin(WRITE) names the catalog or one
 *               range of one container; it waits, or returns RN_BUSY once
 *               `opts.busy_ms` have passed
 *   full        a write that finds no space fails with RN_FULL and changes
 *               nothing; reads go on; writes work again when space is back.
 *               RN_TXN_SHRINK is a write that may use the reserve because it
 *               frees more than it takes
 *   damage      bytes that differ from those written are never returned:
 *               RN_CORRUPT instead
 *   views       bytes returned are borrowed: from a read transaction they
 *               last until it ends, from a writing one until the next put or
 *               del or its end
 *
 * Threads: `struct rn_store` any thread; a transaction and its cursors belong
 * to the thread that began it.
 */
#ifndef RN_STORE_STORE_H
#define RN_STORE_STORE_H

#include "base/env.h"
#include "base/histogram.h"
#include "base/mem.h"

#include <stdint.h>

enum {
    RN_KEY_MAX = 480,              /* LMDB allows 511; the rest is a reserve */
    RN_BOUND_MAX = RN_KEY_MAX + 1, /* a key and a zero byte: just after it */
    RN_VALUE_MAX = 8 << 20, /* the largest answer that is stored, with slack */
    RN_TXN_REDO_MAX = 16 << 20, /* bytes that one transaction may write */
};

enum rn_txn_mode { RN_TXN_READ, RN_TXN_WRITE, RN_TXN_SHRINK };

/* What a write locks.  All zero is the catalog. */
struct rn_lock {
    uint64_t container;
    uint32_t range;
};

/* Zero means the default written beside each. */
struct rn_store_opts {
    struct rn_env *env;      /* NULL: the real one */
    const char *where;       /* directory, or libpq connection string */
    uint64_t map_bytes;      /* address space; 0: 1 TiB, halved while refused */
    uint32_t busy_ms;        /* how long begin(WRITE) waits; 0: 10,000 */
    uint32_t readers_max;    /* read transactions at once; 0: 1,024 */
    uint32_t reader_ms_max;  /* a read older than this ends; 0: 30,000 */
    uint64_t segment_bytes;  /* of the WAL, after the first; 0: 32 MiB */
    uint64_t wal_bytes;      /* size limit of the WAL; 0: 128 MiB */
    uint64_t memtable_bytes; /* of the memtable; up to three times, under load;
                              0: half of the WAL's limit, 256 MiB at most */
    uint64_t checkpoint_bytes; /* written to the map; 0: 64 MiB */
    uint32_t checkpoint_ms;    /* 0: 5,000 */
    uint64_t throttle_bytes;   /* written since a checkpoint; 0: 512 MiB */
    uint64_t reserve_bytes;    /* disk kept free for deletes; 0: 64 MiB */
    uint64_t ahead_bytes;      /* map space allocated ahead, beside that for the
                                  memtable; 0: 8 MiB */
    /* A file that a new directory has from the start; NULL: none. */
    const char *seed_name;
    struct rn_view seed;
    /* Called when checkpoints begin to fail, with the reason, and with NULL
     * when they succeed again; by a thread of the store that holds no lock.
     * May be NULL. */
    void (*tell_checkpoints)(void *of, const char *why);
    /* Called once when the store can be neither written nor read until it is
     * opened again; in the same way. */
    void (*tell_lost)(void *of, const char *why);
    void *tell_of;
    bool manual;     /* no background task: the test steps it (maintenance.h) */
    bool must_exist; /* do not create */
};

/* The store's metrics; filled by rn_store_status. */
struct rn_store_status {
    bool read_only, full;
    bool stalled;       /* no room for longer than writers wait: RN_BUSY */
    int64_t no_room_ms; /* in the WAL or in memory, since a writer wanted it */
    char reason[160];   /* why, if any of these */
    uint64_t commits, checkpoints;
    uint64_t checkpoint_failures; /* attempts; each is followed by another */
    struct rn_histogram syncs;    /* of the WAL, in ns */
    uint64_t sync_ns_max, sync_errors;
    uint64_t data_bytes;     /* length of the map file */
    uint64_t live_bytes;     /* of it, in use */
    uint64_t wal_bytes;      /* in all WAL segments */
    uint64_t memtable_bytes; /* in the memtables */
    uint64_t disk_free_bytes, reserve_bytes;
    uint64_t corrupt_total; /* damaged records found */
    uint32_t readers;
    int64_t oldest_reader_ms;
    uint64_t recovered_records; /* replayed at open */
    int64_t recovery_ms;
    uint64_t thinned_pages;
    uint64_t restored; /* restores in the history of this store */
    int64_t backup_s;  /* when the last backup began; 0: never */
};

/* The keys from <= key < before, in ascending order, or descending if
 * `backward`.  The bounds are borrowed for the call; the cursor has its own
 * copy. */
struct rn_key_interval {
    struct rn_view from;   /* inclusive; empty means from the first key */
    struct rn_view before; /* exclusive; empty means no end */
    bool backward;
};

/* The base of every implementation's own struct, as its first member, zeroed.
 * store.c fills it once open, begin or scan has returned, and maintains it. */
struct rn_store {
    const struct rn_store_ops *ops;
};
struct rn_txn {
    const struct rn_store_ops *ops;
    struct rn_store *store;
    enum rn_txn_mode mode;
    uint64_t redo_bytes;  /* keys and values written so far */
    uint32_t cursors;     /* begun and not ended */
    enum rn_code failed;  /* the error of a put or del; only abort is left */
    struct rn_txn *above; /* the overlay on top of it */
    struct rn_err
        fault; /* set by the implementation: its last error in words */
};
struct rn_cursor {
    struct rn_txn *txn;
    struct rn_key_interval range; /* copied into `bounds`; an implementation's
                              next may use it */
    struct rn_view last;          /* the key returned before */
    char bounds[2 * RN_BOUND_MAX];
};

/* The functions of an implementation.  Every slot is filled.  Callers never
 * touch this table; they call the functions below, which check the contract and
 * then call through it. */
struct rn_store_ops {
    const char *name; /* as in `runnel serve --store NAME` */

    enum rn_code (*open)(const struct rn_store_opts *opts,
                         struct rn_store **out, struct rn_err *err);
    void (*close)(struct rn_store *s);
    void (*status)(struct rn_store *s, struct rn_store_status *out);

    enum rn_code (*begin)(struct rn_store *s, enum rn_txn_mode mode,
                          struct rn_lock lock, struct rn_txn **out,
                          struct rn_err *err);
    enum rn_code (*commit)(struct rn_txn *t, struct rn_err *err);
    void (*abort)(struct rn_txn *t);

    enum rn_code (*get)(struct rn_txn *t, struct rn_view key,
                        struct rn_view *out);
    enum rn_code (*put)(struct rn_txn *t, struct rn_view key,
                        struct rn_view value);
    enum rn_code (*del)(struct rn_txn *t, struct rn_view key);

    enum rn_code (*scan)(struct rn_txn *t, const struct rn_key_interval *range,
                         struct rn_cursor **out);
    enum rn_code (*next)(struct rn_cursor *c, struct rn_view *key,
                         struct rn_view *value); /* RN_NOT_FOUND at the end */
    void (*end)(struct rn_cursor *c);
};

/* mem.c, for tests; local.c, embedded; pg.c, PostgreSQL (to come). */
extern const struct rn_store_ops rn_store_mem;
extern const struct rn_store_ops rn_store_local;

enum rn_code rn_store_open(const char *name, const struct rn_store_opts *opts,
                           struct rn_store **out, struct rn_err *err) RN_CHECK;
void rn_store_close(struct rn_store *s); /* NULL is fine */
void rn_store_status(struct rn_store *s, struct rn_store_status *out);

enum rn_code rn_txn_begin(struct rn_store *s, enum rn_txn_mode mode,
                          struct rn_lock lock, struct rn_txn **out,
                          struct rn_err *err) RN_CHECK;
/* Ends the transaction whatever it returns.  A transaction whose put or del
 * failed must be aborted: committing it writes nothing and returns that error.
 */
enum rn_code rn_txn_commit(struct rn_txn *t, struct rn_err *err) RN_CHECK;
void rn_txn_abort(struct rn_txn *t); /* NULL is fine; the end of every read */

/* RN_OK, or the error of a put or del that left only abort. */
enum rn_code rn_txn_fault(const struct rn_txn *t);

/* The reason behind `rc` in words: the implementation's own, or else the code's
 * name. */
const char *rn_txn_why(const struct rn_txn *t, enum rn_code rc);

/* RN_NOT_FOUND if absent, for get and del alike. */
enum rn_code rn_txn_get(struct rn_txn *t, struct rn_view key,
                        struct rn_view *out) RN_CHECK;
/* RN_TOO_LARGE past RN_VALUE_MAX or RN_TXN_REDO_MAX.  Keys are made by the
 * engine, so a key too long is a bug. */
enum rn_code rn_txn_put(struct rn_txn *t, struct rn_view key,
                        struct rn_view value) RN_CHECK;
enum rn_code rn_txn_del(struct rn_txn *t, struct rn_view key) RN_CHECK;

/* A cursor sees the transaction's own writes made before the scan.  To write
 * while scanning, end the cursor first and start another after the write.  A
 * key out of order or outside of the interval is damage: RN_CORRUPT. */
enum rn_code rn_txn_scan(struct rn_txn *t, const struct rn_key_interval *range,
                         struct rn_cursor **out) RN_CHECK;
enum rn_code rn_cursor_next(struct rn_cursor *c, struct rn_view *key,
                            struct rn_view *value) RN_CHECK;
void rn_cursor_end(struct rn_cursor *c); /* NULL is fine */

#endif
