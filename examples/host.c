/* host.c -- the sample of the 2017 article: a host with an observer factory,
 * whose observers copy each document to a collection with another partition
 * key. */
#include "example.h"

static runnel_code document_open(void *context, const char *lease)
{
    (void)context;
    printf("Observer opened, %s\n", lease);
    return RUNNEL_OK;
}

static void document_close(void *context, const char *lease,
                           runnel_close_reason reason)
{
    (void)context;
    printf("Observer closed, %s, reason %d\n", lease, (int)reason);
}

static runnel_verdict document_changes(void *context, const char *lease,
                                       const runnel_batch *batch)
{
    runnel_container *destination = context;
    runnel_error error;

    printf("Change feed: %s, %zu documents\n", lease,
           runnel_batch_count(batch));
    for (size_t i = 0; i < runnel_batch_count(batch); i++)
        if (runnel_item_upsert(destination, runnel_batch_at(batch, i)->json,
                               NULL, NULL, &error)) {
            runnel_batch_explain(batch, error.message);
            return RUNNEL_AGAIN;
        }
    return RUNNEL_DONE;
}

static runnel_code create_observer(void *context, const char *lease,
                                   runnel_observer *out)
{
    (void)lease;
    *out = (runnel_observer){ RUNNEL_OBSERVER_INIT, .context = context,
                              .open = document_open, .close = document_close,
                              .changes = document_changes };
    return RUNNEL_OK;
}

int main(void)
{
    const char *uri = example_endpoint();
    runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                 .start = RUNNEL_START_BEGINNING };
    runnel_processor_options tuning = { RUNNEL_PROCESSOR_INIT,
                                        .lease_renew_ms = 15000 };
    runnel_host_options options = {
        RUNNEL_HOST_INIT,
        .name = "host-1",
        .monitored = { .uri = uri, .database = "shop", .collection = "orders" },
        .leases = { .uri = uri, .database = "shop", .collection = "leases" },
        .feed = &feed,
        .processor = &tuning,
    };
    runnel_observer_factory factory = { .context =
                                            open_container("shop", "by-city"),
                                        .create = create_observer };
    runnel_host *host = NULL;
    runnel_error error;
    runnel_code rc = runnel_host_open(&options, &host, &error);

    setvbuf(stdout, NULL, _IOLBF, 0); /* lines appear at once in a pipe too */
    if (!rc)
        rc = runnel_host_register_factory(host, &factory, &error);
    if (!rc) {
        puts("Running... Press enter to stop.");
        fflush(stdout);
        getchar();
        rc = runnel_host_unregister(host, &error);
    }
    if (rc)
        fprintf(stderr, "host: %s\n", error.message);
    runnel_host_close(host);
    runnel_container_close(factory.context);
    return rc ? 1 : 0;
}
