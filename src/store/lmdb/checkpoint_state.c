/* checkpoint_state.c -- opens LMDB's map at a checkpoint's state, and captures
 * one.
 *
 * It relies on M1 to M5 in lmdb_map.c.
 */
#include "store/lmdb/checkpoint_state.h"

#include "base/file.h"
#include "store/integrity/page_diff.h"
#include "store/lmdb/image.h"
#include "store/lmdb/lmdb_lock.h"
#include "store/lmdb/lmdb_map.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

enum {
    READERS_OURS = 8, /* pins and the meter, beside the store's readers */
    LOCK_BYTES_PER_READER = 64,
    SLICE_BYTES = 1 << 20, /* of write-back, so that WAL syncs get between */
    MAP_BYTES_MIN = 64 << 20,
    PAGE_BYTES_MAX = 32 << 10,
    ALLOCATED_SLACK = 64,
};

/* LMDB asserts on some kinds of damage; that must not end the process. */
static void on_assert(MDB_env *env, const char *message)
{
    (void)env;
    (void)message;
    rn_fault_guard_trip();
}

/* ---- opening ------------------------------------------------------------- */

/* Space that an earlier process allocated ahead still exists, and may be all
 * that a full disk has.  It was allocated without a gap; the file system's
 * count includes some blocks of its own. */
static void find_reserved(struct lmdb *m)
{
    uint64_t bytes = 0;

    if (m->env->ops->allocated(m->file, &bytes))
        return;
    bytes -= bytes / ALLOCATED_SLACK;
    m->reserved_to = bytes / m->page_bytes * m->page_bytes;
}

/* The address space of the map is reserved once.  It costs nothing, so ask for
 * much and take what is granted.  The page checksums are mapped as well, at
 * 1/255 of the size. */
static uint64_t address_space(uint64_t want)
{
    for (; want > MAP_BYTES_MIN; want /= 2) {
        size_t bytes = (size_t)(want + want / 128);
        void *at = mmap(NULL, bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at != MAP_FAILED) {
            munmap(at, bytes);
            break;
        }
    }
    return want;
}

static enum rn_code env_open_with(struct lmdb *m,
                                  const struct rn_map_opts *opts,
                                  struct rn_err *err)
{
    int rc = mdb_env_create(&m->mdb);

    if (rc)
        return rn_lmdb_fail(m, rc, "opening", err);
    rc = mdb_env_set_mapsize(m->mdb, (size_t)m->map_bytes);
    if (!rc)
        rc = mdb_env_set_maxdbs(m->mdb, 2);
    if (!rc)
        rc = mdb_env_set_maxreaders(m->mdb, opts->readers_max + READERS_OURS);
    if (!rc)
        rc = mdb_env_set_assert(m->mdb, on_assert);
    if (!rc)
        rc = mdb_env_open(m->mdb, m->path,
                          MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS, 0600);
    if (!rc)
        return RN_OK;
    mdb_env_close(m->mdb);
    m->mdb = NULL;
    return rn_lmdb_fail(m, rc, "opening", err);
}

static enum rn_code env_open(struct lmdb *m, const struct rn_map_opts *opts,
                             struct rn_err *err)
{
    uint64_t readers = opts->readers_max + READERS_OURS;
    int table = -1;
    enum rn_code rc =
        rn_lmdb_lock_begin(m, readers * LOCK_BYTES_PER_READER, &table, err);

    if (rc)
        return rc;
    rc = env_open_with(m, opts, err);
    rn_lmdb_lock_end(table); /* LMDB has a descriptor of its own */
    return rc;
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
        return rn_lmdb_fail(m, rc, "creating", err);
    }
    rc = mdb_txn_commit(txn);
    return rc ? rn_lmdb_fail(m, rc, "creating", err) : RN_OK;
}

/* Where the value of the seq row lies in the file.  Its page is the root of the
 * main table, which has two rows and so never more than that one page. */
