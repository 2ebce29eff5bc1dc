/* lmdb_map.c -- the local store's map: LMDB without syncs, opened at a
 * checkpoint.
 *
 * The rest of the store relies on the following (each line was shown by
 * experiment against LMDB 0.9.24; prove it again before a new major version):
 *
 *   M1  LMDB reuses no page that a read transaction can reach.  A reader at T
 *       therefore keeps T, and every later state, whole on disk: the pin.
 *   M2  The pages of T are found from its two meta pages.  Both are saved with
 *       the checkpoint and both are put back at open; one alone is not enough,
 *       the other may describe a later state.
 *   M3  Without MDB_WRITEMAP LMDB writes with pwrite and writev only, so a
 *       full disk is an error and not a SIGBUS.
 *   M4  Pins need MDB_NOTLS, and do not survive MDB_NOLOCK.
 *   M5  A second open of the environment, in this process or another, may
 *       reset the table of readers, and the pins with it.  The table is in
 *       memory that no other process can open (lmdb_lock.c).
 *   M6  The pages that a transaction takes out of the state it began with are
 *       listed in the free table under its own number, and stay there while
 *       that state is pinned.
 *
 * Two tables: the unnamed one holds the row "seq", the number of the last group
 * in this state; "kv" holds everything else, each value with a checksum
 * (record.h).  Damage to the pages themselves, which could lead a lookup past a
 * record or to an old one, is found by the first read of a page
 * (verify_on_touch.h).  LMDB reads the two meta pages whenever a transaction
 * begins, so that is guarded, too: the file may have been cut short, or the
 * disk may fail to read them.
 */
#include "store/lmdb/lmdb_map.h"

#include "store/lmdb/checkpoint_state.h"
#include "store/lmdb/lmdb_rows.h"
#include "store/lmdb/record.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

enum rn_code rn_lmdb_code(int rc)
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

enum rn_code rn_lmdb_put_code(int rc)
{
    return rc == MDB_NOTFOUND ? RN_CORRUPT : rn_lmdb_code(rc);
}

enum rn_code rn_lmdb_fail(const struct lmdb *m, int rc, const char *doing,
                          struct rn_err *err)
{
    return rn_fail(err, rn_lmdb_code(rc), "%s: %s: %s", m->path, doing,
                   mdb_strerror(rc));
}

/* ---- the meta pages ------------------------------------------------------ */

static bool is_blind(struct lmdb *m)
{
    return __atomic_load_n(&m->blind, __ATOMIC_RELAXED);
}

static int went_blind(struct lmdb *m, struct rn_fault_guard *guard)
{
    rn_fault_guard_caught(guard);
    __atomic_store_n(&m->blind, true, __ATOMIC_RELAXED);
    return MDB_CORRUPTED;
}

/* A transaction that faults is lost, with its slot among the readers; so there
 * is at most one for each thread. */
int rn_lmdb_txn_begin(struct lmdb *m, unsigned flags, MDB_txn **out)
{
    struct rn_fault_guard guard;
    int rc;

    if (is_blind(m))
        return MDB_CORRUPTED;
    if (sigsetjmp(guard.back, 0))
        return went_blind(m, &guard);
    rn_fault_guard_enter(&guard, &m->verify.remedy);
    rc = mdb_txn_begin(m->mdb, NULL, flags, out);
    rn_fault_guard_leave(&guard);
    return rc;
}

int rn_lmdb_txn_renew(struct lmdb *m, MDB_txn *txn)
{
    struct rn_fault_guard guard;
    int rc;

    if (is_blind(m))
        return MDB_CORRUPTED;
    if (sigsetjmp(guard.back, 0))
        return went_blind(m, &guard);
    rn_fault_guard_enter(&guard, &m->verify.remedy);
    rc = mdb_txn_renew(txn);
    rn_fault_guard_leave(&guard);
    return rc;
}

int rn_lmdb_info(struct lmdb *m, MDB_envinfo *out)
{
    struct rn_fault_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return went_blind(m, &guard);
    rn_fault_guard_enter(&guard, &m->verify.remedy);
    rc = mdb_env_info(m->mdb, out);
    rn_fault_guard_leave(&guard);
    return rc;
}

