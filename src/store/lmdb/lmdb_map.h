/* lmdb_map.h -- the ordered map in an LMDB file: its state, its transactions,
 * and LMDB's errors as codes.
 *
 * What else implements the operations of map.h: lmdb_rows.h,
 * checkpoint_state.h, and lmdb_lock.h for the readers.  The only place that
 * includes <lmdb.h>. Internal to store/lmdb.
 */
#ifndef RN_STORE_LMDB_LMDB_MAP_H
#define RN_STORE_LMDB_LMDB_MAP_H

#include "store/integrity/verify_on_touch.h"
#include "store/lmdb/map.h"

#include <lmdb.h>
#include <pthread.h>

enum { RN_LMDB_PATH_MAX = 4096, RN_LMDB_RUNS = 16 };

/* A run of rows that are put in ascending order; see put_packed(). */
struct rn_lmdb_run {
    char last[RN_BOUND_MAX]; /* the key put before */
    size_t last_len;
    uint64_t left; /* room behind it in its page, as far as known */
};

struct lmdb {
    struct rn_map base;
    struct rn_env *env;
    struct rn_file *file; /* the map's file, beside LMDB's own descriptor */
    MDB_env *mdb;
    MDB_dbi kv, main;
    size_t page_bytes;
    uint64_t map_bytes; /* of address space */

    uint64_t ahead_bytes, reserve_bytes, reserved_to;
    void (*pause)(void *context); /* of the opts */
    void *context;
    bool no_reserve; /* the file system cannot allocate ahead */
    bool wild;       /* a fault interrupted LMDB's writer */
    bool lost;       /* LMDB refuses everything; atomic */
    bool blind;      /* the meta pages cannot be read; atomic */

    uint64_t length; /* the file's, at the last check; it never shrinks */
    uint64_t flush_at, flush_to;
    bool flushed_once; /* the first of two passes is over; atomic */
    struct rn_lmdb_run runs[RN_LMDB_RUNS]; /* used by the writer; by hash */

    /* The checksums of the last durable state's pages.  A captured state has
     * its own once it is on disk; they count from the moment that it is
     * adopted. */
    struct rn_page_checksums *checksums;
    uint64_t checksums_txnid; /* of that state; 0: none yet; atomic */
    uint64_t free_bytes;      /* of pages that it does not use; atomic */
    uint64_t free_written;    /* `written` when it was captured; atomic */
    struct rn_verify_on_touch verify;
    MDB_txn *opening;  /* in open, where a guard may leave it behind */
    MDB_txn *captured; /* the pin; NULL: none in progress */
    bool captured_checksums;
    uint64_t captured_written;
    struct rn_buf *image;  /* the caller's, until the state is on disk */
    struct rn_buf changes; /* scratch */

    /* Counts the bytes dirtied: see meter(). */
    MDB_txn *meter_txn;
    MDB_cursor *meter_cursor;
    uint64_t written, tree_pages;

    pthread_mutex_t growing; /* held while space is allocated ahead */
    pthread_mutex_t lock;    /* guards the pool */
    struct rn_map_txn *pool;
    char path[RN_LMDB_PATH_MAX];
};

struct rn_map_txn {
    struct lmdb *m;
    MDB_txn *txn;
    enum rn_txn_mode mode;
    bool wild;
    struct rn_map_txn *next; /* in the pool */
};

/* Translates LMDB's codes and errno values.  A short write on a full tmpfs
 * comes as EIO: the store asks the file system itself how full it is. */
enum rn_code rn_lmdb_code(int rc);
/* The same for a put: MDB_NOTFOUND of a put means a damaged tree. */
enum rn_code rn_lmdb_put_code(int rc);
/* Ends a guard after a fault in the middle of a write.  That leaves LMDB's
 * lists half changed: the transaction must not be touched again, and no other
 * may follow it. */
enum rn_code rn_lmdb_write_caught(struct rn_map_txn *t,
                                  struct rn_fault_guard *guard);
/* The calls of LMDB that read its meta pages.  A fault is MDB_CORRUPTED, and no
 * transaction can begin any more. */
int rn_lmdb_txn_begin(struct lmdb *m, unsigned flags, MDB_txn **out);
int rn_lmdb_txn_renew(struct lmdb *m, MDB_txn *txn);
int rn_lmdb_info(struct lmdb *m, MDB_envinfo *out);
/* Sets `err` and returns the translated code. */
enum rn_code rn_lmdb_fail(const struct lmdb *m, int rc, const char *doing,
                          struct rn_err *err);
int rn_lmdb_meter_open(struct lmdb *m);

#endif