static enum rn_code find_seq(struct lmdb *m, const struct rn_page_meta *meta,
                             uint64_t *offset, struct rn_err *err)
{
    uint64_t root = meta->main.root, place = root * meta->page_bytes;
    char bytes[PAGE_BYTES_MAX];
    struct rn_page page = { 0 };
    size_t got = 0;
    int error = rn_file_read(m->file, bytes, meta->page_bytes, place, &got);

    if (error)
        return rn_fail_errno(err, error, "%s: reading", m->path);
    if (got == meta->page_bytes && rn_verify_on_touch_check(&m->verify, root) &&
        !rn_page_check(rn_view_of(bytes, got), root, RN_PAGE_BYTES, &page)) {
        for (unsigned i = 0; i < page.nodes; i++) {
            struct rn_page_node node = rn_page_node(&page, i);
            if (!rn_view_eq(node.key, RN_LIT("seq")) || !node.value.at)
                continue;
            *offset = place + (uint64_t)(node.value.at - bytes);
            return RN_OK;
        }
    }
    return rn_fail(err, RN_CORRUPT, "%s: damaged at offset %llu", m->path,
                   (unsigned long long)place);
}

/* LMDB does not say where it has mapped the file.  But the address of a row
 * whose file offset is known gives it away.  Before verification on first touch
 * begins, only the page of that row is touched, which find_seq has checked. */
static enum rn_code verify_begin(struct lmdb *m, uint64_t seq_offset,
                                 struct rn_err *err)
{
    MDB_val key = { 3, (void *)"seq" }, value = { 0 };
    char *base = NULL;
    int rc = mdb_txn_begin(m->mdb, NULL, MDB_RDONLY, &m->opening);

    if (!rc)
        rc = mdb_dbi_open(m->opening, NULL, 0, &m->main);
    if (!rc)
        rc = mdb_get(m->opening, m->main, &key, &value);
    if (!rc)
        base = (char *)value.mv_data - seq_offset;
    if (!rc && (uintptr_t)base % m->page_bytes)
        rc = MDB_CORRUPTED;
    mdb_txn_abort(m->opening);
    m->opening = NULL;
    if (rc)
        return rn_lmdb_fail(m, rc == MDB_NOTFOUND ? MDB_CORRUPTED : rc,
                            "opening", err);
    return rn_verify_on_touch_begin(&m->verify, base, m->path, err);
}

/* Opens the tables and takes the pin, in this order and before any write. */
static enum rn_code tables_open(struct lmdb *m, MDB_txn **pin,
                                struct rn_err *err)
{
    int rc = mdb_txn_begin(m->mdb, NULL, MDB_RDONLY, &m->opening);

    if (!rc)
        rc = mdb_dbi_open(m->opening, NULL, 0, &m->main);
    if (!rc)
        rc = mdb_dbi_open(m->opening, "kv", 0, &m->kv);
    if (!rc)
        rc = mdb_txn_commit(m->opening); /* keeps the handles */
    else
        mdb_txn_abort(m->opening);
    m->opening = NULL;
    if (!rc)
        rc = mdb_txn_begin(m->mdb, NULL, MDB_RDONLY, pin);
    if (rc == MDB_NOTFOUND)
        rc = MDB_CORRUPTED;
    return rc ? rn_lmdb_fail(m, rc, "opening", err) : RN_OK;
}

/* The directory's lock is a file that an operator may mistake for a leftover
 * and remove.  Nobody removes the map. */
static enum rn_code lock_map(struct lmdb *m, struct rn_err *err)
{
    int error = m->env->ops->lock(m->file, RN_LOCK_EXCLUSIVE);

    if (error == EAGAIN)
        return rn_fail(err, RN_BUSY, "%s: in use by another process", m->path);
    return error ? rn_fail_errno(err, error, "%s", m->path) : RN_OK;
}

