/* work.c -- see work.h. */
#include "tools/demo/work.h"

#include "base/env.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"

#include <poll.h>
#include <unistd.h>

enum {
    KEYS = 400,
    PACE_MS = 5,
    RENEW_MS = 400,
    ACQUIRE_MS = 400,
    EXPIRE_MS = 2000, /* so that one sees leases move soon */
};

/* ---- the data ------------------------------------------------------------ */

int rn_demo_prepare(runnel_client *client)
{
    runnel_error error = { 0 };
    runnel_reply *reply = NULL;
    runnel_database_definition database = { RUNNEL_DATABASE_INIT,
                                            .id = RN_DEMO_DATABASE };
    runnel_container_definition source = { RUNNEL_CONTAINER_INIT,
                                           .id = RN_DEMO_SOURCE,
                                           .partition_key = "/pk" };
    runnel_container_definition leases = { RUNNEL_CONTAINER_INIT,
                                           .id = RN_DEMO_LEASES,
                                           .partition_key = "/id" };

    if (runnel_database_create(client, &database, &reply, &error))
        return rn_report_error(&error);
    runnel_reply_close(reply);
    if (runnel_container_create(client, RN_DEMO_DATABASE, &source, &reply,
                                &error))
        return rn_report_error(&error);
    runnel_reply_close(reply);
    if (runnel_container_create(client, RN_DEMO_DATABASE, &leases, &reply,
                                &error))
        return rn_report_error(&error);
    runnel_reply_close(reply);
    return RN_EXIT_OK;
}

/* ---- the writer ---------------------------------------------------------- */

static void *write_on(void *context)
{
    struct rn_demo_writer *w = context;
    struct rn_env *env = rn_env_real();
    char json[128];

    for (uint64_t n = 0; !atomic_load(&w->is_ending); n++) {
        int len = snprintf(
            json, sizeof(json), "{\"id\":\"%llu\",\"pk\":\"%llu\",\"n\":%llu}",
            (unsigned long long)(n % KEYS), (unsigned long long)(n % KEYS),
            (unsigned long long)n);
        runnel_error error = { 0 };

        (void)!runnel_item_upsert(w->container,
                                  (runnel_bytes){ json, (size_t)len }, NULL,
                                  NULL, &error);
        env->ops->sleep(env, PACE_MS * INT64_C(1000000));
    }
    return NULL;
}

bool rn_demo_writer_start(struct rn_demo_writer *w)
{
    w->has_begun = pthread_create(&w->thread, NULL, write_on, w) == 0;
    return w->has_begun;
}

void rn_demo_writer_stop(struct rn_demo_writer *w)
{
    if (!w->has_begun)
        return;
    atomic_store(&w->is_ending, true);
    runnel_container_cancel(w->container);
    pthread_join(w->thread, NULL);
    w->has_begun = false;
}

/* ---- a host -------------------------------------------------------------- */

static runnel_verdict handle(void *context, const char *lease,
                             const runnel_batch *batch)
{
    (void)context, (void)lease, (void)batch;
    return RUNNEL_DONE;
}

static void wait_for_signal(void)
{
    struct pollfd fd = { .fd = rn_signals_fd(), .events = POLLIN };
    char byte;

    while (!rn_interrupted()) {
        if (poll(&fd, 1, -1) > 0)
            (void)!read(fd.fd, &byte, 1);
    }
}

int rn_demo_host(const char *account, const char *instance)
{
    runnel_client_options options = { RUNNEL_CLIENT_INIT, .endpoint = account };
    runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                 .start = RUNNEL_START_BEGINNING };
    runnel_observer observer = { RUNNEL_OBSERVER_INIT, .changes = handle };
    runnel_processor_options how = { RUNNEL_PROCESSOR_INIT,
                                     .name = RN_DEMO_PROCESSOR,
                                     .host = instance,
                                     .feed = &feed,
                                     .lease_renew_ms = RENEW_MS,
                                     .lease_acquire_ms = ACQUIRE_MS,
                                     .lease_expire_ms = EXPIRE_MS,
                                     .event = runnel_event_ignore };
    runnel_client *client = NULL;
    runnel_container *source = NULL, *leases = NULL;
    runnel_processor *processor = NULL;
    runnel_error error = { 0 };
    int status = RN_EXIT_OK;

    if (runnel_client_open(&options, &client, &error) ||
        runnel_container_open(client, RN_DEMO_DATABASE, RN_DEMO_SOURCE, &source,
                              &error) ||
        runnel_container_open(client, RN_DEMO_DATABASE, RN_DEMO_LEASES, &leases,
                              &error))
        status = rn_report_error(&error);
    how.leases = leases;
    if (!status &&
        runnel_processor_start(source, &how, &observer, &processor, &error))
        status = rn_report_error(&error);
    if (!status)
        wait_for_signal();
    runnel_processor_stop(processor);
    runnel_container_close(leases);
    runnel_container_close(source);
    runnel_client_close(client);
    return status ? status : RN_EXIT_INTERRUPTED;
}
