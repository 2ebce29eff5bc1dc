/* lmdb.c -- the local store's map: LMDB without syncs, opened at a saved state.
 *
 * The only file that includes <lmdb.h>.  What the rest relies on (each line was
 * shown by experiment against LMDB 0.9.24; prove it again before a new major
 * version):
 *
 *   M1  LMDB reuses no page that a read transaction can reach.  A reader at T
 *       therefore keeps T, and every later state, whole on disk: the pin.
 *   M2  What of T is in the file is found from its two meta pages.  Both are
 *       saved with the checkpoint and both are put back at open; one alone is
 *       not enough, the other may hold a later state.
 *   M3  Without MDB_WRITEMAP LMDB writes with pwrite and writev only, so a
 *       full disk is an error and not a SIGBUS.
 *   M4  Pins need MDB_NOTLS, and die with MDB_NOLOCK.
 *   M5  The lock file must not be opened and closed in this process: that
 *       drops the POSIX locks under LMDB's feet.  Nothing but this file opens
 *       the environment, in this process or another.
 *
 * Two tables: the unnamed one holds the row "seq", the number of the last group
 * in this state; "kv" holds everything else.  A value in "kv" is
 *
 *      0  sum    u64   xxh3 of the value, seeded with xxh3 of the key
 *      8  value
 *
 * so a damaged key, value or pairing is met by the first read of it.
 */
#include "store/map.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "store/guard.h"

#include <assert.h>
#include <errno.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    IMAGE_VERSION = 1,
    IMAGE_HEADER = 24,
    META_TXNID = 144, /* in a meta page: 16 header, 120 before, 8 last page */
    SUM_BYTES = 8,
    READERS_OURS = 8, /* pins and the meter, beside the store's readers */
    LOCK_BYTES_PER_READER = 64,
    SLICE_BYTES = 4 << 20, /* of write-back, so that log syncs get between */
    PATH_BYTES = 4096,
};

struct lmdb {
    struct rn_map base;
    struct rn_env *env;
    struct rn_file *file; /* the map's file, beside LMDB's own descriptor */
    MDB_env *mdb;
    MDB_dbi kv, main;
    size_t page_bytes;

    uint64_t ahead_bytes, reserved_to;
    bool no_reserve; /* the file system cannot allocate ahead */
    bool wild;       /* a fault left LMDB's writer in the middle */

    uint64_t flush_at, flush_to;

    /* How much was dirtied: see meter(). */
    MDB_txn *meter_txn;
    MDB_cursor *meter_cursor;
    uint64_t written, tree_pages;

    pthread_mutex_t lock; /* guards the pool */
    struct rn_map_txn *pool;
    char path[PATH_BYTES];
};

struct rn_map_txn {
    struct lmdb *m;
    MDB_txn *txn;
    enum rn_txn_mode mode;
    bool wild;
    struct rn_map_txn *next; /* in the pool */
};

struct rn_map_cursor {
    struct rn_map_txn *txn;
    MDB_cursor *cursor;
    struct rn_range range;
    bool started;
    char from[RN_BOUND_MAX], before[RN_BOUND_MAX];
};

static MDB_val val_of(struct rn_view v)
{
    return (MDB_val){ v.len, (void *)v.at };
}

static struct rn_view view_of(MDB_val v)
{
    return (struct rn_view){ v.mv_data, v.mv_size };
}

/* LMDB's codes and errno values in ours.  A short write on a full tmpfs comes
 * as EIO: the store asks the file system itself how full it is. */
static enum rn_code code_of(int rc)
{
    switch (rc) {
    case MDB_SUCCESS:
        return RN_OK;
    case MDB_NOTFOUND:
        return RN_NOT_FOUND;
    case MDB_MAP_FULL:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return RN_FULL;
    case ENOMEM:
        return RN_NOMEM;
    case MDB_READERS_FULL:
        return RN_BUSY;
    case MDB_TXN_FULL:
        return RN_TOO_LARGE;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_BAD_TXN:
    case MDB_INVALID:
    case MDB_BAD_VALSIZE:
        return RN_CORRUPT;
    default:
        return RN_IO;
    }
}

