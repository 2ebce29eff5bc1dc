/* feed.c -- the change feed, pulled; see runnel/client.h. */
#include "client/api/container.h"
#include "client/feed/cursor.h"
#include "client/http/options.h"

struct runnel_feed {
    struct rn_feed_cursor *cursor;
};

runnel_code runnel_feed_open(runnel_container *container,
                             const runnel_feed_options *options,
                             runnel_feed **out, runnel_error *error)
{
    runnel_feed_options known = { RUNNEL_FEED_INIT };
    runnel_feed *feed;
    runnel_code code = RUNNEL_OK;

    if (options)
        code = rn_options_copy(&known, sizeof(known), options, error);
    if (code)
        return code;
    feed = rn_new(sizeof(*feed));
    if (!feed)
        return rn_error_take(error, RN_NOMEM, NULL);
    code = rn_feed_cursor_open(container->inner, &known, &feed->cursor, error);
    if (code)
        rn_free(feed);
    else if (out)
        *out = feed;
    else
        runnel_feed_close(feed);
    return code;
}

runnel_code runnel_feed_next(runnel_feed *feed, uint32_t wait_ms,
                             runnel_batch **out, runnel_error *error)
{
    runnel_batch *batch = NULL;
    runnel_code code =
        rn_feed_cursor_next(feed->cursor, wait_ms, &batch, error);

    if (!code && out)
        *out = batch;
    else
        runnel_batch_close(batch);
    return code;
}

const char *runnel_feed_token(const runnel_feed *feed)
{
    return rn_feed_cursor_token(feed->cursor);
}

void runnel_feed_cancel(runnel_feed *feed)
{
    rn_feed_cursor_cancel(feed->cursor);
}

void runnel_feed_close(runnel_feed *feed)
{
    if (!feed)
        return;
    rn_feed_cursor_close(feed->cursor);
    rn_free(feed);
}
