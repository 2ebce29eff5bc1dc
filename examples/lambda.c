/* lambda.c -- a lambda architecture with one feed: the master data set, a speed
 * layer and a batch layer.
 *
 * Writers append orders to a container, which is the master data set.  Two
 * processors of different names follow it, each with every change:
 *
 *   speed   adds each new order to the totals at once; a repeated delivery
 *           after a crash may count an order twice
 *   batch   when it has caught up, recomputes the totals from the container,
 *           exactly, and puts them in place of the speed layer's
 */
#define _POSIX_C_SOURCE 200809L

#include "example.h"

#include <pthread.h>
#include <string.h>

struct totals {
    pthread_mutex_t lock;
    long orders, amount; /* what users see */
    runnel_container *master;
};

static void show(const struct totals *t, const char *layer)
{
    printf("%s: %ld orders, %ld in all\n", layer, t->orders, t->amount);
    fflush(stdout);
}

static long amount_of(runnel_bytes json)
{
    char text[32];

    return strtol(member(json, "total", text, 32), NULL, 10);
}

static runnel_verdict add(void *context, const char *lease,
                          const runnel_batch *batch)
{
    struct totals *t = context;

    (void)lease;
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        t->orders++;
        t->amount += amount_of(runnel_batch_at(batch, i)->json);
    }
    show(t, "speed");
    pthread_mutex_unlock(&t->lock);
    return RUNNEL_DONE;
}

/* Reads all of the master data set. */
static runnel_code sum_up(runnel_container *master, long *orders, long *amount,
                          runnel_error *error)
{
    runnel_query_options all = { RUNNEL_QUERY_INIT };
    runnel_query *query = NULL;
    runnel_page *page = NULL;
    runnel_code rc = runnel_query_open(master, &all, &query, error);

    while (!rc && !(rc = runnel_query_next(query, &page, error)) && page) {
        for (size_t i = 0; i < runnel_page_count(page); i++) {
            *orders += 1;
            *amount += amount_of(runnel_page_at(page, i));
        }
        runnel_page_close(page);
    }
    runnel_query_close(query);
    return rc;
}

static runnel_verdict recompute(void *context, const char *lease,
                                const runnel_batch *batch)
{
    struct totals *t = context;
    long orders = 0, amount = 0;
    runnel_error error;

    (void)lease;
    if (sum_up(t->master, &orders, &amount, &error)) {
        runnel_batch_explain(batch, error.message);
        return RUNNEL_AGAIN;
    }
    pthread_mutex_lock(&t->lock);
    t->orders = orders;
    t->amount = amount;
    show(t, "batch");
    pthread_mutex_unlock(&t->lock);
    return RUNNEL_DONE;
}

int main(void)
{
    static struct totals totals = { .lock = PTHREAD_MUTEX_INITIALIZER };
    runnel_container *leases = open_container("shop", "leases");
    runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                 .start = RUNNEL_START_BEGINNING };
    runnel_processor_options speed = { RUNNEL_PROCESSOR_INIT, .name = "speed",
                                       .leases = leases, .create_leases = true,
                                       .feed = &feed };
    runnel_processor_options slow = { RUNNEL_PROCESSOR_INIT, .name = "batch",
                                      .leases = leases, .create_leases = true,
                                      .feed = &feed };
    runnel_observer adder = { .context = &totals, .changes = add };
    runnel_observer summer = { .context = &totals, .changes = recompute };
    runnel_processor *fast = NULL;
    runnel_error error;
    int status = 1;

    totals.master = open_container("shop", "orders");
    if (runnel_processor_start(totals.master, &speed, &adder, &fast, &error))
        fprintf(stderr, "lambda: %s\n", error.message);
    else
        status = run_until_eof(totals.master, &slow, &summer);
    runnel_processor_stop(fast);
    runnel_container_close(totals.master);
    runnel_container_close(leases);
    return status;
}