static enum rn_code fail_mdb(const struct lmdb *m, int rc, const char *doing,
                             struct rn_err *err)
{
    return rn_fail(err, code_of(rc), "%s: %s: %s", m->path, doing,
                   mdb_strerror(rc));
}

/* LMDB asserts on some kinds of damage; that must not end the process. */
static void on_assert(MDB_env *env, const char *message)
{
    (void)env;
    (void)message;
    rn_guard_trip();
}

/* ---- the meter ----------------------------------------------------------- */

/* LMDB does not tell how many pages a commit wrote.  It frees one page for each
 * that it copies, and notes them under the transaction's number in its free
 * list (table 0); pages without a predecessor show as growth of the tree. */
static uint64_t dirtied_pages(struct lmdb *m, size_t txnid)
{
    MDB_val key = { sizeof(txnid), &txnid }, freed;
    uint64_t pages = 0, tree;
    MDB_stat stat;

    if (!mdb_cursor_renew(m->meter_txn, m->meter_cursor) &&
        !mdb_cursor_get(m->meter_cursor, &key, &freed, MDB_SET) &&
        freed.mv_size >= sizeof(size_t)) {
        size_t count;
        memcpy(&count, freed.mv_data, sizeof(count));
        pages = count < freed.mv_size ? count : 0;
    }
    if (mdb_stat(m->meter_txn, m->kv, &stat))
        return pages;
    tree = stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    if (tree > m->tree_pages)
        pages += tree - m->tree_pages;
    __atomic_store_n(&m->tree_pages, tree, __ATOMIC_RELAXED);
    return pages;
}

static void meter(struct lmdb *m, size_t txnid)
{
    struct rn_guard guard;

    if (mdb_txn_renew(m->meter_txn))
        return;
    if (!sigsetjmp(guard.back, 0)) {
        rn_guard_enter(&guard);
        __atomic_add_fetch(&m->written, dirtied_pages(m, txnid) * m->page_bytes,
                           __ATOMIC_RELAXED);
    }
    rn_guard_leave(&guard);
    mdb_txn_reset(m->meter_txn);
}

static int meter_open(struct lmdb *m)
{
    int rc = mdb_txn_begin(m->mdb, NULL, MDB_RDONLY, &m->meter_txn);

    if (!rc)
        rc = mdb_cursor_open(m->meter_txn, 0, &m->meter_cursor);
    if (m->meter_txn)
        mdb_txn_reset(m->meter_txn);
    return rc;
}

/* ---- opening ------------------------------------------------------------- */

/* A lock file with holes would fault when a reader slot is first used on a full
 * disk, so it is allocated whole before LMDB maps it. */
static enum rn_code make_lock_file(struct lmdb *m, uint32_t readers,
                                   struct rn_err *err)
{
    struct rn_file *file = NULL;
    char path[PATH_BYTES + 8];
    int error;

    snprintf(path, sizeof(path), "%s-lock", m->path);
    (void)m->env->ops->remove(m->env, path); /* stale pins of a dead process */
    error = rn_file_open(m->env, path, RN_OPEN_NEW, &file);
    if (!error)
        error = m->env->ops->reserve(
            file, 0, (uint64_t)(readers + READERS_OURS) * LOCK_BYTES_PER_READER,
            RN_RESERVE_GROW);
    rn_file_close(file); /* M5: LMDB has not opened it yet */
    if (error && error != EOPNOTSUPP)
        return rn_fail_errno(err, error, "%s", path);
    return RN_OK;
}