/* If `slots` is empty, creates a new file of checksums. */
static enum rn_code open_checksums(struct lmdb *m, struct rn_view slots,
                                   uint64_t pages, struct rn_err *err)
{
    char path[RN_LMDB_PATH_MAX + 8];
    struct rn_page_checksums_opts opts = {
        .env = m->env,
        .path = path,
        .pages_max = m->map_bytes / m->page_bytes,
        .slots = slots,
    };

    if (opts.pages_max < pages)
        opts.pages_max = pages;
    snprintf(path, sizeof(path), "%s-sums", m->path);
    return rn_page_checksums_open(&opts, &m->checksums, err);
}

/* Checks everything that the image needs from the map's file and its checksums
 * before anything is changed.  Above all the length: reading a mapping past the
 * end of its file is a SIGBUS. */
static enum rn_code fit_image(struct lmdb *m, const struct rn_image *image,
                              struct rn_err *err)
{
    uint64_t size = 0;
    int error = rn_file_open(m->env, m->path, RN_OPEN_WRITE, &m->file);
    enum rn_code rc;

    if (!error)
        error = rn_file_size(m->file, &size);
    if (error == ENOENT)
        return rn_fail(err, RN_CORRUPT, "%s: missing", m->path);
    if (error)
        return rn_fail_errno(err, error, "%s", m->path);
    rc = lock_map(m, err);
    if (rc)
        return rc;
    if (size < image->length) {
        return rn_fail(err, RN_CORRUPT,
                       "%s: cut short: %llu bytes, the checkpoint has %llu",
                       m->path, (unsigned long long)size,
                       (unsigned long long)image->length);
    }
    m->page_bytes = image->page_bytes;
    m->length = size;
    m->checksums_txnid = image->txnid;
    rc = open_checksums(m, image->slots, image->meta.last + 1, err);
    return rc ? rc
              : rn_verify_on_touch_open(&m->verify, m->path, m->checksums,
                                        m->page_bytes, image->length, err);
}

static bool has_metas(struct lmdb *m, const struct rn_image *image)
{
    char found[RN_PAGE_METAS * PAGE_BYTES_MAX];
    size_t got = 0;

    return !rn_file_read(m->file, found, image->metas.len, 0, &got) &&
           rn_view_eq(rn_view_of(found, got), image->metas);
}

/* M2.  No sync: whatever a power cut leaves of the meta pages, the next open
 * restores them again.  If they are in place nothing is written: that could
 * need a free block. */
static enum rn_code restore_metas(struct lmdb *m, const struct rn_image *image,
                                  struct rn_err *err)
{
    int error =
        has_metas(m, image) ? 0 : rn_file_write(m->file, image->metas, 0);

    return error ? rn_fail_errno(err, error, "%s: restoring", m->path) : RN_OK;
}

/* Records how much of the file the state at `txn` leaves free.  LMDB may write
 * there as soon as no older state is pinned. */
static void note_free(struct lmdb *m, MDB_txn *txn, uint64_t written)
{
    const MDB_dbi tables[] = { 0, m->main, m->kv };
    uint64_t used = RN_PAGE_METAS, end;
    MDB_envinfo info;
    MDB_stat stat;

    if (rn_lmdb_info(m, &info))
        return;
    end = info.me_last_pgno + 1;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (mdb_stat(txn, tables[i], &stat))
            return;
        used +=
            stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
    }
    __atomic_store_n(&m->free_bytes,
                     end > used ? (end - used) * m->page_bytes : 0,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&m->free_written, written, __ATOMIC_RELAXED);
}

static enum rn_code open_image(struct lmdb *m, const struct rn_map_opts *opts,
                               const struct rn_image *image, MDB_txn **pin,
                               struct rn_err *err)
{
    uint64_t seq_offset = 0;
    enum rn_code rc = fit_image(m, image, err);