/* ---- the meter ----------------------------------------------------------- */

/* LMDB does not report how many pages a commit wrote.  It frees one page for
 * each that it copies, and lists them under the transaction's number in its
 * free table (table 0); pages without a predecessor show as growth of the tree.
 */
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
    struct rn_fault_guard guard;

    if (rn_lmdb_txn_renew(m, m->meter_txn))
        return;
    if (!sigsetjmp(guard.back, 0)) {
        rn_fault_guard_enter(&guard, &m->verify.remedy);
        __atomic_add_fetch(&m->written, dirtied_pages(m, txnid) * m->page_bytes,
                           __ATOMIC_RELAXED);
    }
    rn_fault_guard_leave(&guard);
    mdb_txn_reset(m->meter_txn);
}

int rn_lmdb_meter_open(struct lmdb *m)
{
    int rc = rn_lmdb_txn_begin(m, MDB_RDONLY, &m->meter_txn);

    if (!rc)
        rc = mdb_cursor_open(m->meter_txn, 0, &m->meter_cursor);
    if (m->meter_txn)
        mdb_txn_reset(m->meter_txn);
    if (!rc)
        meter(m, 0); /* for the size of the tree */
    return rc;
}

static void lmdb_stat(struct rn_map *base, struct rn_map_stat *out)
{
    struct lmdb *m = (struct lmdb *)base;

    *out = (struct rn_map_stat){
        .written = __atomic_load_n(&m->written, __ATOMIC_RELAXED),
        .live_bytes =
            __atomic_load_n(&m->tree_pages, __ATOMIC_RELAXED) * m->page_bytes,
        .page_bytes = m->page_bytes,
        .is_lost = __atomic_load_n(&m->lost, __ATOMIC_RELAXED),
        .is_nearly_flushed =
            __atomic_load_n(&m->flushed_once, __ATOMIC_RELAXED),
        .damaged_at = __atomic_load_n(&m->verify.damaged_at, __ATOMIC_RELAXED),
        .damaged_suffix =
            __atomic_load_n(&m->verify.damaged_is_checksum, __ATOMIC_RELAXED)
                ? "-sums"
                : "",
    };
    (void)rn_file_size(m->file, &out->file_bytes);
}

/* ---- transactions -------------------------------------------------------- */

/* The last word of each line of mdb_reader_list is the transaction that is
 * read. */
static int note_oldest(const char *line, void *context)
{
    const char *word = strrchr(line, ' ');
    uint64_t *oldest = context, txnid;
    char *end = NULL;

    if (!word)
        return 0;
    txnid = strtoull(word + 1, &end, 10);
    if (end > word + 1 && txnid < *oldest)
        *oldest = txnid;
    return 0;
}

/* The bytes that the durable state leaves free, less all that was written
 * since.  LMDB uses them before it lets the file grow, unless a reader has an
 * older snapshot. */
static uint64_t room_within(struct lmdb *m)
{
    uint64_t room = __atomic_load_n(&m->free_bytes, __ATOMIC_RELAXED);
    uint64_t used = __atomic_load_n(&m->written, __ATOMIC_RELAXED) -
                    __atomic_load_n(&m->free_written, __ATOMIC_RELAXED);
    uint64_t oldest = UINT64_MAX;

    if (room <= used)
        return 0;
    mdb_reader_list(m->mdb, note_oldest, &oldest);
    if (oldest < __atomic_load_n(&m->checksums_txnid, __ATOMIC_RELAXED))
        return 0;
    return room - used;
}

/* The process's limit for the length of a file.  Allocating ahead does not
 * check it. */
static uint64_t length_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}

/* The bytes allocated behind the end of the map. */
static uint64_t room_behind(struct lmdb *m, uint64_t *end)
{
    uint64_t to = __atomic_load_n(&m->reserved_to, __ATOMIC_RELAXED);
    uint64_t limit = length_limit();
    MDB_envinfo info;

    if (to > limit)
        to = limit;
    *end = 0;
    if (!rn_lmdb_info(m, &info))
        *end = (info.me_last_pgno + 1) * m->page_bytes;
    return to > *end ? to - *end : 0;
}

