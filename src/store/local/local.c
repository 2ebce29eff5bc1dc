/* local.c -- the embedded store: transactions over a WAL, a memtable and a map.
 *
 * The life of a group commit, and each way it can fail:
 *
 *   begin    poisoned: RN_READ_ONLY.  Disk below the reserve, no space ahead of
 *            the map, or not even for the memtables: RN_FULL.  Wait for a WAL
 *            segment and for a flush before taking the writer's turn: the
 *            maintenance thread may need that turn.
 *   put, del go to the memtable, where no reader sees them yet, and, as redo,
 *            to a buffer.
 *   commit   1 append the redo to the WAL    fails: nothing happened
 *            2 sync the WAL                  fails: outcome unknown, poisoned
 *            3 make it visible to readers    cannot fail
 *            4 answer
 *   later    the maintenance thread flushes it into the map (flush.h)
 */
#include "store/local/local.h"

#include "store/admin/backup.h"
#include "store/bug.h"
#include "store/local/local_rows.h"
#include "store/local/maintenance.h"
#include "store/local/recover.h"
#include "store/wal/redo.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SEGMENT_MIN = 64 << 10 };

/* With so much of the disk free beyond the reserve, it cannot fill up in so
 * short a time.  Asking before each group would cost it some microseconds. */
#define AMPLE_BYTES (UINT64_C(1) << 30)
#define AMPLE_NS INT64_C(10000000)

#ifdef RN_BUGS
int rn_bug_on;
#endif

static struct rn_local *local_of(struct rn_txn *t)
{
    return (struct rn_local *)t->store;
}

void rn_local_path(const struct rn_local *l, const char *name,
                   char out[RN_PATH_MAX])
{
    snprintf(out, RN_PATH_MAX, "%s/%s", l->dir, name);
}

void rn_local_map_path(const char *dir, uint64_t generation,
                       char out[RN_PATH_MAX])
{
    snprintf(out, RN_PATH_MAX, "%s/map-%llu", dir,
             (unsigned long long)generation);
}

void rn_local_poison(struct rn_local *l, const char *reason)
{
    pthread_mutex_lock(&l->state);
    if (!l->poisoned) {
        l->poisoned = true;
        snprintf(l->reason, sizeof(l->reason), "%s", reason);
    }
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->state);
}

bool rn_local_is_poisoned(struct rn_local *l)
{
    bool poisoned;

    pthread_mutex_lock(&l->state);
    poisoned = l->poisoned;
    pthread_mutex_unlock(&l->state);
    return poisoned;
}

/* ---- opening and closing ------------------------------------------------- */

/* One segment being written, one ready, one behind the checkpoint. */
static void fit_wal(struct rn_store_opts *o)
{
    if (o->segment_bytes < SEGMENT_MIN)
        o->segment_bytes = SEGMENT_MIN;
    o->segment_bytes =
        (o->segment_bytes + RN_WAL_BLOCK - 1) / RN_WAL_BLOCK * RN_WAL_BLOCK;
    if (o->wal_bytes < 3 * o->segment_bytes)
        o->wal_bytes = 3 * o->segment_bytes;
}

static void init_locks(struct rn_local *l)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&l->state, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->changed, &attr);
    pthread_cond_init(&l->left, &attr);
    pthread_condattr_destroy(&attr);
}

/* Releases everything that was opened, in reverse order. */
static void local_free(struct rn_local *l)
{
    if (l->map) {
        l->map->ops->release(l->map, l->new_pin);
        l->map->ops->release(l->map, l->held);
        l->map->ops->release(l->map, l->pin);
        l->map->ops->close(l->map);
    }
    rn_wal_close(l->wal);
    rn_checkpoint_release(&l->checkpoint);
    rn_defrag_release(&l->defrag);
    rn_flush_release(&l->flush);
    rn_file_close(l->backup_file);
    rn_file_close(l->format_file);
    rn_file_close(l->lock_file); /* and with it the lock */
    rn_buf_release(&l->redo);
    pthread_cond_destroy(&l->left);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->state);
    rn_free(l->dir);
    rn_free(l);
}

static void stop_tasks(struct rn_local *l)
{
    pthread_mutex_lock(&l->state);
    l->closing = true;
    pthread_mutex_unlock(&l->state);
    l->env->ops->task_stop(l->env, &l->maintenance);
    l->env->ops->task_stop(l->env, &l->checkpointer);
    l->is_handed_over = false;
}