    if (!rc)
        rc = find_seq(m, &image->meta, &seq_offset, err);
    if (!rc)
        rc = restore_metas(m, image, err);
    if (!rc)
        rc = env_open(m, opts, err);
    if (!rc)
        rc = verify_begin(m, seq_offset, err);
    if (!rc)
        rc = tables_open(m, pin, err);
    if (!rc)
        note_free(m, *pin, 0);
    return rc;
}

static enum rn_code open_at(struct lmdb *m, const struct rn_map_opts *opts,
                            MDB_txn **pin, struct rn_err *err)
{
    struct rn_fault_guard guard;
    struct rn_image image;
    enum rn_code rc;

    if (!rn_image_decode(opts->image, &image))
        return rn_fail(err, RN_CORRUPT, "%s: the checkpoint does not fit",
                       m->path);
    if (sigsetjmp(guard.back, 0)) {
        rn_fault_guard_caught(&guard);
        return rn_verify_on_touch_fail(&m->verify, m->path, err);
    }
    rn_fault_guard_enter(&guard, &m->verify.remedy);
    rc = open_image(m, opts, &image, pin, err);
    rn_fault_guard_leave(&guard);
    if (!rc &&
        mdb_txn_id(*pin) != image.txnid) { /* another process has it open */
        rc =
            rn_fail(err, RN_CORRUPT, "%s: opened at state %zu instead of %llu",
                    m->path, mdb_txn_id(*pin), (unsigned long long)image.txnid);
    }
    return rc;
}

static enum rn_code verify_begin_new(struct lmdb *m, struct rn_err *err)
{
    char metas[RN_PAGE_METAS * PAGE_BYTES_MAX];
    struct rn_page_meta meta;
    uint64_t seq_offset = 0;
    size_t got = 0;
    enum rn_code rc = open_checksums(m, (struct rn_view){ 0 }, 0, err);
    int error;

    if (!rc)
        rc = rn_verify_on_touch_open(&m->verify, m->path, m->checksums,
                                     m->page_bytes, 0, err);
    if (rc)
        return rc;
    error =
        rn_file_read(m->file, metas, RN_PAGE_METAS * m->page_bytes, 0, &got);
    if (error)
        return rn_fail_errno(err, error, "%s", m->path);
    if (!rn_page_meta_pick(rn_view_of(metas, got), &meta))
        return rn_fail(err, RN_CORRUPT, "%s: not an LMDB file", m->path);
    rc = find_seq(m, &meta, &seq_offset, err);
    return rc ? rc : verify_begin(m, seq_offset, err);
}

static enum rn_code open_new(struct lmdb *m, const struct rn_map_opts *opts,
                             struct rn_err *err)
{
    MDB_stat stat;
    enum rn_code rc;
    int error;

    (void)m->env->ops->remove(m->env, m->path);
    /* LMDB would create the file, too, but owned by the user that runs us: if
     * root compacted another user's directory, that user could not open it any
     * more. */
    error = rn_file_open(m->env, m->path, RN_OPEN_IN_PLACE, &m->file);
    if (error)
        return rn_fail_errno(err, error, "%s", m->path);
    rc = lock_map(m, err);
    if (!rc)
        rc = env_open(m, opts, err);
    if (!rc)
        rc = tables_create(m, err);
    if (rc)
        return rc;
    error = mdb_env_stat(m->mdb, &stat);
    if (error)
        return rn_lmdb_fail(m, error, "opening", err);
    m->page_bytes = stat.ms_psize;
    return verify_begin_new(m, err);
}

enum rn_code rn_lmdb_open(const struct rn_map_opts *opts, struct rn_map **out,
                          struct rn_map_pin **pin, struct rn_err *err)
{
    struct lmdb *m = rn_new(sizeof(*m));
    MDB_txn *pinned = NULL;
    enum rn_code rc;
    int error;

