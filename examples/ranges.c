/* ranges.c -- the sample of the 2017 article: reads the feed of every range,
 * one change a page, with a table of checkpoints; then two devices report, and
 * only their two documents come. */
#define _POSIX_C_SOURCE 200809L

#include "example.h"

#include <string.h>

/* Prints the changes of one range after `*token`, and moves `*token`. */
static runnel_code read_range(runnel_container *c, const runnel_range *range,
                              char **token, runnel_error *error)
{
    runnel_feed_options options = { RUNNEL_FEED_INIT, .range = range->text,
                                    .token = *token, .page_limit = 1 };
    runnel_batch *batch = NULL;
    runnel_feed *feed = NULL;
    size_t count = 1;
    runnel_code rc;

    rc = runnel_feed_open(c, &options, &feed, error);
    while (!rc && count > 0) {
        rc = runnel_feed_next(feed, 0, &batch, error);
        if (rc)
            break;
        count = runnel_batch_count(batch);
        for (size_t i = 0; i < count; i++) {
            runnel_bytes json = runnel_batch_at(batch, i)->json;
            printf("range %s: %.*s\n", range->id, (int)json.len, json.at);
        }
        runnel_batch_close(batch);
    }
    if (!rc) {
        free(*token);
        *token = strdup(runnel_feed_token(feed));
    }
    runnel_feed_close(feed);
    return rc;
}

static runnel_code read_all(runnel_container *c, const runnel_ranges *ranges,
                            char **checkpoints, runnel_error *error)
{
    runnel_code rc = RUNNEL_OK;

    for (size_t i = 0; !rc && i < runnel_ranges_count(ranges); i++)
        rc = read_range(c, runnel_ranges_at(ranges, i), &checkpoints[i], error);
    return rc;
}

int main(void)
{
    const char *one = "{\"id\":\"1\",\"device\":\"XMS-0001\",\"reading\":71.3}";
    const char *two = "{\"id\":\"2\",\"device\":\"XMS-0002\",\"reading\":68.9}";
    runnel_container *readings = open_container("iot", "readings");
    runnel_ranges *ranges = NULL;
    char **checkpoints = NULL;
    runnel_error error;
    runnel_code rc = runnel_ranges_read(readings, 0, &ranges, &error);

    if (!rc) {
        checkpoints = calloc(runnel_ranges_count(ranges), sizeof(char *));
        rc = read_all(readings, ranges, checkpoints, &error); /* everything */
    }
    if (!rc)
        rc = runnel_item_upsert(readings, runnel_text(one), NULL, NULL, &error);
    if (!rc)
        rc = runnel_item_upsert(readings, runnel_text(two), NULL, NULL, &error);
    if (!rc)
        rc = read_all(readings, ranges, checkpoints, &error); /* these two */
    if (rc)
        fprintf(stderr, "ranges: %s\n", error.message);

    for (size_t i = 0; checkpoints && i < runnel_ranges_count(ranges); i++)
        free(checkpoints[i]);
    free(checkpoints);
    runnel_ranges_close(ranges);
    runnel_container_close(readings);
    return rc ? 1 : 0;
}