static int env_open_sized(struct lmdb *m, const struct rn_map_opts *opts,
                          size_t map_bytes)
{
    int rc = mdb_env_create(&m->mdb);

    if (rc)
        return rc;
    rc = mdb_env_set_mapsize(m->mdb, map_bytes);
    if (!rc)
        rc = mdb_env_set_maxdbs(m->mdb, 2);
    if (!rc)
        rc = mdb_env_set_maxreaders(m->mdb, opts->readers_max + READERS_OURS);
    if (!rc)
        rc = mdb_env_set_assert(m->mdb, on_assert);
    if (!rc)
        rc = mdb_env_open(m->mdb, m->path,
                          MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS, 0600);
    if (rc) {
        mdb_env_close(m->mdb);
        m->mdb = NULL;
    }
    return rc;
}

/* The map is reserved once; only address space, so ask for much and take what
 * one gets. */
static enum rn_code env_open(struct lmdb *m, const struct rn_map_opts *opts,
                             struct rn_err *err)
{
    size_t bytes = (size_t)opts->map_bytes;
    int rc = env_open_sized(m, opts, bytes);

    while (rc == ENOMEM && bytes > (size_t)64 << 20) {
        bytes /= 2;
        rc = env_open_sized(m, opts, bytes);
    }
    return rc ? fail_mdb(m, rc, "opening", err) : RN_OK;
}

static enum rn_code tables_create(struct lmdb *m, struct rn_err *err)
{
    char zero[8] = { 0 };
    MDB_val key = { 3, (void *)"seq" }, value = { 8, zero };
    MDB_txn *txn = NULL;
    int rc = mdb_txn_begin(m->mdb, NULL, 0, &txn);

    if (!rc)
        rc = mdb_dbi_open(txn, NULL, 0, &m->main);
    if (!rc)
        rc = mdb_dbi_open(txn, "kv", MDB_CREATE, &m->kv);
    if (!rc)
        rc = mdb_put(txn, m->main, &key, &value, 0);
    if (rc) {
        mdb_txn_abort(txn);
        return fail_mdb(m, rc, "creating", err);
    }
    rc = mdb_txn_commit(txn);
    return rc ? fail_mdb(m, rc, "creating", err) : RN_OK;
}

/* Opens the tables and takes the pin, in this order and before any write. */
static enum rn_code tables_open(struct lmdb *m, MDB_txn **pin,
                                struct rn_err *err)
{
    struct rn_guard guard;
    MDB_txn *txn = NULL;
    int rc;

    if (sigsetjmp(guard.back, 0)) {
        rn_guard_caught(&guard);
        return rn_fail(err, RN_CORRUPT, "%s: damaged", m->path);
    }
    rn_guard_enter(&guard);
    rc = mdb_txn_begin(m->mdb, NULL, MDB_RDONLY, &txn);
    if (!rc)
        rc = mdb_dbi_open(txn, NULL, 0, &m->main);
    if (!rc)
        rc = mdb_dbi_open(txn, "kv", 0, &m->kv);
    if (!rc)
        rc = mdb_txn_commit(txn); /* keeps the handles */
    if (!rc)
        rc = mdb_txn_begin(m->mdb, NULL, MDB_RDONLY, pin);
    rn_guard_leave(&guard);
    if (rc == MDB_NOTFOUND)
        rc = MDB_CORRUPTED;
    return rc ? fail_mdb(m, rc, "opening", err) : RN_OK;
}

struct image {
    uint32_t page_bytes;
    uint64_t txnid, length;
    struct rn_view metas;
};

static bool image_decode(struct rn_view v, struct image *out)
{
    if (v.len < IMAGE_HEADER || rn_get_u32(v.at) != IMAGE_VERSION)
        return false;
    out->page_bytes = rn_get_u32(v.at + 4);
    out->txnid = rn_get_u64(v.at + 8);
    out->length = rn_get_u64(v.at + 16);
    out->metas = rn_view_of(v.at + IMAGE_HEADER, v.len - IMAGE_HEADER);
    return out->metas.len == 2 * (size_t)out->page_bytes;
}

