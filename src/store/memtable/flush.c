/* flush.c -- see flush.h. */
#include "store/memtable/flush.h"

#include "store/bug.h"
#include "store/local/local.h"
#include "store/local/maintenance.h"

enum {
    /* LMDB keeps the dirty pages of a transaction in a sorted array, whose
     * insertions take quadratic time.  A commit also writes them in one go, and
     * other threads wait for it. */
    SLICE_ROWS = 512,
    ROWS_A_PAUSE = 32,
    SLICE_BYTES = 4 << 20,
    ROW_SHARE = 16 << 10, /* of the space allocated ahead, for one row */
    LIMIT_SHARE = 4,      /* a memtable, of the bytes in the map */
    LIMIT_LEAST = 8 << 20,
    LIMIT_FIRST = 64 << 20, /* after an open, when much may come */
    DISK_SHARE = 16,        /* a memtable, of the free disk */
    RETRY_NS = 200000000,
};

#define ALL_GROUPS (UINT64_MAX - 1) /* except those rolled back */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t disk_share(struct rn_local *l)
{
    uint64_t free_bytes = UINT64_MAX;

    if (l->env->ops->space(l->env, l->dir, &free_bytes))
        return UINT64_MAX;
    free_bytes /= DISK_SHARE;
    return free_bytes > LIMIT_LEAST ? free_bytes : LIMIT_LEAST;
}

/* The larger a memtable, the more of its rows go to one page of the map, and
 * the fewer pages are written.  But a small store should not keep more in
 * memory than in its map, and the pages that a flush takes must fit the disk.
 */
static void set_limit(struct rn_local *l)
{
    uint64_t limit =
        rn_local_limit(l, l->opts.memtable_bytes, LIMIT_SHARE, LIMIT_LEAST);

    if (limit > LIMIT_LEAST)
        limit = smaller(limit, disk_share(l));
    __atomic_store_n(&l->flush.limit, limit, __ATOMIC_RELAXED);
}

enum rn_code rn_flush_init(struct rn_local *l, struct rn_err *err)
{
    l->flush.mutable = rn_memtable_new(l->opts.memtable_bytes);
    l->flush.limit = smaller(l->opts.memtable_bytes, LIMIT_FIRST);
    return l->flush.mutable
               ? RN_OK
               : rn_fail(err, RN_NOMEM, "%s: out of memory", l->opts.where);
}

void rn_flush_release(struct rn_flush *s)
{
    rn_memtable_drop(s->mutable);
    rn_memtable_drop(s->immutable);
    rn_memtable_drop(s->spare);
    *s = (struct rn_flush){ 0 };
}

struct rn_memtable *rn_flush_table(const struct rn_local *l)
{
    return __atomic_load_n(&l->flush.immutable, __ATOMIC_ACQUIRE);
}

/* ---- progress ------------------------------------------------------------ */

static bool is_full(const struct rn_flush *s)
{
    return rn_memtable_bytes(s->mutable) >=
           __atomic_load_n(&s->limit, __ATOMIC_RELAXED);
}

bool rn_flush_is_full(struct rn_local *l)
{
    bool full;

    pthread_mutex_lock(&l->state);
    full = is_full(&l->flush);
    pthread_mutex_unlock(&l->state);
    return full;
}

bool rn_flush_has_room(struct rn_local *l)
{
    bool room;

    pthread_mutex_lock(&l->state);
    /* Up to twice the limit: backpressure slows writers long before. */
    room = !l->flush.immutable ||
           rn_memtable_bytes(l->flush.mutable) <
               2 * __atomic_load_n(&l->flush.limit, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&l->state);
    return room;
}

bool rn_flush_is_blocked(const struct rn_local *l)
{
    return __atomic_load_n(&l->flush.is_blocked, __ATOMIC_RELAXED);
}

uint64_t rn_flush_pending(struct rn_local *l)
{
    struct rn_flush *s = &l->flush;
    uint64_t bytes;

    pthread_mutex_lock(&l->state);
    bytes = rn_memtable_bytes(s->mutable);
    if (s->immutable)
        bytes += rn_memtable_bytes(s->immutable);
    pthread_mutex_unlock(&l->state);
    return 2 * bytes;
}

