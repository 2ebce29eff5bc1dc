/* migrate.c -- moves a container to another partition key without downtime.
 *
 * Writers go on writing to the old container.  This program copies everything
 * from the beginning, then follows the changes; when the lag is 0, let writers
 * use the new container and stop it.  Upserts make a repeated change harmless,
 * and the changes of a document come in order.  It follows no deletes, and an
 * order whose city changes leaves a copy under the old one: `runnel copy` cares
 * for both.
 */
#define _POSIX_C_SOURCE 200809L

#include "example.h"

#include <string.h>
#include <unistd.h>

static runnel_verdict copy(void *context, const char *lease,
                           const runnel_batch *batch)
{
    size_t count = runnel_batch_count(batch);
    runnel_operation *operations = calloc(count, sizeof(*operations));
    runnel_verdict verdict = RUNNEL_DONE;
    runnel_results *results = NULL;
    runnel_error error;

    (void)lease;
    if (!operations)
        return RUNNEL_AGAIN;
    for (size_t i = 0; i < count; i++)
        operations[i] =
            (runnel_operation){ .kind = RUNNEL_UPSERT,
                                .json = runnel_batch_at(batch, i)->json };
    if (runnel_items_bulk(context, operations, count, &results, &error)) {
        runnel_batch_explain(batch, error.message);
        verdict = RUNNEL_AGAIN;
    }
    for (size_t i = 0; verdict == RUNNEL_DONE && i < count; i++)
        if (runnel_results_at(results, i)->code)
            verdict = RUNNEL_AGAIN; /* the batch again: upserts do no harm */
    runnel_results_close(results);
    free(operations);
    return verdict;
}

static bool print_lag(void *context, const runnel_lag *lag)
{
    (void)context;
    if (!lag->lease) {
        printf("%lld changes behind\n", (long long)lag->behind);
        fflush(stdout);
    }
    return true;
}

int main(void)
{
    runnel_container *from = open_container("shop", "orders");
    runnel_container *to = open_container("shop", "by-city");
    runnel_container *leases = open_container("shop", "leases");
    runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                 .start = RUNNEL_START_BEGINNING };
    runnel_processor_options work = { RUNNEL_PROCESSOR_INIT, .name = "migrate",
                                      .leases = leases, .create_leases = true,
                                      .feed = &feed };
    runnel_lease_set set = { RUNNEL_LEASE_SET_INIT, .source = from,
                             .name = "migrate", .leases = leases };
    runnel_observer observer = { .context = to, .changes = copy };
    runnel_estimator *lag = NULL;
    int status;

    if (runnel_estimator_start(&set, 500, print_lag, NULL, &lag, NULL))
        fprintf(stderr, "migrate: the lag cannot be watched\n");
    status = run_until_eof(from, &work, &observer);
    runnel_estimator_stop(lag);
    runnel_container_close(leases);
    runnel_container_close(to);
    runnel_container_close(from);
    return status;
}
