/* estimator.c -- how far behind a processor is; see runnel/processor.h. */
#include "client/account/account.h"
#include "client/api/container.h"
#include "client/http/options.h"
#include "client/lag/lag.h"
#include "client/lag/lease_set.h"
#include "client/lease/property.h"

enum { PERIOD_MS = 5000 };

static struct rn_client_container *inner(runnel_container *container)
{
    return container ? container->inner : NULL;
}

runnel_code runnel_lag_each(const runnel_lease_set *set, runnel_lag_fn each,
                            void *context, runnel_error *error)
{
    runnel_lease_set known;
    struct rn_lease_set s;
    runnel_code rc = rn_options_copy(&known, sizeof(known), set, error);

    if (rc)
        return rc;
    if (!known.source)
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "a lease set needs a source");
    rc = rn_lease_set_open(&s, &known, known.source->inner, inner(known.leases),
                           error);
    if (!rc)
        rc = rn_lag_each(&s, each, context, error);
    rn_lease_set_close(&s);
    return rc;
}

/* ---- push ---------------------------------------------------------------- */

struct runnel_estimator {
    struct rn_env *env;
    struct rn_task task;
    char *name;
    runnel_container source, leases; /* references of its own */
    runnel_lease_store table;
    runnel_lease_set set;
    int64_t period_ns;
    runnel_lag_fn each;
    void *context;
};

static int64_t estimator_step(void *context)
{
    struct runnel_estimator *e = context;
    runnel_error error = { 0 };
    runnel_code rc = runnel_lag_each(&e->set, e->each, e->context, &error);

    if (rc) {
        runnel_lag failed = { .size = sizeof(failed),
                              .state = RUNNEL_LAG_FAILED,
                              .behind = 1,
                              .checkpoint_age_ms = -1,
                              .error = &error };
        e->each(e->context, &failed);
    }
    return e->period_ns;
}

static void release(runnel_estimator *e)
{
    rn_client_container_unref(e->source.inner);
    rn_client_container_unref(e->leases.inner);
    rn_free(e->name);
    rn_free(e);
}

runnel_code runnel_estimator_start(const runnel_lease_set *set,
                                   uint32_t period_ms, runnel_lag_fn each,
                                   void *context, runnel_estimator **out,
                                   runnel_error *error)
{
    runnel_lease_set known;
    runnel_estimator *e;
    runnel_code rc = rn_options_copy(&known, sizeof(known), set, error);

    if (rc)
        return rc;
    if (!known.source || !known.name ||
        (known.leases != NULL) == (known.lease_store != NULL)) {
        return rn_error_set(error, RUNNEL_BAD_REQUEST,
                            "a lease set needs a source, a name, and one of "
                            "leases and lease_store");
    }
    e = rn_new(sizeof(*e));
    if (!e)
        return rn_error_take(error, RN_NOMEM, NULL);
    e->set = known;
    e->name = rn_new_text(known.name);
    e->source.inner = rn_client_container_ref(known.source->inner);
    e->set.source = &e->source;
    e->set.name = e->name;
    if (known.leases) {
        e->leases.inner = rn_client_container_ref(known.leases->inner);
        e->set.leases = &e->leases;
    } else if (known.lease_store) {
        e->table = *known.lease_store;
        e->set.lease_store = &e->table;
    }
    e->env = rn_account_env(rn_client_container_account(e->source.inner));
    e->period_ns = (int64_t)rn_option_or(period_ms, PERIOD_MS) * 1000000;
    e->each = each;
    e->context = context;
    e->task = (struct rn_task){ .name = "runnel-lag",
                                .step = estimator_step,
                                .context = e };
    if (!e->name || e->env->ops->task_start(e->env, &e->task)) {
        release(e);
        return rn_error_take(error, RN_NOMEM, NULL);
    }
    *out = e;
    return RUNNEL_OK;
}

void runnel_estimator_stop(runnel_estimator *estimator)
{
    if (!estimator)
        return;
    estimator->env->ops->task_stop(estimator->env, &estimator->task);
    release(estimator);
}