double rn_flush_lag(struct rn_local *l)
{
    struct rn_flush *s = &l->flush;
    uint64_t total = __atomic_load_n(&s->total, __ATOMIC_RELAXED);
    double filled, done;

    if (!total)
        return 0;
    pthread_mutex_lock(&l->state);
    filled = (double)rn_memtable_bytes(s->mutable);
    pthread_mutex_unlock(&l->state);
    filled /= (double)__atomic_load_n(&s->limit, __ATOMIC_RELAXED);
    done = (double)__atomic_load_n(&s->done, __ATOMIC_RELAXED) / (double)total;
    return filled > done ? filled - done : 0;
}

/* ---- flush --------------------------------------------------------------- */

/* Stores a memtable as the spare; returns the previous spare. */
static struct rn_memtable *swap_spare(struct rn_local *l, struct rn_memtable *r)
{
    return __atomic_exchange_n(&l->flush.spare, r, __ATOMIC_ACQ_REL);
}

void rn_flush_drop(struct rn_local *l, struct rn_memtable *table)
{
    struct rn_memtable *empty = rn_memtable_recycle(table);

    if (empty)
        rn_memtable_drop(swap_spare(l, empty));
}

void rn_flush_rest(struct rn_local *l)
{
    rn_memtable_drop(swap_spare(l, NULL));
    rn_local_enter(l);
    rn_memtable_trim(l->flush.mutable);
    rn_local_leave(l);
}

bool rn_flush_is_short(const struct rn_local *l)
{
    return rn_memtable_is_short(l->flush.mutable);
}

void rn_flush_stock(struct rn_local *l)
{
    struct rn_memtable *r;

    pthread_mutex_lock(&l->state);
    r = rn_memtable_keep(l->flush.mutable);
    pthread_mutex_unlock(&l->state);
    if (rn_memtable_is_short(r))
        rn_memtable_stock(r);
    rn_memtable_drop(r);
}

bool rn_flush_begin(struct rn_local *l)
{
    struct rn_flush *s = &l->flush;
    struct rn_memtable *next, *full;
    uint64_t bytes = rn_memtable_bytes(s->mutable);

    if (rn_flush_table(l) || !bytes)
        return false;
    next = swap_spare(l, NULL);
    if (!next)
        next = rn_memtable_new(l->opts.memtable_bytes);
    if (!next)
        return false;
    s->end = rn_wal_end(l->wal);
    s->last = NULL;
    __atomic_store_n(&s->done, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&s->total, bytes, __ATOMIC_RELAXED);
    pthread_mutex_lock(&l->state);
    full = s->mutable;
    s->mutable = next;
    __atomic_store_n(&s->immutable, full, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&l->state);
    return true;
}

/* The map has the whole memtable: readers that begin now do not need it. */
static void finish(struct rn_local *l)
{
    struct rn_flush *s = &l->flush;
    struct rn_memtable *flushed = rn_flush_table(l);

    s->flushed = s->end;
    s->last = NULL;
    set_limit(l);
    __atomic_store_n(&s->total, 0, __ATOMIC_RELAXED);
    pthread_mutex_lock(&l->state);
    __atomic_store_n(&s->immutable, NULL, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->state);
    rn_flush_drop(l, flushed);
}

static enum rn_code flush_row(struct rn_local *l, struct rn_map_txn *txn,
                              const struct rn_memtable_entry *e)
{
    enum rn_code rc;

    if (!e->gone)
        return l->map->ops->put(txn, e->key, e->value);
    rc = l->map->ops->del(txn, e->key);
    __atomic_add_fetch(&l->defrag.deleted, !rc, __ATOMIC_RELAXED);
    return rc == RN_NOT_FOUND ? RN_OK
                              : rc; /* the row was put and deleted in memory */
}

/* A bounded step of a flush. */
struct slice {
    const struct rn_memtable *table;
    uint64_t seq; /* up to this group */
    bool deletes_only;
    const struct rn_memtable_entry *last;
    uint64_t rows, bytes;
    bool whole; /* no row is left */
};

/* A slice takes no more pages than are allocated ahead: a lack of space shows
 * before it begins, and not when LMDB's writes are cut short.  But a slice has
 * at least one row. */
static bool is_done(const struct rn_local *l, const struct slice *slice)
{
    uint64_t ahead = l->opts.ahead_bytes;

    return slice->rows >= SLICE_ROWS || slice->bytes >= SLICE_BYTES ||
           (slice->rows &&
            (slice->rows >= ahead / ROW_SHARE || slice->bytes >= ahead / 4));
}