static int start_tasks(struct rn_local *l)
{
    int error;

    l->maintenance = (struct rn_task){ .name = "maintenance",
                                       .step = rn_local_maintain,
                                       .context = l };
    l->checkpointer = (struct rn_task){ .name = "checkpoint",
                                        .step = rn_local_flush,
                                        .context = l };
    error = l->env->ops->task_start(l->env, &l->checkpointer);
    if (!error)
        error = l->env->ops->task_start(l->env, &l->maintenance);
    if (error)
        stop_tasks(l);
    return error;
}

enum rn_code rn_local_open_with(const struct rn_map_ops *map_ops,
                                const struct rn_store_opts *opts,
                                struct rn_store **out, struct rn_err *err)
{
    struct rn_local *l = rn_new(sizeof(*l));
    enum rn_code rc;
    int error;

    if (!l)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", opts->where);
    init_locks(l);
    l->base.ops = &rn_store_local;
    l->opts = *opts;
    fit_wal(&l->opts);
    l->env = l->opts.env;
    l->map_ops = map_ops;
    l->redo = RN_BUF_INIT(2 * (size_t)RN_TXN_REDO_MAX);
    rn_checkpoint_init(&l->checkpoint);
    rn_defrag_init(&l->defrag);
    l->dir = rn_new_text(opts->where);
    rc = l->dir ? rn_flush_init(l, err)
                : rn_fail(err, RN_NOMEM, "%s: out of memory", opts->where);
    if (!rc)
        rc = rn_local_recover(l, err);
    if (rc)
        goto out;
    error = l->opts.manual ? 0 : start_tasks(l);
    if (error) {
        rc = rn_fail_errno(err, error, "%s: starting the maintenance thread",
                           l->dir);
        goto out;
    }
    *out = &l->base;
    return RN_OK;
out:
    local_free(l);
    return rc;
}

static enum rn_code local_open(const struct rn_store_opts *opts,
                               struct rn_store **out, struct rn_err *err)
{
    return rn_local_open_with(&rn_map_lmdb, opts, out, err);
}

/* A last checkpoint makes the next start quick.  If it fails, nothing is lost:
 * the WAL has everything. */
static void local_close(struct rn_store *s)
{
    struct rn_local *l = (struct rn_local *)s;
    struct rn_err err;

    if (!l->opts.manual)
        stop_tasks(l);
    assert(!l->readers);
    /* Twice: a checkpoint in progress may be of an older state. */
    for (int i = 0; i < 2 && !l->opts.manual; i++) {
        if (!rn_local_is_poisoned(l) && rn_local_has_news(l))
            (void)!rn_local_checkpoint(l, &err);
    }
    local_free(l);
}

/* The note of the last backup; see backup.c. */
static int64_t backup_time(const struct rn_local *l)
{
    char text[RN_BACKUP_NOTE_MAX + 1] = "";
    size_t got = 0;

    if (rn_file_read(l->backup_file, text, RN_BACKUP_NOTE_MAX, 0, &got))
        return 0;
    text[got] = '\0';
    return strtoll(text, NULL, 10);
}

/* True if a write may proceed with `free_bytes` of free disk. */
static bool has_space(struct rn_local *l, uint64_t free_bytes)
{
    if (free_bytes >= l->opts.reserve_bytes)
        return true;
    /* Even if the map has room within itself, checkpoints need some disk. */
    return free_bytes >= l->opts.reserve_bytes / 16 && l->map->ops->has_room &&
           l->map->ops->has_room(l->map);
}

/* True if there is room in the WAL for a record and in memory for its rows. */
static bool has_room(struct rn_local *l)
{
    return rn_wal_has_room(l->wal, rn_local_record_max(l)) &&
           rn_flush_has_room(l);
}

/* Why writes are refused, or NULL.  The disk may have space that other users
 * may use and this process may not. */
static const char *find_lack(struct rn_local *l, uint64_t free_bytes)
{
    if (!has_space(l, free_bytes))
        return "disk below the reserve";
    if (rn_flush_is_blocked(l))
        return "no space, or no memory, for what is committed";
    if (l->map->ops->reserve(l->map, RN_TXN_WRITE, rn_flush_pending(l)))
        return "no space ahead of the data: disk, quota or limit of a file";
    return NULL;
}

/* Why writers wait, or NULL.  When the last writer gave up there was no room;
 * there may be some by now. */
