/* maintenance.c -- background maintenance of the local store: the maintenance
 * thread and the checkpoint thread.
 *
 * The maintenance thread prepares WAL segments and memory for coming writes,
 * flushes memtables (flush.h), takes a checkpoint when it is due, releases what
 * the previous one needed, and defragments leaves (defrag.h).  A checkpoint is
 * due when `checkpoint_bytes` were written to the map, when the WAL has grown
 * by half of its limit, or when `checkpoint_ms` have passed since the last,
 * whichever comes first; not at all if nothing was committed.
 *
 * Writing a captured state to disk takes as long as flushing the next memtable,
 * so it has a task of its own, the checkpoint thread.  `is_handed_over` says
 * which of the two owns the checkpoint: the maintenance thread captures it and
 * hands it over, the checkpoint thread hands it back at its end or with an
 * error.  A store that a test steps has no checkpoint thread.
 *
 * The threshold alone bounds nothing: while a checkpoint is being written, the
 * next one's pages pile up.  So the memtable flush pauses while more than half
 * of `throttle_bytes` was written since the last durable checkpoint, and
 * backpressure slows writers in proportion to the rows that are not flushed.
 */
#include "store/local/maintenance.h"

#include "store/bug.h"
#include "store/local/held.h"

#include <assert.h>
#include <errno.h>

enum {
    RETRY_MS = 1000,        /* after a checkpoint that failed */
    THROTTLE_NS = 20000000, /* a writer's wait when it is a memtable ahead */
    SLICES = 4,             /* of the flush, for one of defragmentation */
};

static uint64_t map_written(struct rn_local *l)
{
    struct rn_map_stat stat;

    l->map->ops->stat(l->map, &stat);
    return stat.written;
}

bool rn_local_has_news(struct rn_local *l)
{
    return rn_wal_end(l->wal).seq != l->durable.seq;
}

/* Limits are for large stores.  A small store is held to a share of its own
 * size, or the pages that wait for a checkpoint would make its file many times
 * its data. */
uint64_t rn_local_limit(struct rn_local *l, uint64_t limit, uint64_t share,
                        uint64_t least)
{
    struct rn_map_stat stat;

    l->map->ops->stat(l->map, &stat);
    if (stat.live_bytes / share < least)
        return least < limit ? least : limit;
    return stat.live_bytes / share < limit ? stat.live_bytes / share : limit;
}

static uint64_t checkpoint_bytes(struct rn_local *l)
{
    return rn_local_limit(l, l->opts.checkpoint_bytes, 16, 8 << 20);
}

static uint64_t written_since_capture(struct rn_local *l)
{
    return map_written(l) -
           __atomic_load_n(&l->written_at_capture, __ATOMIC_RELAXED);
}

/* 0: now; else how long until the checkpoint is due; IDLE: nothing to do.
 * Defragmentation writes without commits; the pages it frees wait for a
 * checkpoint too. */
static int64_t due_in(struct rn_local *l)
{
    int64_t now = rn_mono_ns(l->env);
    int64_t due = l->captured_ns + (int64_t)l->opts.checkpoint_ms * 1000000;
    bool much = written_since_capture(l) >= checkpoint_bytes(l);

    if (!much && !rn_local_has_news(l))
        return RN_TASK_IDLE;
    if (now < l->retry_ns)
        return l->retry_ns - now;
    if (l->hurry)
        return 0;
    if (much || rn_wal_bytes_since(l->wal, l->durable) >= l->opts.wal_bytes / 2)
        return 0;
    return due > now ? due - now : 0;
}

/* The maintenance thread and the checkpoint thread wake each other, so neither
 * may be stopped while the other can still wake it. */
static void wake(struct rn_local *l, struct rn_task *task)
{
    pthread_mutex_lock(&l->state);
    if (!l->closing)
        l->env->ops->task_wake(l->env, task);
    pthread_mutex_unlock(&l->state);
}

static bool is_handed_over(struct rn_local *l)
{
    return __atomic_load_n(&l->is_handed_over, __ATOMIC_ACQUIRE);
}

/* The scheduler lets a running thread go on for milliseconds, though the
 * committer is ready to run and all clients wait for it; even while another
 * processor is idle.  So background work yields, as long as it keeps ahead of
 * the writers. */