/* M2.  The length is checked first: reading a mapping past the end of its file
 * is a SIGBUS. */
static enum rn_code restore_metas(struct lmdb *m, const struct image *image,
                                  struct rn_err *err)
{
    uint64_t size = 0;
    int error = rn_file_open(m->env, m->path, RN_OPEN_WRITE, &m->file);

    if (!error)
        error = rn_file_size(m->file, &size);
    if (error)
        return rn_fail_errno(err, error, "%s", m->path);
    if (size < image->length)
        return rn_fail(err, RN_CORRUPT,
                       "%s: cut short: %llu bytes, the checkpoint has %llu",
                       m->path, (unsigned long long)size,
                       (unsigned long long)image->length);
    /* No sync: whatever a power cut leaves of them, the next open puts them
     * back again. */
    error = rn_file_write(m->file, image->metas, 0);
    return error ? rn_fail_errno(err, error, "%s: restoring", m->path) : RN_OK;
}

static enum rn_code open_at(struct lmdb *m, const struct rn_map_opts *opts,
                            MDB_txn **pin, struct rn_err *err)
{
    struct image image;
    enum rn_code rc;

    if (!image_decode(opts->image, &image))
        return rn_fail(err, RN_CORRUPT, "%s: the checkpoint does not fit",
                       m->path);
    rc = restore_metas(m, &image, err);
    if (!rc)
        rc = make_lock_file(m, opts->readers_max, err);
    if (!rc)
        rc = env_open(m, opts, err);
    if (!rc)
        rc = tables_open(m, pin, err);
    if (!rc &&
        mdb_txn_id(*pin) != image.txnid) /* another process has it open */
        rc =
            rn_fail(err, RN_CORRUPT, "%s: opened at state %zu instead of %llu",
                    m->path, mdb_txn_id(*pin), (unsigned long long)image.txnid);
    return rc;
}

static enum rn_code open_new(struct lmdb *m, const struct rn_map_opts *opts,
                             struct rn_err *err)
{
    enum rn_code rc;
    int error;

    (void)m->env->ops->remove(m->env, m->path);
    rc = make_lock_file(m, opts->readers_max, err);
    if (!rc)
        rc = env_open(m, opts, err);
    if (!rc)
        rc = tables_create(m, err);
    if (rc)
        return rc;
    error = rn_file_open(m->env, m->path, RN_OPEN_WRITE, &m->file);
    return error ? rn_fail_errno(err, error, "%s", m->path) : RN_OK;
}

static void lmdb_close(struct rn_map *base);

static enum rn_code lmdb_open(const struct rn_map_opts *opts,
                              struct rn_map **out, struct rn_map_pin **pin,
                              struct rn_err *err)
{
    struct lmdb *m = rn_new(sizeof(*m));
    MDB_txn *pinned = NULL;
    MDB_stat stat;
    enum rn_code rc;
    int error;

    if (!m)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", opts->path);
    rn_guard_install();
    m->base.ops = &rn_map_lmdb;
    m->env = opts->env;
    m->ahead_bytes = opts->ahead_bytes;
    pthread_mutex_init(&m->lock, NULL);
    snprintf(m->path, sizeof(m->path), "%s", opts->path);
    rc = opts->image.len ? open_at(m, opts, &pinned, err)
                         : open_new(m, opts, err);
    if (rc)
        goto out;
    error = mdb_env_stat(m->mdb, &stat);
    if (!error)
        error = meter_open(m);
    if (error) {
        rc = fail_mdb(m, error, "opening", err);
        goto out;
    }
    m->page_bytes = stat.ms_psize;
    meter(m, 0); /* for the size of the tree */
    *pin = (struct rn_map_pin *)pinned;
    *out = &m->base;
    return RN_OK;
out:
    mdb_txn_abort(pinned);
    lmdb_close(&m->base);
    return rc;
}