static const char *find_wait(struct rn_local *l, struct rn_store_status *out)
{
    int64_t since = __atomic_load_n(&l->no_room_ns, __ATOMIC_RELAXED);

    if (!since || has_room(l))
        return NULL;
    out->no_room_ms = (rn_mono_ns(l->env) - since) / 1000000;
    out->stalled = out->no_room_ms >= l->opts.busy_ms;
    return rn_flush_has_room(l) ? "no room in the WAL" : "no room in memory";
}

static void local_status(struct rn_store *s, struct rn_store_status *out)
{
    struct rn_local *l = (struct rn_local *)s;
    int64_t now = rn_mono_ns(l->env), oldest = now;
    uint64_t free_bytes = UINT64_MAX;
    const char *lack, *wait;
    struct rn_map_stat map;

    l->map->ops->stat(l->map, &map);
    pthread_mutex_lock(&l->state);
    *out = l->counts;
    out->read_only = l->poisoned;
    if (l->poisoned)
        snprintf(out->reason, sizeof(out->reason), "%s", l->reason);
    for (struct rn_local_txn *t = l->readers; t; t = t->after) {
        if (t->begun_ns < oldest)
            oldest = t->begun_ns;
    }
    out->memtable_bytes = rn_memtable_bytes(l->flush.mutable);
    if (l->flush.immutable)
        out->memtable_bytes += rn_memtable_bytes(l->flush.immutable);
    pthread_mutex_unlock(&l->state);
    out->oldest_reader_ms = (now - oldest) / 1000000;
    out->data_bytes = map.file_bytes;
    out->live_bytes = map.live_bytes;
    out->wal_bytes = rn_wal_bytes(l->wal);
    out->reserve_bytes = l->opts.reserve_bytes;
    out->restored = l->format.restored;
    out->backup_s = backup_time(l);
    if (!l->env->ops->space(l->env, l->dir, &free_bytes))
        out->disk_free_bytes = free_bytes;
    lack = find_lack(l, free_bytes);
    wait = find_wait(l, out);
    out->full = lack != NULL;
    if (!out->read_only && (lack || wait))
        snprintf(out->reason, sizeof(out->reason), "%s", lack ? lack : wait);
}

/* ---- readers ------------------------------------------------------------- */

static void readers_add(struct rn_local *l, struct rn_local_txn *t)
{
    l->counts.readers++;
    t->after = l->readers;
    if (l->readers)
        l->readers->before = t;
    l->readers = t;
}

static void readers_remove(struct rn_local *l, struct rn_local_txn *t)
{
    if (t->before)
        t->before->after = t->after;
    else
        l->readers = t->after;
    if (t->after)
        t->after->before = t->before;
    l->counts.readers--;
}

static void drop_tables(struct rn_local_txn *t)
{
    rn_memtable_drop(t->tables[0]);
    rn_memtable_drop(t->tables[1]);
}

/* Takes the memtables and the map's snapshot under one lock, with no other
 * memtable begun between.  So the map has nothing newer than `visible`, and
 * lacks only rows that are in a memtable. */
static enum rn_code see(struct rn_local *l, struct rn_local_txn *t,
                        struct rn_err *err)
{
    struct rn_memtable *memtable = l->flush.mutable;

    t->seq = l->flush.visible;
    t->tables[0] =
        rn_memtable_bytes(memtable) ? rn_memtable_keep(memtable) : NULL;
    t->tables[1] = rn_memtable_keep(l->flush.immutable);
    return l->map->ops->begin(l->map, RN_TXN_READ, &t->map, err);
}

static enum rn_code begin_read(struct rn_local *l, struct rn_local_txn *t,
                               struct rn_err *err)
{
    enum rn_code rc;

    pthread_mutex_lock(&l->state);
    if (l->counts.readers >= l->opts.readers_max) {
        rc = rn_fail(err, RN_BUSY, "%u read transactions are open",
                     l->counts.readers);
    } else {
        rc = see(l, t, err);
    }
    if (!rc)
        readers_add(l, t);
    pthread_mutex_unlock(&l->state);
    if (rc)
        drop_tables(t);
    return rc;
}

/* ---- the writer ---------------------------------------------------------- */

/* Not a mutex, because a mutex is not fair: a writer that commits one group
 * after the other could keep the maintenance thread, and with it checkpoints,
 * waiting for long. */
static bool enter(struct rn_local *l, const struct timespec *until)
{
    bool entered;
    int rc = 0;

    pthread_mutex_lock(&l->state);
    while ((l->writing || l->maintenance_waits) && !rc)
        rc = pthread_cond_timedwait(&l->left, &l->state, until);
    entered = !l->writing && !l->maintenance_waits;
    if (entered)
        l->writing = true;
    pthread_mutex_unlock(&l->state);
    return entered;
}