void rn_local_give_way(void *local)
{
    struct rn_local *l = local;
    struct rn_wal_place durable;

    if (l->opts.manual || rn_flush_lag(l) > 0)
        return;
    pthread_mutex_lock(&l->state);
    durable = l->durable;
    pthread_mutex_unlock(&l->state);
    if (rn_wal_bytes_since(l->wal, durable) < l->opts.wal_bytes / 4 * 3)
        l->env->ops->give_way(l->env);
}

/* Segments and checkpoints are named by the path of the directory.  If that
 * path leads elsewhere by now, another store may be there, and ours would be
 * without them. */
static bool is_at_an_end(struct rn_local *l)
{
    char path[RN_PATH_MAX];

    rn_local_path(l, "format", path);
    if (!l->env->ops->is_at(l->format_file, path))
        rn_local_poison(l, "the directory was moved, removed or replaced");
    return rn_local_is_poisoned(l);
}

/* Writes to a file that was removed or cut short are lost, and only the next
 * open would notice. */
static enum rn_code check_files(struct rn_local *l, struct rn_err *err)
{
    const struct rn_map_ops *map = l->map->ops;

    if (!is_at_an_end(l)) {
        if (!rn_wal_is_whole(l->wal))
            rn_local_poison(l, "the WAL was cut short, removed or replaced");
        else if (map->is_whole && !map->is_whole(l->map))
            rn_local_poison(l, "the map was cut short, removed or replaced");
    }
    if (!rn_local_is_poisoned(l))
        return RN_OK;
    return rn_fail(err, RN_READ_ONLY, "%s: %s", l->dir, l->reason);
}

static enum rn_code capture(struct rn_local *l, struct rn_err *err)
{
    struct rn_checkpoint *c = &l->checkpoint;
    enum rn_code rc = check_files(l, err);

    if (rc)
        return rc;
    rc = l->map->ops->capture(l->map, &c->image, &l->new_pin, err);
    c->place = l->flush.flushed;
    c->generation = l->generation;
    __atomic_store_n(&l->written_at_capture, map_written(l), __ATOMIC_RELAXED);
    if (rc)
        return rc;
    if (RN_BUG(NO_PIN)) {
        l->map->ops->release(l->map, l->new_pin);
        l->new_pin = NULL;
    }
    if (RN_BUG(PIN_RELEASED_EARLY)) {
        l->map->ops->release(l->map, l->pin);
        l->pin = NULL;
    }
    l->captured_ns = rn_mono_ns(l->env);
    c->number++;
    c->step = RN_CHECKPOINT_FLUSH;
    if (l->checkpointer.running) {
        __atomic_store_n(&l->is_handed_over, true, __ATOMIC_RELEASE);
        wake(l, &l->checkpointer);
    }
    return RN_OK;
}

/* Reports a failure once, and its end, not every attempt: there is one a
 * second.  An open that fails reports it itself, and after a close there is no
 * further attempt. */
static void tell_checkpoints(struct rn_local *l, const char *why)
{
    bool is_news = l->is_failing != (why != NULL);

    l->is_failing = why != NULL;
    if (is_news && l->maintenance.running && l->opts.tell_checkpoints)
        l->opts.tell_checkpoints(l->opts.tell_of, why);
}

/* S3: the new checkpoint is durable; what only the old one needed is released.
 * The oldest pin held keeps every later state as well. */
static void finish(struct rn_local *l)
{
    struct rn_map_pin *old = l->pin;

    l->map->ops->adopt(l->map);
    l->pin = l->new_pin;
    l->new_pin = NULL;
    pthread_mutex_lock(&l->state);
    l->durable = l->checkpoint.place;
    pthread_mutex_unlock(&l->state);
    __atomic_store_n(&l->written_at_durable, l->written_at_capture,
                     __ATOMIC_RELAXED);
    old = rn_held_keep(l, old);
    (void)rn_held_let_go(l);
    l->map->ops->release(l->map, old);
    l->checkpoint.step = RN_CHECKPOINT_IDLE;
    pthread_mutex_lock(&l->state);
    l->counts.checkpoints++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->state);
    tell_checkpoints(l, NULL);
}

/* A sync that belongs to no commit has failed. */
static void fail_sync(struct rn_local *l, const char *why)
{
    pthread_mutex_lock(&l->state);
    l->counts.sync_errors++;
    pthread_mutex_unlock(&l->state);
    rn_local_poison(l, why);
}