    if (!m)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", opts->path);
    rn_fault_guard_install();
    m->base.ops = &rn_map_lmdb;
    m->env = opts->env;
    m->ahead_bytes = opts->ahead_bytes;
    m->reserve_bytes = opts->reserve_bytes;
    m->pause = opts->pause;
    m->context = opts->context;
    m->map_bytes = address_space(opts->map_bytes);
    m->changes = RN_BUF_INIT(SIZE_MAX / 2);
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->growing, NULL);
    snprintf(m->path, sizeof(m->path), "%s", opts->path);
    rc = opts->image.len ? open_at(m, opts, &pinned, err)
                         : open_new(m, opts, err);
    if (rc)
        goto out;
    error = rn_lmdb_meter_open(m);
    if (error) {
        rc = rn_lmdb_fail(m, error, "opening", err);
        goto out;
    }
    find_reserved(m);
    *pin = (struct rn_map_pin *)pinned;
    *out = &m->base;
    return RN_OK;
out:
    mdb_txn_abort(pinned);
    rn_lmdb_close(&m->base);
    return rc;
}

void rn_lmdb_close(struct rn_map *base)
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
    mdb_txn_abort(m->opening); /* NULL is fine */
    if (m->mdb)
        mdb_env_close(m->mdb);
    rn_verify_on_touch_close(&m->verify);
    rn_page_checksums_close(m->checksums);
    rn_buf_release(&m->changes);
    rn_file_close(m->file);
    pthread_mutex_destroy(&m->growing);
    pthread_mutex_destroy(&m->lock);
    rn_free(m);
}

/* ---- checkpoints --------------------------------------------------------- */

void rn_lmdb_adopt(struct rn_map *base)
{
    struct lmdb *m = (struct lmdb *)base;

    if (m->captured && m->captured_checksums) {
        __atomic_store_n(&m->checksums_txnid, mdb_txn_id(m->captured),
                         __ATOMIC_RELAXED);
        rn_page_checksums_adopt(m->checksums);
        note_free(m, m->captured, m->captured_written);
    }
    m->captured = NULL;
    m->captured_checksums = false;
}

bool rn_lmdb_is_whole(struct rn_map *base)
{
    struct lmdb *m = (struct lmdb *)base;

    return rn_file_is_whole(m->file, m->path, m->length) &&
           rn_page_checksums_is_whole(m->checksums);
}

/* Reads the meta pages that describe the state which `pin` keeps. */
static enum rn_code read_image(struct lmdb *m, MDB_txn *pin,
                               struct rn_buf *image, struct rn_err *err)
{
    size_t metas = RN_PAGE_METAS * m->page_bytes, got = 0;
    struct rn_image head = { .page_bytes = (uint32_t)m->page_bytes,
                             .txnid = mdb_txn_id(pin) };
    int error =
        rn_file_read(m->file, image->at + RN_IMAGE_HEADER, metas, 0, &got);

    if (!error && got < metas)
        error = EIO;
    if (!error)
        error = rn_file_size(m->file, &head.length);
    if (error)
        return rn_fail_errno(err, error, "%s: reading", m->path);
    rn_image_encode(&head, image->at);
    image->len = RN_IMAGE_HEADER + metas;
    /* The meta page of the state must be the newest one, or open would not find
     * the way back. */
    if (!rn_image_decode(rn_buf_view(image), &head))
        return rn_fail(err, RN_CORRUPT, "%s: damaged at offset 0", m->path);
    m->flush_at = 0;
    m->flush_to = head.length;
    m->length = head.length;
    __atomic_store_n(&m->flushed_once, false, __ATOMIC_RELAXED);
    return RN_OK;
}

enum rn_code rn_lmdb_capture(struct rn_map *base, struct rn_buf *image,
                             struct rn_map_pin **pin, struct rn_err *err)
{
    struct lmdb *m = (struct lmdb *)base;
    MDB_txn *txn = NULL;
    enum rn_code rc;
    int error;