void rn_local_enter(struct rn_local *l)
{
    pthread_mutex_lock(&l->state);
    l->maintenance_waits = true;
    while (l->writing)
        pthread_cond_wait(&l->left, &l->state);
    l->maintenance_waits = false;
    l->writing = true;
    pthread_mutex_unlock(&l->state);
}

void rn_local_leave(struct rn_local *l)
{
    pthread_mutex_lock(&l->state);
    l->writing = false;
    pthread_cond_broadcast(&l->left);
    pthread_mutex_unlock(&l->state);
}

static enum rn_code refuse_full(struct rn_local *l, struct rn_err *err)
{
    return rn_fail(err, RN_FULL, "%s: no space ahead of the data", l->dir);
}

static enum rn_code refuse_poisoned(struct rn_local *l, struct rn_err *err)
{
    return rn_fail(err, RN_READ_ONLY, "%s: read-only: %s", l->dir, l->reason);
}

enum rn_code rn_local_check_space(struct rn_local *l, enum rn_txn_mode mode,
                                  struct rn_err *err)
{
    int64_t now = rn_mono_ns(l->env);
    uint64_t free_bytes = UINT64_MAX;

    if (mode == RN_TXN_SHRINK ||
        now < __atomic_load_n(&l->ample_ns, __ATOMIC_RELAXED) ||
        l->env->ops->space(l->env, l->dir, &free_bytes))
        return RN_OK;
    if (free_bytes > AMPLE_BYTES &&
        free_bytes - AMPLE_BYTES >= l->opts.reserve_bytes)
        __atomic_store_n(&l->ample_ns, now + AMPLE_NS, __ATOMIC_RELAXED);
    if (has_space(l, free_bytes))
        return RN_OK;
    return rn_fail(err, RN_FULL,
                   "%s: %llu MiB free, %llu MiB are kept in reserve", l->dir,
                   (unsigned long long)(free_bytes >> 20),
                   (unsigned long long)(l->opts.reserve_bytes >> 20));
}

/* A missing or unreachable file is a regular result where it was asked for.
 * Under a write it is an error like any other. */
static enum rn_code as_fault(enum rn_code rc, struct rn_err *err)
{
    if (!rc || rc >= RN_BUSY)
        return rc;
    if (err)
        err->code = RN_IO;
    return RN_IO;
}

uint64_t rn_local_record_max(const struct rn_local *l)
{
    return l->opts.segment_bytes < RN_TXN_REDO_MAX ? l->opts.segment_bytes
                                                   : RN_TXN_REDO_MAX;
}

/* Without a maintenance thread the waiting writer does the maintenance thread's
 * work.  The checkpoint in progress may have been captured too early to free a
 * segment; the one after it is not. */
static enum rn_code make_room(struct rn_local *l, struct rn_err *err)
{
    enum rn_code rc = rn_flush_has_room(l) ? RN_OK : rn_flush_all(l, err);
    bool ready = rn_wal_has_room(l->wal, rn_local_record_max(l));

    if (!rc && !ready)
        rc = rn_local_prepare(l, &ready, err);
    for (int i = 0; !rc && !ready && i < 2; i++) {
        rc = rn_local_checkpoint(l, err);
        if (!rc)
            rc = rn_local_prepare(l, &ready, err);
    }
    if (!rc && !ready)
        rc = rn_fail(err, RN_BUSY, "%s: the WAL is full", l->dir);
    return rc && rn_local_is_poisoned(l) ? refuse_poisoned(l, err) : rc;
}

/* Starts the clock of `no_room_ns`; a writer that finds room resets it. */
static void note_wait(struct rn_local *l)
{
    if (!__atomic_load_n(&l->no_room_ns, __ATOMIC_RELAXED))
        __atomic_store_n(&l->no_room_ns, rn_mono_ns(l->env), __ATOMIC_RELAXED);
}

static enum rn_code wait_for_room(struct rn_local *l,
                                  const struct timespec *until,
                                  struct rn_err *err)
{
    bool late = false;