/* Ends the wait of threads that wait for a checkpoint in vain. */
static void tell_none(struct rn_local *l)
{
    pthread_mutex_lock(&l->state);
    l->given_up++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->state);
}

/* A checkpoint cannot be taken now, for lack of space or memory, or because a
 * file could not be written. */
static void put_off(struct rn_local *l, const struct rn_err *err)
{
    l->retry_ns = rn_mono_ns(l->env) + RETRY_MS * INT64_C(1000000);
    pthread_mutex_lock(&l->state);
    l->counts.checkpoint_failures++;
    pthread_mutex_unlock(&l->state);
    tell_none(l);
    tell_checkpoints(l, err->text);
}

/* Before the rename the old checkpoint is untouched and the new one can be
 * dropped.  A failed sync of the map may have lost pages that look clean, and
 * after the rename either file may be the one on disk: both poison the store.
 */
static void give_up(struct rn_local *l, const struct rn_err *err)
{
    struct rn_checkpoint *c = &l->checkpoint;
    bool unsynced = c->step == RN_CHECKPOINT_FLUSH &&
                    (err->code == RN_FULL || err->code == RN_NOMEM);

    if (unsynced || c->step == RN_CHECKPOINT_WRITE ||
        c->step == RN_CHECKPOINT_SYNC) {
        rn_file_close(c->file);
        c->file = NULL;
        l->map->ops->release(l->map, l->new_pin);
        l->new_pin = NULL;
        c->step = RN_CHECKPOINT_IDLE;
        put_off(l, err);
        return;
    }
    fail_sync(l, err->text);
}

/* True at the end of the checkpoint, or at an error. */
static bool is_over(const struct rn_local *l)
{
    return l->flush_rc || l->checkpoint.step == RN_CHECKPOINT_DONE;
}

/* False: there is more to do. */
static bool advance(struct rn_local *l)
{
    /* The checkpoint thread may have stopped before this one saw it. */
    if (!is_over(l)) {
        l->flush_rc = rn_checkpoint_advance(&l->checkpoint, l->env, l->dir,
                                            l->map, &l->flush_err);
    }
    return is_over(l);
}

/* The maintenance thread owns the checkpoint again. */
static void conclude(struct rn_local *l)
{
    if (l->flush_rc)
        give_up(l, &l->flush_err);
    else
        finish(l);
    l->flush_rc = RN_OK;
}

int64_t rn_local_flush(void *local)
{
    struct rn_local *l = local;

    if (!is_handed_over(l) || rn_local_is_poisoned(l))
        return RN_TASK_IDLE;
    /* The steps before that, which are many, use no path. */
    if (l->checkpoint.step != RN_CHECKPOINT_FLUSH && is_at_an_end(l))
        return RN_TASK_IDLE;
    rn_local_give_way(l);
    if (!advance(l))
        return RN_TASK_NOW;
    __atomic_store_n(&l->is_handed_over, false, __ATOMIC_RELEASE);
    wake(l, &l->maintenance);
    return RN_TASK_IDLE;
}

enum rn_code rn_local_prepare(struct rn_local *l, bool *ready,
                              struct rn_err *err)
{
    enum rn_code rc = rn_wal_prepare(l->wal, ready, err);

    if (rc == RN_UNKNOWN)
        fail_sync(l, err ? err->text : "a sync of the WAL failed");
    return rc;
}

/* True if the next segment should be made.  Filling it keeps a disk busy for a
 * good while and takes as much of its space.  So that happens only after
 * something was committed, unless a record might find no room. */
static bool wants_segment(struct rn_local *l)
{
    bool news;

    if (l->opts.manual || !rn_wal_has_room(l->wal, rn_local_record_max(l)))
        return true;
    pthread_mutex_lock(&l->state);
    news = rn_local_has_news(l);
    pthread_mutex_unlock(&l->state);
    return news;
}

/* Not before the first checkpoint: where there is a second segment, there was a
 * checkpoint.  A full disk is no reason to stop: the current segment may last
 * for long. */
static void prepare_segment(struct rn_local *l)
{
    struct rn_err err = { 0 };
    bool ready = false;

    if (!wants_segment(l))
        return;
    if (rn_local_prepare(l, &ready, &err) || !ready)
        return;
    pthread_mutex_lock(&l->state);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->state);
}

/* True if too many pages wait for the checkpoint in progress or its end. */
static bool lags(struct rn_local *l)
{
    uint64_t limit = rn_local_limit(l, l->opts.throttle_bytes, 2, 32 << 20);

    return map_written(l) -
               __atomic_load_n(&l->written_at_durable, __ATOMIC_RELAXED) >
           limit / 2;
}

