/* engine.c -- see engine.h. */
#include "engine/engine.h"
#include "engine/range/restore_bump.h"

#include "base/bytes.h"
#include "engine/bug.h"
#include "engine/engine_state.h"
#include "engine/index/index_set.h"
#include "waiters/waiters.h"

/* ---- changed ranges ------------------------------------------------------ */

/* Merges the noted moves: one entry for each range. */
static void join_moves(struct rn_engine *e)
{
    size_t count = 0, k;

    for (size_t i = 0; i < e->moved_count; i++) {
        for (k = 0; k < count; k++) {
            if (e->moved[k].container == e->moved[i].container &&
                e->moved[k].range == e->moved[i].range)
                break;
        }
        if (k == count) {
            e->moved[count++] = e->moved[i];
            continue;
        }
        if (e->moved[i].prefixes.low < e->moved[k].prefixes.low)
            e->moved[k].prefixes.low = e->moved[i].prefixes.low;
        if (e->moved[i].prefixes.high > e->moved[k].prefixes.high)
            e->moved[k].prefixes.high = e->moved[i].prefixes.high;
    }
    e->moved_count = count;
}

void rn_engine_note_move(struct rn_engine *e, uint32_t container, int64_t range,
                         struct rn_epk_prefixes prefixes)
{
    size_t n = e->moved_count;

    if (n && e->moved[n - 1].container == container &&
        e->moved[n - 1].range == range &&
        e->moved[n - 1].prefixes.low == prefixes.low &&
        e->moved[n - 1].prefixes.high == prefixes.high)
        return;
    if (n == RN_MOVED_MAX) {
        join_moves(e);
        n = e->moved_count;
        if (n > RN_MOVED_MAX / 2) { /* too many: wake all */
            container = RN_CONTAINER_ANY;
            range = RN_RANGE_ANY;
            n = 0;
        }
    }
    e->moved[n].container = container;
    e->moved[n].range = range;
    e->moved[n].prefixes = prefixes;
    e->moved_count = n + 1;
}

static void publish(void *context, const struct rn_operation *group)
{
    struct rn_engine *e = context;

    (void)group;
    if (RN_BUG(WAKE_FORGOTTEN) && e->moved_count)
        e->moved_count--;
    for (size_t i = 0; i < e->moved_count; i++)
        rn_waiters_move(e->waiters, e->moved[i].container, e->moved[i].range,
                        e->moved[i].prefixes);
    e->moved_count = 0;
}

static struct rn_operation *take_due(void *context, int64_t *wait_ns)
{
    return rn_background_take(context, wait_ns);
}

/* ---- open and close ------------------------------------------------------ */

enum rn_code rn_engine_open(const struct rn_engine_opts *opts,
                            struct rn_engine **out, struct rn_err *err)
{
    struct rn_engine *e = rn_new(sizeof(*e));
    struct rn_committer_opts committer = { .queue_max = opts->queue_max,
                                           .due = take_due,
                                           .publish = publish,
                                           .due_context = e,
                                           .publish_context = e };
    enum rn_code rc;

    if (!e)
        return rn_fail(err, RN_NOMEM, "out of memory");
    e->opts = *opts;
    e->env = opts->env ? opts->env : rn_env_real();
    e->store = opts->store;
    pthread_mutex_init(&e->lock, NULL);
    rn_indexer_init(e);
    rc = rn_waiters_new(e->env, &e->waiters, err);
    if (!rc)
        rc = rn_catalog_load(e, err);
    if (!rc)
        rc = rn_restore_bump_raise(e, err);
    if (!rc)
        rc = rn_indexer_load(e, err);
    if (!rc)
        rc = rn_committer_new(e->env, e->store, &committer, &e->committer, err);
    if (rc) {
        rn_engine_close(e);
        return rc;
    }
    rn_background_start(e);
    *out = e;
    return RN_OK;
}

void rn_engine_close(struct rn_engine *e)
{
    if (!e)
        return;
    rn_committer_free(e->committer);
    rn_waiters_free(e->waiters);
    rn_delete_partition_release(e);
    rn_ttl_release(e);
    rn_indexer_release(e);
    rn_blooms_release(&e->blooms);
    rn_fixtures_release(e);
    rn_catalog_unload(e);
    pthread_mutex_destroy(&e->lock);
    rn_free(e);
}

struct rn_env *rn_engine_env(struct rn_engine *e)
{
    return e->env;
}

struct rn_store *rn_engine_store(struct rn_engine *e)
{
    return e->store;
}

struct rn_waiters *rn_engine_waiters(struct rn_engine *e)
{
    return e->waiters;
}

void rn_engine_commit_status(struct rn_engine *e,
                             struct rn_committer_status *out)
{
    rn_committer_status(e->committer, out);
}

uint64_t rn_engine_removals_failed(struct rn_engine *e)
{
    return atomic_load(&e->removals_failed);
}

void rn_engine_clock_turned(struct rn_engine *e)
{
    rn_committer_wake(e->committer);
}

int64_t rn_engine_now(struct rn_engine *e)
{
    return rn_wall_ms(e->env) / 1000;
}

int64_t rn_engine_now_us(struct rn_engine *e)
{
    return rn_wall_ms(e->env) * 1000;
}