static bool has_room(struct lmdb *m, uint64_t bytes)
{
    uint64_t end, behind = room_behind(m, &end);

    return behind >= bytes || behind + room_within(m) >= bytes;
}

static bool lmdb_has_room(struct rn_map *base)
{
    struct lmdb *m = (struct lmdb *)base;

    return has_room(m, m->ahead_bytes);
}

/* Allocates `bytes` behind the end, if `keep` of the disk stay free.  That is
 * checked first: a file system that runs out on the way may keep what it has
 * allocated so far. */
static bool grow(struct lmdb *m, uint64_t bytes, uint64_t keep)
{
    uint64_t end, behind = room_behind(m, &end), free_bytes = 0;
    int error;

    if (behind >= bytes)
        return true;
    if (end + bytes > length_limit())
        return false;
    if (!m->env->ops->space(m->env, m->path, &free_bytes) &&
        free_bytes < keep + (bytes - behind))
        return false;
    error = m->env->ops->reserve(m->file, end + behind, bytes - behind,
                                 RN_RESERVE_KEEP);
    m->no_reserve = error == EOPNOTSUPP;
    if (!error)
        __atomic_store_n(&m->reserved_to, end + bytes, __ATOMIC_RELAXED);
    return !error || m->no_reserve;
}

/* Deletes use the space within the file first, so that the reserve lasts for as
 * long as there is something to delete. */
static bool reserve_shrink(struct lmdb *m)
{
    return room_within(m) >= m->ahead_bytes / 4 ||
           grow(m, m->ahead_bytes / 4, m->reserve_bytes / 4);
}

/* A write wants `ahead` bytes, and gets half as much again to save the next
 * call.  If there is as much space within the file, a little behind it
 * suffices, for values whose pages must be adjacent.  If there is plenty, those
 * will find a place within, too. */
static bool reserve_write(struct lmdb *m, uint64_t ahead)
{
    uint64_t reserve = m->reserve_bytes;

    return grow(m, ahead + ahead / 2, reserve) ||
           (has_room(m, ahead) && grow(m, ahead / 16, reserve / 8)) ||
           room_within(m) >= 4 * ahead;
}

static enum rn_code lmdb_reserve(struct rn_map *base, enum rn_txn_mode mode,
                                 uint64_t more)
{
    struct lmdb *m = (struct lmdb *)base;
    uint64_t ahead = m->ahead_bytes + more, end;
    bool enough;

    if (room_behind(m, &end) >= ahead)
        return RN_OK;
    pthread_mutex_lock(&m->growing);
    enough = m->no_reserve || (mode == RN_TXN_SHRINK ? reserve_shrink(m)
                                                     : reserve_write(m, ahead));
    pthread_mutex_unlock(&m->growing);
    return enough ? RN_OK : RN_FULL;
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
        rc = rn_lmdb_txn_renew(m, t->txn);
        if (!rc) {
            *out = t;
            return RN_OK;
        }
        mdb_txn_abort(t->txn);
        rn_free(t);
        return rn_lmdb_fail(m, rc, "reading", err);
    }
    if (m->wild)
        return rn_fail(err, RN_READ_ONLY, "%s: damaged", m->path);
    t = rn_new(sizeof(*t));
    if (!t)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", m->path);
    rc = rn_lmdb_txn_begin(m, mode == RN_TXN_READ ? MDB_RDONLY : 0, &t->txn);
    if (rc) {
        rn_free(t);
        return rn_lmdb_fail(m, rc, "beginning", err);
    }
    t->m = m;
    t->mode = mode;
    *out = t;
    return RN_OK;
}