static void lmdb_close(struct rn_map *base)
{
    struct lmdb *m = (struct lmdb *)base;

    while (m->pool) {
        struct rn_map_txn *t = m->pool;
        m->pool = t->next;
        mdb_txn_abort(t->txn);
        rn_free(t);
    }
    if (m->meter_cursor)
        mdb_cursor_close(m->meter_cursor);
    if (m->meter_txn)
        mdb_txn_abort(m->meter_txn);
    if (m->mdb)
        mdb_env_close(m->mdb);
    rn_file_close(m->file);
    pthread_mutex_destroy(&m->lock);
    rn_free(m);
}

static void lmdb_stat(struct rn_map *base, struct rn_map_stat *out)
{
    struct lmdb *m = (struct lmdb *)base;

    *out = (struct rn_map_stat){
        .written = __atomic_load_n(&m->written, __ATOMIC_RELAXED),
        .live_bytes =
            __atomic_load_n(&m->tree_pages, __ATOMIC_RELAXED) * m->page_bytes,
    };
    (void)rn_file_size(m->file, &out->file_bytes);
}

/* ---- checkpoints --------------------------------------------------------- */

static enum rn_code lmdb_capture(struct rn_map *base, struct rn_buf *image,
                                 struct rn_map_pin **pin, struct rn_err *err)
{
    struct lmdb *m = (struct lmdb *)base;
    size_t metas = 2 * m->page_bytes, got = 0;
    uint64_t length = 0, newest[2];
    MDB_txn *txn = NULL;
    enum rn_code code;
    int rc;

    rn_buf_clear(image);
    code = rn_buf_reserve(image, IMAGE_HEADER + metas);
    if (code)
        return rn_fail(err, code, "%s: out of memory", m->path);
    rc = mdb_txn_begin(m->mdb, NULL, MDB_RDONLY, &txn);
    if (rc)
        return fail_mdb(m, rc, "pinning", err);
    rc = rn_file_read(m->file, image->at + IMAGE_HEADER, metas, 0, &got);
    if (!rc && got < metas)
        rc = EIO;
    if (!rc)
        rc = rn_file_size(m->file, &length);
    if (rc) {
        mdb_txn_abort(txn);
        return rn_fail_errno(err, rc, "%s: reading", m->path);
    }
    memcpy(&newest[0], image->at + IMAGE_HEADER + META_TXNID, 8);
    memcpy(&newest[1], image->at + IMAGE_HEADER + m->page_bytes + META_TXNID,
           8);
    assert(mdb_txn_id(txn) == (newest[0] > newest[1] ? newest[0] : newest[1]));
    rn_put_u32(image->at, IMAGE_VERSION);
    rn_put_u32(image->at + 4, (uint32_t)m->page_bytes);
    rn_put_u64(image->at + 8, mdb_txn_id(txn));
    rn_put_u64(image->at + 16, length);
    image->len = IMAGE_HEADER + metas;
    m->flush_at = 0;
    m->flush_to = length;
    *pin = (struct rn_map_pin *)txn;
    return RN_OK;
}

/* One fdatasync over hundreds of dirty megabytes would hold up the log's syncs
 * for as long; so most is written back in slices first. */
static enum rn_code lmdb_flush(struct rn_map *base, bool *done,
                               struct rn_err *err)
{
    struct lmdb *m = (struct lmdb *)base;
    uint64_t slice = m->flush_to / 16384;
    int error;

    if (slice < SLICE_BYTES)
        slice = SLICE_BYTES;
    *done = m->flush_at >= m->flush_to;
    error = *done ? rn_file_sync(m->file)
                  : m->env->ops->write_back(m->file, m->flush_at, slice);
    m->flush_at += slice;
    return error ? rn_fail_errno(err, error, "%s: syncing", m->path) : RN_OK;
}

