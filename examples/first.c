/* first.c -- a processor that prints the changes of a container. */
#include <runnel/runnel.h>

#include <stdio.h>

static runnel_verdict print_changes(void *context, const char *lease,
                                    const runnel_batch *batch)
{
    FILE *to = context;

    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        runnel_bytes json = runnel_batch_at(batch, i)->json;
        fprintf(to, "%s %.*s\n", lease, (int)json.len, json.at);
    }
    return RUNNEL_DONE;
}

int main(void)
{
    runnel_client_options options = { RUNNEL_CLIENT_INIT,
                                      .endpoint = "http://localhost:8081" };
    runnel_processor_options work = { RUNNEL_PROCESSOR_INIT, .name = "printer",
                                      .host = "host-1" };
    runnel_observer printer = { .context = stdout, .changes = print_changes };
    runnel_client *client = NULL;
    runnel_container *orders = NULL;
    runnel_processor *worker = NULL;
    runnel_error error;
    runnel_code rc;

    rc = runnel_client_open(&options, &client, &error);
    if (!rc)
        rc = runnel_container_open(client, "shop", "orders", &orders, &error);
    if (!rc)
        rc = runnel_container_open(client, "shop", "leases", &work.leases,
                                   &error);
    if (!rc)
        rc = runnel_processor_start(orders, &work, &printer, &worker, &error);
    if (rc)
        fprintf(stderr, "printer: %s\n", error.message);
    else
        getchar();

    runnel_processor_stop(worker);
    runnel_container_close(work.leases);
    runnel_container_close(orders);
    runnel_client_close(client);
    return rc ? 1 : 0;
}
