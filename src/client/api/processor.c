/* processor.c -- the change feed, pushed; see runnel/processor.h. */
#include "client/account/account.h"
#include "client/api/container.h"
#include "client/http/options.h"
#include "client/lease/store_file.h"
#include "client/lease/store_memory.h"
#include "client/processor/config.h"
#include "client/processor/handlers.h"
#include "client/processor/host.h"

#include <assert.h>

struct runnel_processor {
    struct rn_host *host;
    uint32_t stop_ms;
};

static struct rn_client_container *inner(runnel_container *container)
{
    return container ? container->inner : NULL;
}

runnel_code runnel_processor_start(runnel_container *source,
                                   const runnel_processor_options *options,
                                   const runnel_observer *observer,
                                   runnel_processor **out, runnel_error *error)
{
    struct rn_env *env =
        rn_account_env(rn_client_container_account(source->inner));
    struct rn_config_containers at = { .source = source->inner };
    runnel_processor_options known;
    struct rn_config config;
    runnel_processor *p = NULL;
    runnel_code rc = rn_options_copy(&known, sizeof(known), options, error);

    if (rc)
        return rc;
    at.leases = inner(known.leases);
    at.dead_letters = inner(known.dead_letters);
    rc = rn_config_init(&config, &known, observer, &at, env, error);
    if (!rc)
        p = rn_new(sizeof(*p));
    if (!p) {
        rn_config_release(&config);
        return rc ? rc : rn_error_take(error, RN_NOMEM, NULL);
    }
    p->stop_ms = config.o.stop_ms;
    rc = rn_host_start(&config, &p->host, error);
    if (!rc) {
        rc = rn_host_wait_ready(p->host, error);
        if (rc)
            rn_host_free(p->host);
    }
    if (rc)
        rn_free(p);
    else
        *out = p;
    return rc;
}

runnel_code runnel_processor_drain(runnel_processor *processor,
                                   uint32_t deadline_ms, runnel_error *error)
{
    rn_host_drain(processor->host,
                  deadline_ms ? deadline_ms : processor->stop_ms);
    if (deadline_ms == 0)
        return RUNNEL_OK;
    /* A handler would wait for itself. */
    assert(!rn_handlers_is_inside());
    return rn_host_wait_stopped(processor->host, deadline_ms, error);
}

void runnel_processor_stop(runnel_processor *processor)
{
    if (!processor)
        return;
    /* runnel_processor_stop in a callback would wait for itself; use
     * runnel_processor_drain(processor, 0, NULL) there. */
    assert(!rn_handlers_is_inside());
    rn_host_free(processor->host);
    rn_free(processor);
}

void runnel_processor_read_stats(runnel_processor *processor,
                                 runnel_processor_stats *out)
{
    rn_host_read_stats(processor->host, out);
}

void runnel_processor_each_lease(runnel_processor *processor,
                                 bool (*each)(void *context,
                                              const runnel_lease_health *lease),
                                 void *context)
{
    rn_host_each_lease(processor->host, each, context);
}

/* ---- lease stores of ours ------------------------------------------------ */

runnel_code runnel_lease_store_memory(const char *json,
                                      runnel_lease_store **out,
                                      runnel_error *error)
{
    struct rn_view text = { json, json ? strlen(json) : 0 };

    return rn_lease_store_memory_open(rn_env_real(), text, out, error);
}

runnel_code runnel_lease_store_file(const char *path, runnel_lease_store **out,
                                    runnel_error *error)
{
    if (!path || !path[0])
        return rn_error_set(error, RUNNEL_BAD_REQUEST, "path is empty");
    return rn_lease_store_file_open(rn_env_real(), path, out, error);
}

void runnel_lease_store_close(runnel_lease_store *store)
{
    struct rn_own_store *own = (struct rn_own_store *)store;

    if (own)
        own->close(own);
}