    while (!has_room(l)) {
        note_wait(l);
        if (rn_local_is_poisoned(l))
            return refuse_poisoned(l, err);
        if (l->opts.manual)
            return make_room(l, err);
        if (late && rn_flush_is_blocked(l))
            return refuse_full(l, err);
        if (late)
            return rn_fail(err, RN_BUSY, "%s: the WAL or memory is full",
                           l->dir);
        l->env->ops->task_wake(l->env, &l->maintenance);
        pthread_mutex_lock(&l->state);
        if (!rn_wal_has_room(l->wal, rn_local_record_max(l)) ||
            l->flush.immutable)
            late = pthread_cond_timedwait(&l->changed, &l->state, until) ==
                   ETIMEDOUT;
        pthread_mutex_unlock(&l->state);
    }
    return RN_OK;
}

static enum rn_code lock_writer(struct rn_local *l,
                                const struct timespec *until,
                                struct rn_err *err)
{
    enum rn_code rc;

    for (;;) {
        rc = wait_for_room(l, until, err);
        if (rc)
            return rc;
        if (!enter(l, until))
            return rn_fail(err, RN_BUSY, "%s: another write is under way",
                           l->dir);
        if (has_room(l)) {
            __atomic_store_n(&l->no_room_ns, 0, __ATOMIC_RELAXED);
            return RN_OK;
        }
        rn_local_leave(l);
    }
}

/* Takes the writer's turn and reserves the space that its transaction may need.
 * Space freed by deletes can be reused only after a checkpoint, so a delete
 * waits for one rather than fail. */
static enum rn_code lock_and_reserve(struct rn_local *l, enum rn_txn_mode mode,
                                     struct rn_err *err)
{
    struct timespec until =
        rn_cond_deadline((int64_t)l->opts.busy_ms * 1000000);
    enum rn_code rc;

    for (;;) {
        rc = lock_writer(l, &until, err);
        if (rc)
            return rc;
        if (rn_local_is_poisoned(l))
            rc = refuse_poisoned(l, err);
        else if (l->map->ops->reserve(l->map, mode, rn_flush_pending(l)))
            rc = refuse_full(l, err);
        if (!rc)
            return RN_OK;
        rn_local_leave(l);
        if (rc != RN_FULL || mode != RN_TXN_SHRINK ||
            !rn_local_await_checkpoint(l, &until))
            return rc;
    }
}

static enum rn_code check_begin(struct rn_local *l, enum rn_txn_mode mode,
                                struct rn_err *err)
{
    struct rn_err why;

    if (l->opts.manual && rn_flush_is_blocked(l))
        (void)!rn_flush_all(l, &why); /* no maintenance thread to try again */
    if (rn_local_is_poisoned(l))
        return refuse_poisoned(l, err);
    if (mode == RN_TXN_WRITE && rn_flush_is_blocked(l))
        return refuse_full(l, err);
    return rn_local_check_space(l, mode, err);
}

/* Called with the writer's turn held, so that the memtable stays the mutable
 * one. */
static enum rn_code begin_turn(struct rn_local *l, struct rn_local_txn *t,
                               struct rn_err *err)
{
    bool begun = rn_flush_is_full(l) && rn_flush_begin(l);
    enum rn_code rc;

    if ((begun || rn_flush_is_short(l)) && !l->opts.manual)
        l->env->ops->task_wake(l->env, &l->maintenance);
    rn_buf_clear(&l->redo);
    rc = rn_buf_reserve(&l->redo, RN_WAL_HEADER);
    if (rc)
        return rn_fail(err, rc, "%s: out of memory", l->dir);
    l->redo.len = RN_WAL_HEADER; /* the WAL fills it in */
    pthread_mutex_lock(&l->state);
    rc = see(l, t, err);
    if (!rc && !t->tables[0])
        t->tables[0] = rn_memtable_keep(l->flush.mutable);
    pthread_mutex_unlock(&l->state);
    t->seq = rn_wal_end(l->wal).seq + 1;
    return rc;
}

static enum rn_code begin_write(struct rn_local *l, struct rn_local_txn *t,
                                enum rn_txn_mode mode, struct rn_err *err)
{
    enum rn_code rc = check_begin(l, mode, err);
    int64_t throttle_ns;

    if (rc)
        return rc;
    throttle_ns = l->opts.manual ? 0 : rn_local_throttle_ns(l);
    if (throttle_ns)
        l->env->ops->sleep(l->env, throttle_ns);
    rc = lock_and_reserve(l, mode, err);
    if (rc)
        return rc;
    rc = begin_turn(l, t, err);
    if (rc) {
        drop_tables(t);
        rn_local_leave(l);
    }
    return rc;
}