enum rn_code rn_lmdb_write_caught(struct rn_map_txn *t,
                                  struct rn_fault_guard *guard)
{
    t->wild = true;
    t->m->wild = true;
    return rn_fault_guard_caught(guard);
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

/* After a failed write of a meta page LMDB refuses everything, reads too: that
 * is not RN_FULL, whatever the reason was, and only reopening helps. */
static int as_fatal(struct lmdb *m, int rc)
{
    if (rn_lmdb_txn_renew(m, m->meter_txn) == MDB_PANIC) {
        __atomic_store_n(&m->lost, true, __ATOMIC_RELAXED);
        return MDB_PANIC;
    }
    mdb_txn_reset(m->meter_txn);
    return rc;
}

/* LMDB reports EIO for a short write.  If there is no space behind the map,
 * that was the reason; then nothing of the transaction stays. */
static int as_lack(struct lmdb *m, int rc)
{
    bool room = true;

    if (rc != EIO)
        return rc;
    pthread_mutex_lock(&m->growing);
    room = grow(m, m->ahead_bytes, 0);
    pthread_mutex_unlock(&m->growing);
    return room ? rc : ENOSPC;
}

static enum rn_code lmdb_commit(struct rn_map_txn *t, struct rn_err *err)
{
    struct lmdb *m = t->m;
    size_t txnid = mdb_txn_id(t->txn);
    struct rn_fault_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0)) {
        rn_lmdb_write_caught(t, &guard);
        rn_free(t);
        return rn_fail(err, RN_CORRUPT, "%s: damaged", m->path);
    }
    rn_fault_guard_enter(&guard, &m->verify.remedy);
    rc = mdb_txn_commit(t->txn);
    rn_fault_guard_leave(&guard);
    rn_free(t);
    if (rc)
        return rn_lmdb_fail(m, as_fatal(m, as_lack(m, rc)), "committing", err);
    meter(m, txnid);
    return RN_OK;
}

static enum rn_code lmdb_seq(struct rn_map_txn *t, uint64_t *out)
{
    MDB_val key = { 3, (void *)"seq" }, value;
    struct rn_fault_guard guard;
    int rc;

    if (sigsetjmp(guard.back, 0))
        return rn_fault_guard_caught(&guard);
    rn_fault_guard_enter(&guard, &t->m->verify.remedy);
    rc = mdb_get(t->txn, t->m->main, &key, &value);
    if (!rc && value.mv_size == 8)
        *out = rn_get_u64(value.mv_data);
    else
        rc = MDB_CORRUPTED;
    rn_fault_guard_leave(&guard);
    return rn_lmdb_code(rc);
}

static enum rn_code lmdb_set_seq(struct rn_map_txn *t, uint64_t seq)
{
    char bytes[8];
    MDB_val key = { 3, (void *)"seq" }, value = { 8, bytes };
    struct rn_fault_guard guard;
    int rc;

    rn_put_u64(bytes, seq);
    if (sigsetjmp(guard.back, 0))
        return rn_lmdb_write_caught(t, &guard);
    rn_fault_guard_enter(&guard, &t->m->verify.remedy);
    rc = mdb_put(t->txn, t->m->main, &key, &value, 0);
    rn_fault_guard_leave(&guard);
    return rn_lmdb_put_code(rc);
}

const struct rn_map_ops rn_map_lmdb = {
    .open = rn_lmdb_open,
    .close = rn_lmdb_close,
    .stat = lmdb_stat,
    .capture = rn_lmdb_capture,
    .flush = rn_lmdb_flush,
    .adopt = rn_lmdb_adopt,
    .release = rn_lmdb_release,
    .is_whole = rn_lmdb_is_whole,
    .reserve = lmdb_reserve,
    .has_room = lmdb_has_room,
    .begin = lmdb_begin,
    .commit = lmdb_commit,
    .abort = lmdb_abort,
    .seq = lmdb_seq,
    .set_seq = lmdb_set_seq,
    .get = rn_lmdb_get,
    .put = rn_lmdb_put,
    .del = rn_lmdb_del,
    .append = rn_lmdb_append,
    .scan = rn_lmdb_scan,
    .next = rn_lmdb_next,
    .leaf = rn_lmdb_leaf,
    .end = rn_lmdb_end,
};
