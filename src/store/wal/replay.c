/* replay.c -- see replay.h.
 *
 * The records after the checkpoint go where they were before the process
 * ended: into the memtable, from which the maintenance thread flushes them.
 */
#include "store/wal/replay.h"

#include "store/local/local.h"
#include "store/wal/redo.h"
#include "store/wal/wal_read.h"

struct replay {
    struct rn_local *local;
    struct rn_task
        stocker; /* stocks memory while there is no maintenance thread */
};

static int64_t stock(void *local)
{
    struct rn_local *l = local;

    if (rn_memtable_is_short(l->flush.mutable))
        rn_memtable_stock(l->flush.mutable);
    return RN_TASK_IDLE;
}

/* Half of the time goes into fresh memory, so another thread gets it.  Without
 * threads, this one does. */
static void have_stocked(struct replay *r)
{
    struct rn_env *env = r->local->env;

    if (r->local->opts.manual || !rn_memtable_is_short(r->local->flush.mutable))
        return;
    if (r->stocker.running)
        env->ops->task_wake(env, &r->stocker);
    else
        (void)env->ops->task_start(env, &r->stocker);
}

/* Prefetches for all rows of a group at once, so that the cache misses overlap.
 */
static void expect_rows(const struct rn_memtable *memtable,
                        struct rn_view payload)
{
    struct rn_redo write;

    while (!rn_redo_next(&payload, &write))
        rn_memtable_prefetch(memtable, write.key);
}

static enum rn_code add_record(void *context, uint64_t seq,
                               struct rn_view payload)
{
    struct replay *r = context;
    struct rn_local *l = r->local;
    struct rn_memtable *memtable = l->flush.mutable;
    struct rn_redo write;
    enum rn_code rc = RN_OK;

    expect_rows(memtable, payload);
    while (!rc) {
        rc = rn_redo_next(&payload, &write);
        if (!rc && write.kind == RN_REDO_PUT)
            rc = rn_memtable_put(memtable, seq, write.key, write.value);
        else if (!rc)
            rc = rn_memtable_delete(memtable, seq, write.key);
    }
    if (rc != RN_NOT_FOUND)
        return rc;
    rn_memtable_end(memtable, true);
    l->flush.visible = seq;
    l->counts.recovered_records++;
    have_stocked(r);
    return RN_OK;
}

enum rn_code rn_replay(struct rn_local *l, struct rn_err *err)
{
    struct replay r = {
        .local = l,
        .stocker = { .name = "stocker", .step = stock, .context = l },
    };
    enum rn_code rc;

    l->flush.flushed = l->durable;
    l->flush.visible = l->durable.seq;
    rc = rn_wal_replay(l->wal, l->durable, add_record, &r, err);
    l->env->ops->task_stop(l->env, &r.stocker);
    if (rc && err && !err->text[0])
        rn_fail(err, rc, "%s: replaying the WAL behind record %llu: %s", l->dir,
                (unsigned long long)l->flush.visible, rn_code_name(rc));
    return rc;
}