static enum rn_code local_begin(struct rn_store *s, enum rn_txn_mode mode,
                                struct rn_lock lock, struct rn_txn **out,
                                struct rn_err *err)
{
    struct rn_local *l = (struct rn_local *)s;
    struct rn_local_txn *t = rn_new(sizeof(*t));
    enum rn_code rc;

    (void)lock; /* one writer at a time, whatever it writes */
    if (!t)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", l->dir);
    t->begun_ns = rn_mono_ns(l->env);
    rc = mode == RN_TXN_READ ? begin_read(l, t, err)
                             : begin_write(l, t, mode, err);
    if (rc) {
        rn_free(t);
        return as_fault(rc, err);
    }
    *out = &t->base;
    return RN_OK;
}

/* Ends a transaction; without `stays` its group is rolled back. */
static void end(struct rn_local *l, struct rn_local_txn *t, bool stays)
{
    l->map->ops->abort(t->map);
    if (t->base.mode == RN_TXN_READ) {
        pthread_mutex_lock(&l->state);
        readers_remove(l, t);
        pthread_mutex_unlock(&l->state);
    } else {
        rn_memtable_end(t->tables[0], stays);
        rn_flush_drop(l, t->tables[1]);
        t->tables[1] = NULL;
        rn_local_leave(l);
    }
    drop_tables(t);
    rn_free(t);
}

static void local_abort(struct rn_txn *base)
{
    end(local_of(base), (struct rn_local_txn *)base, false);
}

static enum rn_code sync_wal(struct rn_local *l, struct rn_err *err)
{
    int64_t begun = rn_mono_ns(l->env);
    enum rn_code rc =
        RN_BUG(ANSWER_BEFORE_SYNC) ? RN_OK : rn_wal_sync(l->wal, err);
    uint64_t took = (uint64_t)(rn_mono_ns(l->env) - begun);

    pthread_mutex_lock(&l->state);
    rn_histogram_add(&l->counts.syncs, &rn_scale_times, took);
    if (rc)
        l->counts.sync_errors++;
    if (took > l->counts.sync_ns_max)
        l->counts.sync_ns_max = took;
    pthread_mutex_unlock(&l->state);
    return rc;
}

/* S4: it is not known any more what is on disk. */
static enum rn_code outcome_unknown(struct rn_local *l, struct rn_err *err)
{
    struct rn_err why = { 0 };

    if (err)
        why = *err;
    rn_local_poison(l, err ? why.text : "a commit failed on its way to disk");
    return rn_fail(err, RN_UNKNOWN, "outcome unknown: %s", why.text);
}

static void publish(struct rn_local *l, uint64_t seq)
{
    pthread_mutex_lock(&l->state);
    l->flush.visible = seq;
    l->counts.commits++;
    pthread_mutex_unlock(&l->state);
}

/* Steps 1 to 3 of the comment above. */
static enum rn_code commit_group(struct rn_local *l, struct rn_local_txn *t,
                                 struct rn_err *err)
{
    enum rn_code rc = rn_wal_append(l->wal, &l->redo, err);

    if (rc == RN_UNKNOWN)
        return outcome_unknown(l, err);
    if (rc)
        return rc;
    if (RN_BUG(VISIBLE_BEFORE_SYNC))
        publish(l, t->seq);
    rc = sync_wal(l, err);
    if (rc)
        return outcome_unknown(l, err);
    publish(l, t->seq);
    return RN_OK;
}

static enum rn_code local_commit(struct rn_txn *base, struct rn_err *err)
{
    struct rn_local_txn *t = (struct rn_local_txn *)base;
    struct rn_local *l = local_of(base);
    enum rn_code rc;

    if (base->mode == RN_TXN_READ || l->redo.len == RN_WAL_HEADER) {
        local_abort(base);
        return RN_OK;
    }
    rc = t->failed ? rn_fail(err, RN_CORRUPT, "%s: damaged", l->dir)
                   : commit_group(l, t, err);
    end(l, t, !rc || RN_BUG(VISIBLE_BEFORE_SYNC));
    rn_local_nudge(l);
    return rc;
}

const struct rn_store_ops rn_store_local = {
    .name = "local",
    .open = local_open,
    .close = local_close,
    .status = local_status,
    .begin = local_begin,
    .commit = local_commit,
    .abort = local_abort,
    .get = rn_local_get,
    .put = rn_local_put,
    .del = rn_local_del,
    .scan = rn_local_scan,
    .next = rn_local_next,
    .end = rn_local_end,
};
