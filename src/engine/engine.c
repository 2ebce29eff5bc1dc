/* engine.c -- see engine.h. */
#include "engine/engine.h"

#include "engine/own.h"

enum rn_code rn_engine_open(const struct rn_engine_opts *opts,
                            struct rn_engine **out, struct rn_err *err)
{
    struct rn_committer_opts committer = { .queue_max = opts->queue_max };
    struct rn_engine *e = rn_new(sizeof(*e));
    enum rn_code rc;

    if (!e)
        return rn_fail(err, RN_NOMEM, "out of memory");
    e->opts = *opts;
    e->env = opts->env ? opts->env : rn_env_real();
    e->store = opts->store;
    pthread_mutex_init(&e->lock, NULL);
    rc = rn_catalog_load(e, err);
    if (!rc)
        rc = rn_committer_new(e->env, e->store, &committer, &e->committer, err);
    if (rc) {
        rn_engine_close(e);
        return rc;
    }
    rn_sweeper_wake(e); /* what an earlier run did not finish */
    *out = e;
    return RN_OK;
}

void rn_engine_close(struct rn_engine *e)
{
    if (!e)
        return;
    rn_committer_free(e->committer);
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

void rn_engine_commit_status(struct rn_engine *e,
                             struct rn_committer_status *out)
{
    rn_committer_status(e->committer, out);
}

int64_t rn_engine_now(struct rn_engine *e)
{
    return rn_wall_ms(e->env) / 1000;
}