    rn_buf_clear(image);
    rc = rn_buf_reserve(image, RN_IMAGE_HEADER + RN_PAGE_METAS * m->page_bytes);
    if (rc)
        return rn_fail(err, rc, "%s: out of memory", m->path);
    error = rn_lmdb_txn_begin(m, MDB_RDONLY, &txn);
    if (error)
        return rn_lmdb_fail(m, error, "pinning", err);
    rc = read_image(m, txn, image, err);
    if (rc) {
        mdb_txn_abort(txn);
        return rc;
    }
    m->captured = txn;
    m->captured_written = __atomic_load_n(&m->written, __ATOMIC_RELAXED);
    m->image = image;
    *pin = (struct rn_map_pin *)txn;
    return RN_OK;
}

/* Saves the checksums of the captured state's pages in their file, and the
 * slots they have there in the image. */
static enum rn_code write_checksums(struct lmdb *m, struct rn_err *err)
{
    struct rn_fault_guard guard;
    struct rn_image image;
    struct rn_page_diff_opts opts = { .base = m->verify.base,
                                      .checksums = m->checksums,
                                      .since = m->checksums_txnid,
                                      .meta = &image.meta,
                                      .pause = m->pause,
                                      .context = m->context };
    enum rn_code rc;

    if (!rn_image_decode(rn_buf_view(m->image), &image))
        return rn_fail(err, RN_CORRUPT, "%s: damaged at offset 0", m->path);
    if (sigsetjmp(guard.back, 0)) {
        rn_fault_guard_caught(&guard);
        return rn_verify_on_touch_fail(&m->verify, m->path, err);
    }
    rn_buf_clear(&m->changes);
    rn_fault_guard_enter(&guard, &m->verify.remedy);
    rc = rn_page_diff(&opts, &m->changes, err);
    if (rc)
        rn_err_during(err, "%s", m->path);
    else {
        rc = rn_page_checksums_save(
            m->checksums, image.txnid,
            (struct rn_page_checksums_change *)(void *)m->changes.at,
            m->changes.len / sizeof(struct rn_page_checksums_change), m->image,
            err);
    }
    rn_fault_guard_leave(&guard);
    m->captured_checksums = !rc;
    return rc;
}

/* One fdatasync over hundreds of dirty megabytes would delay the WAL's syncs
 * for as long.  So most is written back in slices first, and a second pass
 * writes back what was dirtied meanwhile. */
enum rn_code rn_lmdb_flush(struct rn_map *base, bool *done, struct rn_err *err)
{
    struct lmdb *m = (struct lmdb *)base;
    uint64_t slice = m->flush_to / 16384;
    enum rn_code rc = RN_OK;
    int error;

    if (slice < SLICE_BYTES)
        slice = SLICE_BYTES;
    if (!m->captured_checksums)
        rc = write_checksums(m, err);
    if (m->flush_at >= m->flush_to && !m->flushed_once) {
        __atomic_store_n(&m->flushed_once, true, __ATOMIC_RELAXED);
        m->flush_at = 0;
    }
    *done = m->flush_at >= m->flush_to;
    if (!rc && *done)
        rc = rn_page_checksums_sync(m->checksums, err);
    if (rc)
        return rc;
    error = *done ? rn_file_sync(m->file)
                  : m->env->ops->write_back(m->file, m->flush_at, slice);
    m->flush_at += slice;
    /* Not RN_FULL, whatever the reason: pages may be lost. */
    return error ? rn_fail(err, RN_IO, "%s: syncing: %s", m->path,
                           strerror(error))
                 : RN_OK;
}

/* From here on LMDB may overwrite the state's pages. */
void rn_lmdb_release(struct rn_map *base, struct rn_map_pin *pin)
{
    struct lmdb *m = (struct lmdb *)base;

    if (!pin)
        return;
    if ((MDB_txn *)pin == m->captured) {
        m->captured = NULL;
        m->captured_checksums = false;
    }
    mdb_txn_abort((MDB_txn *)pin);
}