static void lmdb_release(struct rn_map *base, struct rn_map_pin *pin)
{
    (void)base;
    mdb_txn_abort((MDB_txn *)pin); /* NULL is fine */
}

/* ---- transactions -------------------------------------------------------- */

static enum rn_code lmdb_reserve(struct rn_map *base, enum rn_txn_mode mode)
{
    struct lmdb *m = (struct lmdb *)base;
    MDB_envinfo info;
    uint64_t end, want;
    int error;

    if (m->no_reserve || mdb_env_info(m->mdb, &info))
        return RN_OK;
    end = (info.me_last_pgno + 1) * m->page_bytes;
    want = end + (mode == RN_TXN_SHRINK ? m->ahead_bytes / 4 : m->ahead_bytes);
    if (want <= m->reserved_to)
        return RN_OK;
    want = end + m->ahead_bytes + m->ahead_bytes / 2;
    if (m->reserved_to < end)
        m->reserved_to = end;
    error = m->env->ops->reserve(m->file, m->reserved_to, want - m->reserved_to,
                                 RN_RESERVE_KEEP);
    m->no_reserve = error == EOPNOTSUPP;
    if (!error)
        m->reserved_to = want;
    return error && !m->no_reserve ? RN_FULL : RN_OK;
}

static struct rn_map_txn *pool_take(struct lmdb *m)
{
    struct rn_map_txn *t;

    pthread_mutex_lock(&m->lock);
    t = m->pool;
    if (t)
        m->pool = t->next;
    pthread_mutex_unlock(&m->lock);
    return t;
}

static void pool_give(struct rn_map_txn *t)
{
    struct lmdb *m = t->m;

    mdb_txn_reset(t->txn);
    pthread_mutex_lock(&m->lock);
    t->next = m->pool;
    m->pool = t;
    pthread_mutex_unlock(&m->lock);
}

static enum rn_code lmdb_begin(struct rn_map *base, enum rn_txn_mode mode,
                               struct rn_map_txn **out, struct rn_err *err)
{
    struct lmdb *m = (struct lmdb *)base;
    struct rn_map_txn *t = mode == RN_TXN_READ ? pool_take(m) : NULL;
    int rc;

    if (t) {
        rc = mdb_txn_renew(t->txn);
        if (!rc) {
            *out = t;
            return RN_OK;
        }
        mdb_txn_abort(t->txn);
        rn_free(t);
        return fail_mdb(m, rc, "reading", err);
    }
    if (m->wild)
        return rn_fail(err, RN_READ_ONLY, "%s: damaged", m->path);
    t = rn_new(sizeof(*t));
    if (!t)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", m->path);
    rc = mdb_txn_begin(m->mdb, NULL, mode == RN_TXN_READ ? MDB_RDONLY : 0,
                       &t->txn);
    if (rc) {
        rn_free(t);
        return fail_mdb(m, rc, "beginning", err);
    }
    t->m = m;
    t->mode = mode;
    *out = t;
    return RN_OK;
}

/* A fault in the middle of a write leaves LMDB's lists half changed: nothing of
 * that transaction may be touched again, and none may follow it. */
static enum rn_code write_caught(struct rn_map_txn *t, struct rn_guard *guard)
{
    t->wild = true;
    t->m->wild = true;
    return rn_guard_caught(guard);
}

static void lmdb_abort(struct rn_map_txn *t)
{
    if (t->mode == RN_TXN_READ) {
        pool_give(t);
        return;
    }
    if (!t->wild)
        mdb_txn_abort(t->txn);
    rn_free(t);
}

static enum rn_code lmdb_commit(struct rn_map_txn *t, struct rn_err *err)
{
    struct lmdb *m = t->m;
    size_t txnid = mdb_txn_id(t->txn);
    struct rn_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0)) {
        write_caught(t, &guard);
        rn_free(t);
        return rn_fail(err, RN_CORRUPT, "%s: damaged", m->path);
    }
    rn_guard_enter(&guard);
    rc = mdb_txn_commit(t->txn);
    rn_guard_leave(&guard);
    rn_free(t);
    if (rc)
        return fail_mdb(m, rc, "committing", err);
    meter(m, txnid);
    return RN_OK;
}

