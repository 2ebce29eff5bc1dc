/* archive.c -- a cold archive: appends changes to a file, and stores its
 * position itself, after fsync.
 *
 * Up to AT_LEAST changes have no checkpoint yet; after a crash they come again,
 * so a line may stand in the archive twice, but none is missing. */
#define _POSIX_C_SOURCE 200809L

#include "example.h"

#include <unistd.h>

enum { AT_LEAST = 100 };

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
    if (fflush(a->file) || (a->unsaved >= AT_LEAST && fsync(fileno(a->file)))) {
        runnel_batch_explain(batch, "the archive cannot be written");
        return RUNNEL_AGAIN;
    }
    if (a->unsaved < AT_LEAST)
        return RUNNEL_DONE; /* processed; no checkpoint yet */

    a->unsaved = 0;
    if (runnel_batch_checkpoint(batch, NULL, &error))
        fprintf(stderr, "archive: %s\n", error.message);
    return RUNNEL_DONE;
}

int main(int argc, char **argv)
{
    runnel_container *orders = open_container("shop", "orders");
    runnel_container *leases = open_container("shop", "leases");
    runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                 .start = RUNNEL_START_BEGINNING };
    runnel_processor_options work = {
        RUNNEL_PROCESSOR_INIT,    .name = "archive", .leases = leases,
        .create_leases = true,    .feed = &feed,     .threads = 1,
        .manual_checkpoint = true
    };
    struct archive archive = { .file = fopen(
                                   argc > 1 ? argv[1] : "orders.ndjson", "a") };
    runnel_observer observer = { .context = &archive, .changes = append };
    int status = 1;

    if (!archive.file)
        perror("archive");
    else
        status = run_until_eof(orders, &work, &observer);
    if (archive.file && fclose(archive.file))
        status = 1;
    runnel_container_close(leases);
    runnel_container_close(orders);
    return status;
}
