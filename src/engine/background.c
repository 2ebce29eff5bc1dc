/* background.c -- see background.h. */
#include "engine/background.h"

#include "engine/cleanup/drop_container.h"
#include "engine/engine.h"
#include "engine/engine_state.h"

/* The longest wait between two looks at the clock, so that a clock that was put
 * forward is noticed. */
enum { LONGEST_S = 3600 };

/* Without writes, until clients count as idle. */
#define QUIET_NS INT64_C(20000000)

static const struct rn_background_ops *const ops_of[RN_BACKGROUND_TASKS] = {
    [RN_BACKGROUND_PURGE] = &rn_delete_partition_background,
    [RN_BACKGROUND_EXPIRY] = &rn_ttl_background,
    [RN_BACKGROUND_DROP] = &rn_drop_background,
    [RN_BACKGROUND_REHOME] = &rn_rehome_background,
    [RN_BACKGROUND_INDEX] = &rn_index_background,
    [RN_BACKGROUND_BLOOM] = &rn_bloom_background,
};

void rn_background_start(struct rn_engine *e)
{
    atomic_store(&e->background.is_started, true);
    rn_committer_wake(e->committer);
}

void rn_background_set(struct rn_engine *e, enum rn_background_id id,
                       int64_t due)
{
    e->background.tasks[id].due = due;
}

void rn_background_lower(struct rn_engine *e, enum rn_background_id id,
                         int64_t due)
{
    if (due < e->background.tasks[id].due)
        e->background.tasks[id].due = due;
}

/* ---- choosing ------------------------------------------------------------ */

/* How long a paced task must wait for a group of clients' writes; 0: not. */
static int64_t pause_ns(struct rn_engine *e)
{
    struct rn_background *b = &e->background;
    int64_t now = rn_mono_ns(e->env), left;
    struct rn_committer_status status;

    if (b->writes != b->writes_asked)
        b->wrote_ns = now;
    b->writes_asked = b->writes;
    left = b->wrote_ns + QUIET_NS - now;
    if (left <= 0 || b->writes == 0)
        return 0;
    rn_committer_status(e->committer, &status);
    return status.in_flight ? 0 : left;
}

static int64_t wait_of(struct rn_engine *e, enum rn_background_id id,
                       int64_t now)
{
    int64_t wait_s = e->background.tasks[id].due - now;

    if (wait_s > 0)
        return (wait_s < LONGEST_S ? wait_s : LONGEST_S) * 1000000000;
    return ops_of[id]->is_paced ? pause_ns(e) : 0;
}

/* The task that gets the next slice; none: RN_BACKGROUND_TASKS, and the time
 * until one may be due. */
static enum rn_background_id pick(struct rn_engine *e, int64_t now,
                                  int64_t *wait_ns)
{
    const struct rn_background *b = &e->background;
    enum rn_background_id best = RN_BACKGROUND_TASKS;
    uint64_t most = 0;

    *wait_ns = RN_TASK_IDLE;
    for (enum rn_background_id i = 0; i < RN_BACKGROUND_TASKS; i++) {
        uint64_t passed = b->slices + 1 - b->tasks[i].served;
        int64_t wait;

        if (b->tasks[i].due == RN_NEVER)
            continue;
        wait = wait_of(e, i, now);
        if (wait && wait < *wait_ns)
            *wait_ns = wait;
        if (!wait && passed * ops_of[i]->priority > most) {
            most = passed * ops_of[i]->priority;
            best = i;
        }
    }
    return best;
}

/* ---- the slice ----------------------------------------------------------- */

static enum rn_code run(struct rn_operation *op, struct rn_txn *txn)
{
    struct rn_engine *e =
        RN_CONTAINER_OF(op, struct rn_engine, background.slice);

    return ops_of[e->background.current]->run(e, txn);
}

static void done(struct rn_operation *op, enum rn_code rc,
                 const struct rn_err *err)
{
    struct rn_engine *e =
        RN_CONTAINER_OF(op, struct rn_engine, background.slice);

    e->background.is_queued = false;
    ops_of[e->background.current]->done(e, rc, err);
}

struct rn_operation *rn_background_take(struct rn_engine *e, int64_t *wait_ns)
{
    struct rn_background *b = &e->background;
    int64_t now = rn_engine_now(e);
    enum rn_background_id id;

    *wait_ns = RN_TASK_IDLE;
    if (b->is_queued || !atomic_load(&b->is_started))
        return NULL;
    while ((id = pick(e, now, wait_ns)) < RN_BACKGROUND_TASKS) {
        const struct rn_background_ops *ops = ops_of[id];
        unsigned flags = RN_OPERATION_BACKGROUND | ops->flags;

        if (ops->choose && !ops->choose(e, now, &flags))
            continue;
        b->tasks[id].served = ++b->slices;
        b->current = id;
        b->is_queued = true;
        b->slice = (struct rn_operation){
            .run = run, .done = done, .flags = flags, .bytes = ops->bytes
        };
        return &b->slice;
    }
    return NULL;
}