static enum rn_code lmdb_seq(struct rn_map_txn *t, uint64_t *out)
{
    MDB_val key = { 3, (void *)"seq" }, value;
    struct rn_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_guard_caught(&guard);
    rn_guard_enter(&guard);
    rc = mdb_get(t->txn, t->m->main, &key, &value);
    if (!rc && value.mv_size == 8)
        *out = rn_get_u64(value.mv_data);
    else
        rc = MDB_CORRUPTED;
    rn_guard_leave(&guard);
    return code_of(rc);
}

static enum rn_code lmdb_set_seq(struct rn_map_txn *t, uint64_t seq)
{
    char bytes[8];
    MDB_val key = { 3, (void *)"seq" }, value = { 8, bytes };
    struct rn_guard guard;
    int rc;

    rn_put_u64(bytes, seq);
    if (sigsetjmp(guard.back, 0))
        return write_caught(t, &guard);
    rn_guard_enter(&guard);
    rc = mdb_put(t->txn, t->m->main, &key, &value, 0);
    rn_guard_leave(&guard);
    return code_of(rc);
}

/* ---- keys and values ----------------------------------------------------- */

static uint64_t sum_of(struct rn_view key, struct rn_view value)
{
    return rn_hash64(value, rn_hash64(key, 0));
}

/* Takes the sum off a stored value and checks it. */
static enum rn_code unwrap(struct rn_view key, MDB_val stored,
                           struct rn_view *out)
{
    struct rn_view value;

    if (stored.mv_size < SUM_BYTES || stored.mv_size - SUM_BYTES > RN_VALUE_MAX)
        return RN_CORRUPT;
    value = rn_view_of((char *)stored.mv_data + SUM_BYTES,
                       stored.mv_size - SUM_BYTES);
    if (rn_get_u64(stored.mv_data) != sum_of(key, value))
        return RN_CORRUPT;
    *out = value;
    return RN_OK;
}

static enum rn_code lmdb_get(struct rn_map_txn *t, struct rn_view key,
                             struct rn_view *out)
{
    MDB_val k = val_of(key), v;
    struct rn_guard guard;
    enum rn_code code;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_guard_caught(&guard);
    rn_guard_enter(&guard);
    rc = mdb_get(t->txn, t->m->kv, &k, &v);
    code = rc ? code_of(rc) : unwrap(key, v, out);
    rn_guard_leave(&guard);
    return code;
}

static enum rn_code put_flagged(struct rn_map_txn *t, struct rn_view key,
                                struct rn_view value, unsigned flags)
{
    MDB_val k = val_of(key), v = { value.len + SUM_BYTES, NULL };
    uint64_t sum = sum_of(key, value);
    struct rn_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return write_caught(t, &guard);
    rn_guard_enter(&guard);
    rc = mdb_put(t->txn, t->m->kv, &k, &v, MDB_RESERVE | flags);
    if (!rc) {
        rn_put_u64(v.mv_data, sum);
        if (value.len)
            memcpy((char *)v.mv_data + SUM_BYTES, value.at, value.len);
    }
    rn_guard_leave(&guard);
    return code_of(rc);
}

static enum rn_code lmdb_put(struct rn_map_txn *t, struct rn_view key,
                             struct rn_view value)
{
    return put_flagged(t, key, value, 0);
}

static enum rn_code lmdb_append(struct rn_map_txn *t, struct rn_view key,
                                struct rn_view value)
{
    return put_flagged(t, key, value, MDB_APPEND);
}

