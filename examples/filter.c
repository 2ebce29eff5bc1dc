/* filter.c -- reads the feed and keeps the readings above a temperature.
 *
 *   filter DEGREES     prints them, until it has caught up
 */
#include "example.h"

#include <string.h>

int main(int argc, char **argv)
{
    double limit = argc > 1 ? strtod(argv[1], NULL) : 30;
    runnel_container *readings = open_container("iot", "readings");
    runnel_batch *batch = NULL;
    runnel_feed *feed = NULL;
    runnel_error error;
    runnel_code rc = runnel_feed_open(readings, NULL, &feed, &error);
    size_t count = 1;

    while (!rc && count > 0) {
        rc = runnel_feed_next(feed, 0, &batch, &error);
        count = rc ? 0 : runnel_batch_count(batch);
        for (size_t i = 0; i < count; i++) {
            runnel_bytes json = runnel_batch_at(batch, i)->json;
            char device[32], degrees[32];

            if (strtod(member(json, "temperature", degrees, 32), NULL) > limit)
                printf("%s %s\n", member(json, "device", device, 32), degrees);
        }
        if (!rc)
            runnel_batch_close(batch);
    }
    if (rc)
        fprintf(stderr, "filter: %s\n", error.message);
    runnel_feed_close(feed);
    runnel_container_close(readings);
    return rc ? 1 : 0;
}