/* Also pauses near the end of a checkpoint's write-back: pages written then
 * would have to be synced with it, and the WAL's syncs would wait for that. */
static bool holds_back(struct rn_local *l)
{
    struct rn_map_stat stat;

    if (!is_handed_over(l) && l->checkpoint.step == RN_CHECKPOINT_IDLE)
        return false;
    l->map->ops->stat(l->map, &stat);
    return stat.is_nearly_flushed || lags(l);
}

/* When the maintenance thread may next write to the map. */
static int64_t writes_in(struct rn_local *l)
{
    int64_t now = rn_mono_ns(l->env);

    if (holds_back(l))
        return RN_TASK_IDLE; /* the checkpoint thread wakes us */
    if (rn_defrag_due(l))
        return RN_TASK_NOW;
    if (!rn_flush_table(l))
        return RN_TASK_IDLE;
    return now < l->flush.retry_ns ? l->flush.retry_ns - now : RN_TASK_NOW;
}

static void write_map(struct rn_local *l)
{
    struct rn_err err = { 0 };
    enum rn_code rc = RN_OK;

    for (int i = 0; !rc && i < SLICES && rn_flush_table(l); i++) {
        if (holds_back(l) || rn_mono_ns(l->env) < l->flush.retry_ns)
            break;
        rc = rn_flush_slice(l, &err);
    }
    if (!holds_back(l) && rn_defrag_due(l))
        rn_defrag_slice(l);
}

/* A checkpoint is due.  It should have the rows of the memtable, so that is
 * flushed first, unless one was flushed since the last checkpoint. */
static void begin_checkpoint(struct rn_local *l)
{
    struct rn_err err = { 0 };
    bool has_begun = false;

    if (l->flush.flushed.seq == l->durable.seq) {
        rn_local_enter(l);
        has_begun = rn_flush_begin(l);
        rn_local_leave(l);
    }
    if (has_begun)
        return;
    pthread_mutex_lock(&l->state);
    l->hurry = false;
    pthread_mutex_unlock(&l->state);
    if (capture(l, &err))
        put_off(l, &err);
}

/* During a flush: takes a checkpoint only for the pages that the flush has used
 * up.  The captured state goes to the checkpoint thread at once. */
static int64_t keep_flushing(struct rn_local *l)
{
    bool is_blocked = rn_flush_is_blocked(l);
    bool full = is_blocked && written_since_capture(l) > 0;
    bool is_captured = false;
    int64_t now = rn_mono_ns(l->env);
    struct rn_err err = { 0 };

    if ((full || written_since_capture(l) >= checkpoint_bytes(l)) &&
        now >= l->retry_ns) {
        is_captured = !capture(l, &err);
        if (!is_captured)
            put_off(l, &err);
    }
    if (is_blocked && !full)
        tell_none(l);
    if (is_captured || now >= l->flush.retry_ns)
        return RN_TASK_NOW;
    return l->flush.retry_ns - now;
}

/* Returns when there is more to do. */
static int64_t maintain(struct rn_local *l)
{
    int64_t wait;

    prepare_segment(l);
    write_map(l);
    if (is_handed_over(l))
        return writes_in(l);
    if (l->checkpoint.step != RN_CHECKPOINT_IDLE) {
        if (l->checkpointer.running || advance(l))
            conclude(l);
        return RN_TASK_NOW;
    }
    if (rn_flush_table(l))
        return keep_flushing(l);
    pthread_mutex_lock(&l->state);
    wait = due_in(l);
    l->maintenance_idle = wait == RN_TASK_IDLE;
    pthread_mutex_unlock(&l->state);
    if (wait == RN_TASK_IDLE)
        rn_flush_rest(l);
    if (wait > 0)
        return rn_defrag_due(l) ? RN_TASK_NOW : wait;
    begin_checkpoint(l);
    return RN_TASK_NOW;
}

/* Reports once that the map is lost: reads cannot go around it. */
static void tell_lost(struct rn_local *l)
{
    struct rn_map_stat stat;

    l->map->ops->stat(l->map, &stat);
    if (l->is_lost || !stat.is_lost)
        return;
    l->is_lost = true;
    if (l->opts.tell_lost)
        l->opts.tell_lost(l->opts.tell_of, l->reason);
}