static enum rn_code lmdb_del(struct rn_map_txn *t, struct rn_view key)
{
    MDB_val k = val_of(key);
    struct rn_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return write_caught(t, &guard);
    rn_guard_enter(&guard);
    rc = mdb_del(t->txn, t->m->kv, &k, NULL);
    rn_guard_leave(&guard);
    return code_of(rc);
}

/* ---- cursors ------------------------------------------------------------- */

static enum rn_code lmdb_scan(struct rn_map_txn *t, const struct rn_range *r,
                              struct rn_map_cursor **out)
{
    struct rn_map_cursor *c = rn_new(sizeof(*c));
    int rc;

    if (!c)
        return RN_NOMEM;
    c->txn = t;
    c->range = *r;
    if (r->from.len)
        memcpy(c->from, r->from.at, r->from.len);
    if (r->before.len)
        memcpy(c->before, r->before.at, r->before.len);
    c->range.from.at = c->from;
    c->range.before.at = c->before;
    rc = mdb_cursor_open(t->txn, t->m->kv, &c->cursor);
    if (rc) {
        rn_free(c);
        return code_of(rc);
    }
    *out = c;
    return RN_OK;
}

/* The first entry: at `from`, or the last one before `before`. */
static int cursor_start(struct rn_map_cursor *c, MDB_val *k, MDB_val *v)
{
    struct rn_view bound = c->range.backward ? c->range.before : c->range.from;
    int rc;

    if (!bound.len)
        return mdb_cursor_get(c->cursor, k, v,
                              c->range.backward ? MDB_LAST : MDB_FIRST);
    *k = val_of(bound);
    rc = mdb_cursor_get(c->cursor, k, v, MDB_SET_RANGE);
    if (!c->range.backward)
        return rc;
    return mdb_cursor_get(c->cursor, k, v, rc ? MDB_LAST : MDB_PREV);
}

static bool in_range(const struct rn_map_cursor *c, struct rn_view key)
{
    if (rn_view_compare(key, c->range.from) < 0)
        return false;
    return !c->range.before.len || rn_view_compare(key, c->range.before) < 0;
}

static enum rn_code cursor_step(struct rn_map_cursor *c, struct rn_view *key,
                                struct rn_view *value)
{
    MDB_val k = { 0 }, v = { 0 };
    int rc;

    if (c->started)
        rc = mdb_cursor_get(c->cursor, &k, &v,
                            c->range.backward ? MDB_PREV : MDB_NEXT);
    else
        rc = cursor_start(c, &k, &v);
    c->started = true;
    if (rc)
        return code_of(rc);
    *key = view_of(k);
    if (!in_range(c, *key))
        return RN_NOT_FOUND;
    return unwrap(*key, v, value);
}

static enum rn_code lmdb_next(struct rn_map_cursor *c, struct rn_view *key,
                              struct rn_view *value)
{
    struct rn_guard guard;
    enum rn_code code;

    if (sigsetjmp(guard.back, 0))
        return rn_guard_caught(&guard);
    rn_guard_enter(&guard);
    code = cursor_step(c, key, value);
    rn_guard_leave(&guard);
    return code;
}

static void lmdb_end(struct rn_map_cursor *c)
{
    if (!c->txn->wild)
        mdb_cursor_close(c->cursor);
    rn_free(c);
}

const struct rn_map_ops rn_map_lmdb = {
    .open = lmdb_open,
    .close = lmdb_close,
    .stat = lmdb_stat,
    .capture = lmdb_capture,
    .flush = lmdb_flush,
    .release = lmdb_release,
    .reserve = lmdb_reserve,
    .begin = lmdb_begin,
    .commit = lmdb_commit,
    .abort = lmdb_abort,
    .seq = lmdb_seq,
    .set_seq = lmdb_set_seq,
    .get = lmdb_get,
    .put = lmdb_put,
    .del = lmdb_del,
    .append = lmdb_append,
    .scan = lmdb_scan,
    .next = lmdb_next,
    .end = lmdb_end,
};