static enum rn_code put_rows(struct rn_local *l, struct rn_map_txn *txn,
                             struct slice *slice)
{
    const struct rn_key_interval all = { 0 };
    enum rn_code rc = RN_OK;

    while (!rc && !is_done(l, slice)) {
        const struct rn_memtable_entry *e =
            rn_memtable_next(slice->table, slice->seq, &all, slice->last);
        slice->whole = !e;
        if (!e)
            break;
        slice->last = e;
        if (slice->deletes_only && !e->gone)
            continue;
        rc = flush_row(l, txn, e);
        slice->bytes += sizeof(*e) + e->key.len + e->value.len;
        slice->rows++;
        if (slice->rows % ROWS_A_PAUSE == 0)
            rn_local_give_way(l);
    }
    return rc;
}

static enum rn_code begin(struct rn_local *l, const struct slice *slice,
                          struct rn_map_txn **txn, struct rn_err *err)
{
    enum rn_txn_mode mode = slice->deletes_only ? RN_TXN_SHRINK : RN_TXN_WRITE;

    if (l->map->ops->reserve(l->map, mode, 0))
        return rn_fail(err, RN_FULL, "%s: no space ahead of the data", l->dir);
    return l->map->ops->begin(l->map, mode, txn, err);
}

static enum rn_code run_slice(struct rn_local *l, struct slice *slice,
                              struct rn_err *err)
{
    struct rn_map_txn *txn = NULL;
    enum rn_code rc = begin(l, slice, &txn, err);

    if (rc)
        return rc;
    rc = put_rows(l, txn, slice);
    if (!rc && slice->whole && !slice->deletes_only)
        rc = l->map->ops->set_seq(txn, l->flush.end.seq);
    if (rc) {
        l->map->ops->abort(txn);
        return rn_fail(err, rc, "%s",
                       rc == RN_CORRUPT
                           ? "the map is damaged; see runnel verify"
                           : rn_code_name(rc));
    }
    rc = l->map->ops->commit(txn, err);
    return RN_BUG(FAILED_MAP_COMMIT_IGNORED) ? RN_OK : rc;
}

static bool is_lack(enum rn_code rc)
{
    return rc == RN_FULL || rc == RN_NOMEM;
}

/* Flushes all tombstones.  `mutable` is not replaced while a flush runs. */
static enum rn_code flush_deletes(struct rn_local *l, struct rn_err *err)
{
    struct rn_flush *s = &l->flush;
    struct slice slices[] = { { .table = rn_flush_table(l) },
                              { .table = s->mutable } };
    enum rn_code rc = RN_OK;

    for (size_t i = 0; i < sizeof(slices) / sizeof(slices[0]); i++) {
        pthread_mutex_lock(&l->state);
        slices[i].seq = s->visible;
        pthread_mutex_unlock(&l->state);
        slices[i].deletes_only = true;
        while (!rc && !slices[i].whole) {
            slices[i].rows = slices[i].bytes = 0;
            rc = run_slice(l, &slices[i], err);
        }
    }
    return rc;
}

enum rn_code rn_flush_slice(struct rn_local *l, struct rn_err *err)
{
    struct rn_flush *s = &l->flush;
    struct slice slice = { .table = rn_flush_table(l),
                           .seq = ALL_GROUPS,
                           .last = s->last };
    struct rn_err why = { 0 };
    enum rn_code rc = run_slice(l, &slice, &why), deletes = RN_OK;

    __atomic_store_n(&s->is_blocked, is_lack(rc), __ATOMIC_RELAXED);
    if (is_lack(rc)) {
        s->retry_ns = rn_mono_ns(l->env) + RETRY_NS;
        deletes = flush_deletes(l, &why);
    }
    if ((rc && !is_lack(rc)) || (deletes && !is_lack(deletes)))
        rn_local_poison(l, why.text);
    if (rc)
        return rn_fail(err, rc, "%s", why.text);
    s->retry_ns = 0;
    s->last = slice.last;
    __atomic_add_fetch(&s->done, slice.bytes, __ATOMIC_RELAXED);
    if (slice.whole)
        finish(l);
    return RN_OK;
}

enum rn_code rn_flush_all(struct rn_local *l, struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    while (!rc && rn_flush_table(l))
        rc = rn_flush_slice(l, err);
    if (rc)
        return rc;
    rn_local_enter(l);
    (void)rn_flush_begin(l);
    rn_local_leave(l);
    while (!rc && rn_flush_table(l))
        rc = rn_flush_slice(l, err);
    return rc;
}