int64_t rn_local_maintain(void *local)
{
    struct rn_local *l = local;
    int64_t held, wait;

    if (is_at_an_end(l))
        return RN_TASK_IDLE;
    held = rn_held_let_go(l);
    rn_flush_stock(l);
    wait = maintain(l);
    if (rn_local_is_poisoned(l))
        tell_lost(l);
    return wait < held ? wait : held;
}

static uint64_t checkpoints(struct rn_local *l)
{
    uint64_t n;

    pthread_mutex_lock(&l->state);
    n = l->counts.checkpoints;
    pthread_mutex_unlock(&l->state);
    return n;
}

static enum rn_code start_checkpoint(struct rn_local *l, struct rn_err *err)
{
    enum rn_code rc = rn_flush_all(l, err);

    if (!rc || rc == RN_FULL || rc == RN_NOMEM)
        rc = capture(l, err);
    return rc;
}

/* Advances the checkpoint up to `step`, or until it fails or is done. */
static enum rn_code work_checkpoint(struct rn_local *l,
                                    enum rn_checkpoint_step step,
                                    struct rn_err *err)
{
    while (l->checkpoint.step != RN_CHECKPOINT_IDLE &&
           l->checkpoint.step != step) {
        if (is_at_an_end(l))
            return rn_fail(err, RN_READ_ONLY, "%s: %s", l->dir, l->reason);
        if (advance(l))
            conclude(l);
    }
    return RN_OK;
}

static enum rn_code no_checkpoint(struct rn_local *l, struct rn_err *err)
{
    return rn_fail(err, RN_FULL, "%s: no checkpoint could be written", l->dir);
}

enum rn_code rn_local_checkpoint_begin(struct rn_local *l, struct rn_err *err)
{
    enum rn_code rc = start_checkpoint(l, err);

    if (!rc)
        rc = work_checkpoint(l, RN_CHECKPOINT_RENAME, err);
    if (!rc && l->checkpoint.step == RN_CHECKPOINT_IDLE)
        rc = no_checkpoint(l, err);
    return rc;
}

enum rn_code rn_local_checkpoint(struct rn_local *l, struct rn_err *err)
{
    uint64_t before = checkpoints(l);
    enum rn_code rc = RN_OK;

    if (l->checkpoint.step == RN_CHECKPOINT_IDLE)
        rc = start_checkpoint(l, err);
    if (!rc)
        rc = work_checkpoint(l, RN_CHECKPOINT_IDLE, err);
    if (!rc && checkpoints(l) == before)
        rc = no_checkpoint(l, err);
    return rc;
}

bool rn_local_await_checkpoint(struct rn_local *l, const struct timespec *until)
{
    uint64_t before = checkpoints(l), given_up;
    struct rn_err err = { 0 };
    bool late = false, done;

    pthread_mutex_lock(&l->state);
    done = !rn_local_has_news(l);
    given_up = l->given_up;
    pthread_mutex_unlock(&l->state);
    if (done)
        return false;
    if (l->opts.manual)
        return !rn_local_checkpoint(l, &err);
    pthread_mutex_lock(&l->state);
    l->hurry = true;
    pthread_mutex_unlock(&l->state);
    l->env->ops->task_wake(l->env, &l->maintenance);
    pthread_mutex_lock(&l->state);
    while (l->counts.checkpoints == before && l->given_up == given_up &&
           !l->poisoned && !late)
        late =
            pthread_cond_timedwait(&l->changed, &l->state, until) == ETIMEDOUT;
    done = l->counts.checkpoints != before;
    pthread_mutex_unlock(&l->state);
    return done;
}

void rn_local_nudge(struct rn_local *l)
{
    struct rn_wal_place durable;
    bool wake;

    if (l->opts.manual)
        return;
    pthread_mutex_lock(&l->state);
    wake = l->maintenance_idle;
    l->maintenance_idle = false;
    durable = l->durable;
    pthread_mutex_unlock(&l->state);
    if (wake || !rn_wal_has_room(l->wal, RN_TXN_REDO_MAX) ||
        rn_wal_bytes_since(l->wal, durable) >= l->opts.wal_bytes / 2)
        l->env->ops->task_wake(l->env, &l->maintenance);
}

int64_t rn_local_throttle_ns(struct rn_local *l)
{
    return (int64_t)(rn_flush_lag(l) * THROTTLE_NS);
}
