/* manual.c -- appends changes to a file and checkpoints after fsync.
 *
 * Up to 1,000 changes of a lease are not checkpointed; after a crash they are
 * delivered again. */
#define _POSIX_C_SOURCE 200809L

#include "example.h"

#include <unistd.h>

struct archive {
    FILE *file;
    size_t unsaved;
};

static runnel_verdict append(void *context, const char *lease,
                             const runnel_batch *batch)
{
    struct archive *a = context;
    runnel_error error;

    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        runnel_bytes json = runnel_batch_at(batch, i)->json;
        fprintf(a->file, "%.*s\n", (int)json.len, json.at);
    }
    a->unsaved += runnel_batch_count(batch);
    if (a->unsaved < 1000)
        return RUNNEL_DONE; /* processed; no checkpoint yet */

    if (fflush(a->file) || fsync(fileno(a->file))) {
        runnel_batch_explain(batch, "the archive cannot be written");
        return RUNNEL_AGAIN;
    }
    a->unsaved = 0;
    if (runnel_batch_checkpoint(batch, NULL, &error))
        fprintf(stderr, "archive: %s\n", error.message);
    return RUNNEL_DONE;
}

int main(void)
{
    runnel_processor_options work = { RUNNEL_PROCESSOR_INIT,
                                      .name = "archive",
                                      .leases =
                                          open_container("shop", "leases"),
                                      .create_leases = true,
                                      .threads = 1,
                                      .manual_checkpoint = true };
    runnel_container *orders = open_container("shop", "orders");
    struct archive archive = { .file = fopen("orders.ndjson", "a") };
    runnel_observer observer = { .context = &archive, .changes = append };
    runnel_processor *worker = NULL;
    runnel_error error;

    if (runnel_processor_start(orders, &work, &observer, &worker, &error))
        fprintf(stderr, "archive: %s\n", error.message);
    else
        getchar();

    runnel_processor_stop(worker);
    runnel_container_close(work.leases);
    runnel_container_close(orders);
    fclose(archive.file);
    return worker ? 0 : 1;
}
