/* window.c -- sums up a stream of events in windows of a minute.
 *
 * An event carries its minute.  When events arrive, their windows are summed up
 * by a query and stored as documents of their own.  A repeated delivery after a
 * crash sums up the same window once more, with the same result; a late event
 * corrects its window.
 */
#include "example.h"

enum { WINDOWS_MAX = 64 };

struct sink {
    runnel_container *events, *windows;
};

/* {"n":3,"sum":60} of one minute. */
static runnel_code sum_up(struct sink *s, const char *minute, runnel_page **out,
                          runnel_error *error)
{
    char parameters[128];
    runnel_query_options options = {
        RUNNEL_QUERY_INIT,
        .text = "SELECT COUNT(1) AS n, SUM(c[\"value\"]) AS total FROM c "
                "WHERE c.minute = @minute",
        .parameters = parameters,
    };
    runnel_query *query = NULL;
    runnel_page *page = NULL;
    runnel_code rc;

    snprintf(parameters, sizeof(parameters),
             "[{\"name\":\"@minute\",\"value\":\"%s\"}]", minute);
    rc = runnel_query_open(s->events, &options, &query, error);
    while (!rc && !(rc = runnel_query_next(query, &page, error)) && page) {
        if (runnel_page_count(page) == 1)
            *out = page;
        else
            runnel_page_close(page);
    }
    runnel_query_close(query);
    return rc;
}

static runnel_code store(struct sink *s, const char *minute,
                         runnel_error *error)
{
    char json[256], n[32], total[32];
    runnel_page *page = NULL;
    runnel_code rc = sum_up(s, minute, &page, error);

    if (rc || !page)
        return rc;
    member(runnel_page_at(page, 0), "n", n, sizeof(n));
    member(runnel_page_at(page, 0), "total", total, sizeof(total));
    snprintf(json, sizeof(json), "{\"id\":\"%s\",\"events\":%s,\"total\":%s}",
             minute, n, total);
    runnel_page_close(page);
    rc = runnel_item_upsert(s->windows, runnel_text(json), NULL, NULL, error);
    printf("window %s: %s events, total %s\n", minute, n, total);
    fflush(stdout);
    return rc;
}

static runnel_verdict aggregate(void *context, const char *lease,
                                const runnel_batch *batch)
{
    char minutes[WINDOWS_MAX][24];
    size_t count = 0;
    runnel_error error;

    (void)lease;
    for (size_t i = 0; i < runnel_batch_count(batch); i++) {
        char minute[24];
        size_t j = 0;

        member(runnel_batch_at(batch, i)->json, "minute", minute, 24);
        while (j < count && strcmp(minutes[j], minute) != 0)
            j++;
        if (j == count && count < WINDOWS_MAX)
            memcpy(minutes[count++], minute, sizeof(minute));
    }
    for (size_t j = 0; j < count; j++) {
        if (store(context, minutes[j], &error)) {
            runnel_batch_explain(batch, error.message);
            return RUNNEL_AGAIN;
        }
    }
    return RUNNEL_DONE;
}

int main(void)
{
    struct sink sink = { .events = open_container("iot", "events"),
                         .windows = open_container("iot", "windows") };
    runnel_container *leases = open_container("iot", "leases");
    runnel_feed_options feed = { RUNNEL_FEED_INIT,
                                 .start = RUNNEL_START_BEGINNING };
    runnel_processor_options work = {
        RUNNEL_PROCESSOR_INIT, .name = "window", .leases = leases,
        .create_leases = true, .feed = &feed,    .batch_limit = WINDOWS_MAX
    };
    runnel_observer observer = { .context = &sink, .changes = aggregate };
    int status = run_until_eof(sink.events, &work, &observer);

    runnel_container_close(leases);
    runnel_container_close(sink.windows);
    runnel_container_close(sink.events);
    return status;
}
