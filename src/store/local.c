/* local.c -- the embedded store: transactions over a log and a map.
 *
 * The life of a group, and each way it can fail:
 *
 *   begin    poisoned: RN_READ_ONLY.  Disk below the reserve, or no space ahead
 *            of the map: RN_FULL.  Wait for a log segment and for a checkpoint
 *            that lags, before taking the writer's turn: capturing the
 *            checkpoint needs that turn.
 *   put, del go to the map's open transaction and, as redo, to a buffer.
 *   commit   1 seq row into the map          fails: nothing happened
 *            2 append the redo to the log    fails: nothing happened
 *            3 sync the log                  fails: outcome unknown, poisoned
 *            4 commit the map: visible       fails: committed on disk but not
 *                                            here: unknown, poisoned
 *            5 answer
 */
#include "store/local.h"

#include "store/bug.h"
#include "store/redo.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SEGMENT_MIN = 64 << 10 };

struct local_txn {
    struct rn_txn base;
    struct rn_map_txn *map;
    int64_t begun_ns;
    bool failed; /* a write found damage: only abort is left */
    struct local_txn *before, *after; /* among the readers */
};

struct local_cursor {
    struct rn_cursor base;
    struct rn_map_cursor *map;
};

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
static void fit_log(struct rn_store_opts *o)
{
    if (o->segment_bytes < SEGMENT_MIN)
        o->segment_bytes = SEGMENT_MIN;
    o->segment_bytes =
        (o->segment_bytes + RN_WAL_BLOCK - 1) / RN_WAL_BLOCK * RN_WAL_BLOCK;
    if (o->log_bytes < 3 * o->segment_bytes)
        o->log_bytes = 3 * o->segment_bytes;
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

/* Gives back whatever is there, in the opposite order of opening. */
static void local_free(struct rn_local *l)
{
    if (l->map) {
        l->map->ops->release(l->map, l->new_pin);
        l->map->ops->release(l->map, l->held);
        l->map->ops->release(l->map, l->pin);
        l->map->ops->close(l->map);
    }
    rn_wal_close(l->log);
    rn_checkpoint_release(&l->checkpoint);
    rn_thin_release(&l->thin);
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
    fit_log(&l->opts);
    l->env = l->opts.env;
    l->map_ops = map_ops;
    l->redo = RN_BUF_INIT(2 * (size_t)RN_TXN_REDO_MAX);
    rn_checkpoint_init(&l->checkpoint);
    rn_thin_init(&l->thin);
    l->dir = rn_new_text(opts->where);
    rc = l->dir ? rn_local_recover(l, err)
                : rn_fail(err, RN_NOMEM, "%s: out of memory", opts->where);
    if (rc)
        goto out;
    l->keeper = (struct rn_task){ "keeper", rn_local_keep, l, NULL };
    error = l->opts.manual ? 0 : l->env->ops->task_start(l->env, &l->keeper);
    if (error) {
        rc = rn_fail_errno(err, error, "%s: starting the keeper", l->dir);
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

/* A last checkpoint makes the next start quick; if it fails, nothing is lost:
 * the log has everything. */
static void local_close(struct rn_store *s)
{
    struct rn_local *l = (struct rn_local *)s;
    struct rn_err err;

    if (!l->opts.manual)
        l->env->ops->task_stop(l->env, &l->keeper);
    assert(!l->readers);
    if (!l->opts.manual && !rn_local_is_poisoned(l) && rn_local_has_news(l))
        (void)!rn_local_checkpoint(l, &err);
    local_free(l);
}

static void local_status(struct rn_store *s, struct rn_store_status *out)
{
    struct rn_local *l = (struct rn_local *)s;
    int64_t now = rn_mono_ns(l->env), oldest = now;
    struct rn_map_stat map;

    l->map->ops->stat(l->map, &map);
    pthread_mutex_lock(&l->state);
    *out = l->counts;
    out->read_only = l->poisoned;
    if (l->poisoned)
        snprintf(out->reason, sizeof(out->reason), "%s", l->reason);
    for (struct local_txn *t = l->readers; t; t = t->after) {
        if (t->begun_ns < oldest)
            oldest = t->begun_ns;
    }
    pthread_mutex_unlock(&l->state);
    out->oldest_reader_ms = (now - oldest) / 1000000;
    out->data_bytes = map.file_bytes;
    out->live_bytes = map.live_bytes;
    out->log_bytes = rn_wal_bytes(l->log);
    out->reserve_bytes = l->opts.reserve_bytes;
    (void)l->env->ops->space(l->env, l->dir, &out->disk_free_bytes);
    out->full = out->disk_free_bytes < l->opts.reserve_bytes;
}

/* ---- readers ------------------------------------------------------------- */

static enum rn_code readers_add(struct rn_local *l, struct local_txn *t,
                                struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    pthread_mutex_lock(&l->state);
    if (l->counts.readers >= l->opts.readers_max) {
        rc = rn_fail(err, RN_BUSY, "%u read transactions are open",
                     l->counts.readers);
    } else {
        l->counts.readers++;
        t->after = l->readers;
        if (l->readers)
            l->readers->before = t;
        l->readers = t;
    }
    pthread_mutex_unlock(&l->state);
    return rc;
}

static void readers_remove(struct rn_local *l, struct local_txn *t)
{
    pthread_mutex_lock(&l->state);
    if (t->before)
        t->before->after = t->after;
    else
        l->readers = t->after;
    if (t->after)
        t->after->before = t->before;
    l->counts.readers--;
    pthread_mutex_unlock(&l->state);
}

static enum rn_code begin_read(struct rn_local *l, struct local_txn *t,
                               struct rn_err *err)
{
    enum rn_code rc = readers_add(l, t, err);

    if (rc)
        return rc;
    rc = l->map->ops->begin(l->map, RN_TXN_READ, &t->map, err);
    if (rc)
        readers_remove(l, t);
    return rc;
}

/* A reader keeps LMDB from reusing pages, so none may stay for long. */
static enum rn_code check_age(struct rn_txn *base)
{
    struct local_txn *t = (struct local_txn *)base;
    struct rn_local *l = local_of(base);
    int64_t age = rn_mono_ns(l->env) - t->begun_ns;

    if (base->mode != RN_TXN_READ ||
        age <= (int64_t)l->opts.reader_ms_max * 1000000)
        return RN_OK;
    return rn_fail(&base->fault, RN_TIMEOUT, "a read took more than %u ms",
                   l->opts.reader_ms_max);
}

/* ---- the writer ---------------------------------------------------------- */

/* A mutex would do, were it fair: a writer that commits one group after the
 * other could keep the keeper out for long, and checkpoints with it. */
static bool enter(struct rn_local *l, const struct timespec *until)
{
    bool entered;
    int rc = 0;

    pthread_mutex_lock(&l->state);
    while ((l->writing || l->keeper_waits) && !rc)
        rc = pthread_cond_timedwait(&l->left, &l->state, until);
    entered = !l->writing && !l->keeper_waits;
    if (entered)
        l->writing = true;
    pthread_mutex_unlock(&l->state);
    return entered;
}

void rn_local_enter(struct rn_local *l)
{
    pthread_mutex_lock(&l->state);
    l->keeper_waits = true;
    while (l->writing)
        pthread_cond_wait(&l->left, &l->state);
    l->keeper_waits = false;
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

static enum rn_code refuse_poisoned(struct rn_local *l, struct rn_err *err)
{
    return rn_fail(err, RN_READ_ONLY, "%s: read-only: %s", l->dir, l->reason);
}

enum rn_code rn_local_check_space(struct rn_local *l, enum rn_txn_mode mode,
                                  struct rn_err *err)
{
    uint64_t free_bytes = UINT64_MAX;

    if (mode == RN_TXN_SHRINK ||
        l->env->ops->space(l->env, l->dir, &free_bytes) ||
        free_bytes >= l->opts.reserve_bytes)
        return RN_OK;
    /* Checkpoints need a little of the disk, whatever else does not. */
    if (free_bytes >= l->opts.reserve_bytes / 16 && l->map->ops->has_room &&
        l->map->ops->has_room(l->map))
        return RN_OK;
    return rn_fail(err, RN_FULL,
                   "%s: %llu MiB free, %llu MiB are kept in reserve", l->dir,
                   (unsigned long long)(free_bytes >> 20),
                   (unsigned long long)(l->opts.reserve_bytes >> 20));
}

/* A file that is gone or out of reach is an answer where it was asked for;
 * under a write it is a fault like any other. */
static enum rn_code as_fault(enum rn_code rc, struct rn_err *err)
{
    if (!rc || rc >= RN_BUSY)
        return rc;
    if (err)
        err->code = RN_IO;
    return RN_IO;
}

/* Locks and conditions wait by the machine's clock, whatever the env's. */
static struct timespec after_ms(uint32_t ms)
{
    int64_t ns = rn_mono_ns(rn_env_real()) + (int64_t)ms * 1000000;

    return (struct timespec){ .tv_sec = ns / 1000000000,
                              .tv_nsec = ns % 1000000000 };
}

static uint64_t largest_record(const struct rn_local *l)
{
    return l->opts.segment_bytes < RN_TXN_REDO_MAX ? l->opts.segment_bytes
                                                   : RN_TXN_REDO_MAX;
}

/* Without a keeper's thread the waiting writer does the keeper's work.  The
 * checkpoint in progress may have been captured too early to free a segment;
 * the one after it is not. */
static enum rn_code make_room(struct rn_local *l, struct rn_err *err)
{
    bool ready = false;
    enum rn_code rc = rn_local_prepare(l, &ready, err);

    for (int i = 0; !rc && !ready && i < 2; i++) {
        rc = rn_local_checkpoint(l, err);
        if (!rc)
            rc = rn_local_prepare(l, &ready, err);
    }
    if (!rc && !ready)
        rc = rn_fail(err, RN_BUSY, "%s: the log is full", l->dir);
    return rc;
}

static enum rn_code wait_for_room(struct rn_local *l,
                                  const struct timespec *until,
                                  struct rn_err *err)
{
    bool late = false;

    while (!rn_wal_has_room(l->log, largest_record(l))) {
        if (rn_local_is_poisoned(l))
            return refuse_poisoned(l, err);
        if (l->opts.manual)
            return make_room(l, err);
        if (late)
            return rn_fail(err, RN_BUSY, "%s: the log is full", l->dir);
        l->env->ops->task_wake(l->env, &l->keeper);
        pthread_mutex_lock(&l->state);
        if (!rn_wal_has_room(l->log, largest_record(l)))
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
        if (rn_wal_has_room(l->log, largest_record(l)))
            return RN_OK;
        rn_local_leave(l);
    }
}

/* The writer's lock, and the space that its transaction may need.  What deletes
 * have given up can be used again after a checkpoint, so a delete waits for
 * that rather than fail. */
static enum rn_code lock_and_reserve(struct rn_local *l, enum rn_txn_mode mode,
                                     struct rn_err *err)
{
    struct timespec until = after_ms(l->opts.busy_ms);
    enum rn_code rc;

    for (;;) {
        rc = lock_writer(l, &until, err);
        if (rc)
            return rc;
        if (rn_local_is_poisoned(l))
            rc = refuse_poisoned(l, err);
        else if (l->map->ops->reserve(l->map, mode))
            rc =
                rn_fail(err, RN_FULL, "%s: no space ahead of the data", l->dir);
        if (!rc)
            return RN_OK;
        rn_local_leave(l);
        if (rc != RN_FULL || mode != RN_TXN_SHRINK ||
            !rn_local_await_checkpoint(l, &until))
            return rc;
    }
}

static enum rn_code begin_write(struct rn_local *l, struct local_txn *t,
                                enum rn_txn_mode mode, struct rn_err *err)
{
    int64_t throttle_ns;
    enum rn_code rc;

    if (rn_local_is_poisoned(l))
        return refuse_poisoned(l, err);
    rc = rn_local_check_space(l, mode, err);
    if (rc)
        return rc;
    throttle_ns = l->opts.manual ? 0 : rn_local_throttle_ns(l);
    if (throttle_ns)
        l->env->ops->sleep(l->env, throttle_ns);
    rc = lock_and_reserve(l, mode, err);
    if (rc)
        return rc;
    rn_buf_clear(&l->redo);
    rc = rn_buf_reserve(&l->redo, RN_WAL_HEADER);
    if (rc)
        rn_fail(err, rc, "%s: out of memory", l->dir);
    else
        rc = l->map->ops->begin(l->map, mode, &t->map, err);
    if (rc) {
        rn_local_leave(l);
        return rc;
    }
    l->redo.len = RN_WAL_HEADER; /* the log fills it in */
    return RN_OK;
}

static enum rn_code local_begin(struct rn_store *s, enum rn_txn_mode mode,
                                struct rn_lock lock, struct rn_txn **out,
                                struct rn_err *err)
{
    struct rn_local *l = (struct rn_local *)s;
    struct local_txn *t = rn_new(sizeof(*t));
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

static void local_abort(struct rn_txn *base)
{
    struct local_txn *t = (struct local_txn *)base;
    struct rn_local *l = local_of(base);

    l->map->ops->abort(t->map);
    if (base->mode == RN_TXN_READ)
        readers_remove(l, t);
    else
        rn_local_leave(l);
    rn_free(t);
}

static enum rn_code sync_log(struct rn_local *l, struct rn_err *err)
{
    int64_t begun = rn_mono_ns(l->env);
    enum rn_code rc =
        RN_BUG(ANSWER_BEFORE_SYNC) ? RN_OK : rn_wal_sync(l->log, err);
    uint64_t took = (uint64_t)(rn_mono_ns(l->env) - begun);

    pthread_mutex_lock(&l->state);
    l->counts.syncs++;
    l->counts.sync_ns_total += took;
    if (took > l->counts.sync_ns_max)
        l->counts.sync_ns_max = took;
    pthread_mutex_unlock(&l->state);
    return rc;
}

/* S4: what is on disk is not known here any more. */
static enum rn_code outcome_unknown(struct rn_local *l, struct rn_err *err)
{
    struct rn_err why = { 0 };

    if (err)
        why = *err;
    rn_local_poison(l, err ? why.text : "a commit failed on its way to disk");
    return rn_fail(err, RN_UNKNOWN, "outcome unknown: %s", why.text);
}

/* Steps 1 to 4 of the essay.  `*ended` tells that the map's transaction is
 * over. */
static enum rn_code commit_group(struct rn_local *l, struct local_txn *t,
                                 bool *ended, struct rn_err *err)
{
    uint64_t seq = rn_wal_end(l->log).seq + 1;
    enum rn_code rc = l->map->ops->set_seq(t->map, seq);

    *ended = false;
    if (rc)
        return rn_fail(err, rc, "%s: %s", l->dir, rn_code_name(rc));
    rc = rn_wal_append(l->log, &l->redo, err);
    if (rc == RN_UNKNOWN)
        return outcome_unknown(l, err);
    if (rc)
        return rc;
    if (RN_BUG(VISIBLE_BEFORE_SYNC)) {
        *ended = true;
        rc = l->map->ops->commit(t->map, err);
        return rc ? rc : sync_log(l, err);
    }
    rc = sync_log(l, err);
    if (rc)
        return outcome_unknown(l, err);
    *ended = true;
    rc = l->map->ops->commit(t->map, err);
    if (rc && !RN_BUG(FAILED_MAP_COMMIT_IGNORED))
        return outcome_unknown(l, err);
    return RN_OK;
}

static enum rn_code local_commit(struct rn_txn *base, struct rn_err *err)
{
    struct local_txn *t = (struct local_txn *)base;
    struct rn_local *l = local_of(base);
    bool ended = false;
    enum rn_code rc;

    if (base->mode == RN_TXN_READ || l->redo.len == RN_WAL_HEADER) {
        local_abort(base);
        return RN_OK;
    }
    rc = t->failed ? rn_fail(err, RN_CORRUPT, "%s: damaged", l->dir)
                   : commit_group(l, t, &ended, err);
    if (!rc) {
        pthread_mutex_lock(&l->state);
        l->counts.commits++;
        pthread_mutex_unlock(&l->state);
    }
    if (!ended)
        l->map->ops->abort(t->map);
    rn_local_leave(l);
    rn_free(t);
    rn_local_nudge(l);
    return rc;
}

/* ---- keys and values ----------------------------------------------------- */

static enum rn_code note_damage(struct rn_txn *base, enum rn_code rc)
{
    struct rn_local *l = local_of(base);
    struct rn_map_stat map;

    if (rc != RN_CORRUPT)
        return rc;
    l->map->ops->stat(l->map, &map);
    pthread_mutex_lock(&l->state);
    l->counts.corrupt_total++;
    pthread_mutex_unlock(&l->state);
    if (!map.damaged_at && !(map.damaged_suffix && *map.damaged_suffix))
        return rn_fail(&base->fault, RN_CORRUPT, "%s/map-%llu: damaged record",
                       l->dir, (unsigned long long)l->generation);
    return rn_fail(&base->fault, RN_CORRUPT,
                   "%s/map-%llu%s: damaged at offset %llu", l->dir,
                   (unsigned long long)l->generation, map.damaged_suffix,
                   (unsigned long long)map.damaged_at);
}

static enum rn_code local_get(struct rn_txn *base, struct rn_view key,
                              struct rn_view *out)
{
    struct local_txn *t = (struct local_txn *)base;
    enum rn_code rc = check_age(base);

    if (!rc)
        rc = local_of(base)->map->ops->get(t->map, key, out);
    return note_damage(base, rc);
}

/* Writing on into a damaged tree could spread the damage: stop.  What is left
 * of a transaction whose write failed cannot be committed, so any failure is a
 * fault, but for the absence of what was to be deleted. */
static enum rn_code write_failed(struct rn_txn *base, enum rn_code rc)
{
    struct local_txn *t = (struct local_txn *)base;

    if (rc == RN_NOT_FOUND)
        return rc;
    if (rc == RN_CORRUPT) {
        t->failed = true;
        rn_local_poison(local_of(base),
                        "the map is damaged; see runnel verify");
    }
    if (rc == RN_TOO_LARGE)
        rc = rn_fail(&base->fault, RN_FULL, "%s: a group is too large",
                     local_of(base)->dir);
    return note_damage(base, rc);
}

static enum rn_code log_write(struct rn_local *l, struct rn_redo write)
{
    size_t need = RN_REDO_HEADER + write.key.len + write.value.len;

    /* A record and its padding must fit a segment. */
    if (l->redo.len + need + RN_WAL_BLOCK + RN_WAL_MARKS >
        l->opts.segment_bytes)
        return RN_TOO_LARGE;
    return rn_redo_add(&l->redo, &write);
}

static enum rn_code local_put(struct rn_txn *base, struct rn_view key,
                              struct rn_view value)
{
    struct local_txn *t = (struct local_txn *)base;
    struct rn_local *l = local_of(base);
    enum rn_code rc = log_write(l, (struct rn_redo){ RN_REDO_PUT, key, value });

    if (!rc)
        rc = l->map->ops->put(t->map, key, value);
    return rc ? write_failed(base, rc) : RN_OK;
}

static enum rn_code local_del(struct rn_txn *base, struct rn_view key)
{
    struct local_txn *t = (struct local_txn *)base;
    struct rn_local *l = local_of(base);
    enum rn_code rc = l->map->ops->del(t->map, key);

    if (!rc)
        rc = log_write(l, (struct rn_redo){ .kind = RN_REDO_DEL, .key = key });
    __atomic_add_fetch(&l->thin.deleted, !rc, __ATOMIC_RELAXED);
    return rc ? write_failed(base, rc) : RN_OK;
}

/* ---- cursors ------------------------------------------------------------- */

static enum rn_code local_scan(struct rn_txn *base,
                               const struct rn_range *range,
                               struct rn_cursor **out)
{
    struct local_txn *t = (struct local_txn *)base;
    struct local_cursor *c;
    enum rn_code rc = check_age(base);

    if (rc)
        return rc;
    c = rn_new(sizeof(*c));
    if (!c)
        return RN_NOMEM;
    rc = local_of(base)->map->ops->scan(t->map, range, &c->map);
    if (rc) {
        rn_free(c);
        return note_damage(base, rc);
    }
    *out = &c->base;
    return RN_OK;
}

static enum rn_code local_next(struct rn_cursor *base, struct rn_view *key,
                               struct rn_view *value)
{
    struct local_cursor *c = (struct local_cursor *)base;
    enum rn_code rc = check_age(base->txn);

    if (!rc)
        rc = local_of(base->txn)->map->ops->next(c->map, key, value);
    return note_damage(base->txn, rc);
}

static void local_end(struct rn_cursor *base)
{
    struct local_cursor *c = (struct local_cursor *)base;

    local_of(base->txn)->map->ops->end(c->map);
    rn_free(c);
}

const struct rn_store_ops rn_store_local = {
    .name = "local",
    .open = local_open,
    .close = local_close,
    .status = local_status,
    .begin = local_begin,
    .commit = local_commit,
    .abort = local_abort,
    .get = local_get,
    .put = local_put,
    .del = local_del,
    .scan = local_scan,
    .next = local_next,
    .end = local_end,
};
