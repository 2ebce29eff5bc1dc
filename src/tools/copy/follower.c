/* follower.c -- a lane of a copy: reads an interval of the feed and repeats its
 * changes in the target.  copy_state.h has the steps. */
#include "tools/copy/follower.h"

#include "tools/common/report.h"
#include "tools/common/signals.h"
#include "tools/copy/replay.h"
#include "tools/transfer/patience.h"

enum { PAGE_CHANGES = 1000, WAIT_MS = 1000 };

static int failed(const struct rn_copy *c, const runnel_error *error)
{
    return rn_lanes_stop() ? rn_report_request(error, &c->source, NULL)
                           : RN_LANE_STOPPED;
}

static int set_token(struct rn_copy *c, struct rn_buf *to, const char *token)
{
    enum rn_code rc;

    pthread_mutex_lock(&c->lock);
    rn_buf_clear(to);
    rc = rn_buf_add(to, rn_view_of(token, strlen(token) + 1));
    pthread_mutex_unlock(&c->lock);
    return rc ? rn_report(RN_EXIT_FAILED, "the continuation is too long")
              : RN_EXIT_OK;
}

static int open_feed(struct rn_copy *c, const struct rn_copy_lane *lane,
                     bool is_marking, runnel_feed **out)
{
    bool is_all = is_marking || (lane->is_following && c->from.keeps_versions);
    runnel_feed_options options = { RUNNEL_FEED_INIT };
    runnel_error error = { 0 };

    options.mode = is_all ? RUNNEL_FEED_ALL : RUNNEL_FEED_LATEST;
    options.start = is_marking ? RUNNEL_START_NOW : RUNNEL_START_BEGINNING;
    options.token = !is_marking && lane->token.len ? lane->token.at : NULL;
    options.range = lane->interval;
    options.page_limit = PAGE_CHANGES;
    return runnel_feed_open(c->source.container, &options, out, &error)
               ? failed(c, &error)
               : RN_EXIT_OK;
}

/* The next batch, with patience; `*batch` stays NULL if the lane is stopped. */
static int next_batch(struct rn_copy *c, runnel_feed *feed, uint32_t wait_ms,
                      runnel_batch **batch)
{
    struct rn_patience patience = { 0 };
    runnel_error error = { 0 };

    while (!rn_lanes_stopped()) {
        if (!runnel_feed_next(feed, wait_ms, batch, &error))
            return RN_EXIT_OK;
        if (!rn_patience_wait(&patience, &error))
            return failed(c, &error);
    }
    return RN_LANE_STOPPED;
}

/* Notes where the interval is now, for all versions. */
static int mark_now(struct rn_copy *c, struct rn_copy_lane *lane)
{
    runnel_feed *feed = NULL;
    bool is_drained = false;
    int status = open_feed(c, lane, true, &feed);

    while (!status && !is_drained) {
        runnel_batch *batch = NULL;

        status = next_batch(c, feed, 0, &batch);
        is_drained = !status && runnel_batch_count(batch) == 0;
        runnel_batch_close(batch);
    }
    if (!status)
        status = set_token(c, &lane->all_token, runnel_feed_token(feed));
    runnel_feed_close(feed);
    return status;
}

static void take_refused(void *context, size_t i, const runnel_error *error)
{
    char why[sizeof(error->message)];

    snprintf(why, sizeof(why), "%.*s", RN_FMT(rn_report_sentence(error)));
    rn_replay_refuse(context, i, why);
}

static int write_batch(struct rn_copy *c, struct rn_replay *replay,
                       const runnel_batch *batch)
{
    const struct rn_bulk bulk = { .container = c->target.container,
                                  .schema = &c->to,
                                  .refused = take_refused,
                                  .context = replay };
    runnel_error error = { 0 };
    int status;

    if (!c->has_same_key)
        pthread_mutex_lock(&c->moving);
    status = rn_replay_make(replay, batch);
    if (!status &&
        rn_bulk_write(&bulk, replay->operations, replay->count, &error)) {
        status = rn_lanes_stop()
                     ? rn_report_error_at(&error, "writing to %s", c->to.name)
                     : RN_LANE_STOPPED;
    }
    if (!c->has_same_key)
        pthread_mutex_unlock(&c->moving);
    return status;
}

/* Repeats a batch and moves the lane behind it. */
static int apply(struct rn_copy *c, struct rn_copy_lane *lane,
                 struct rn_replay *replay, const runnel_batch *batch)
{
    int status = write_batch(c, replay, batch);

    if (!status)
        status = set_token(c, &lane->token, runnel_batch_token(batch));
    if (status)
        return status;
    pthread_mutex_lock(&c->lock);
    c->copied += replay->upserts;
    c->deleted += replay->deletes;
    c->refused += replay->refused;
    pthread_mutex_unlock(&c->lock);
    return RN_EXIT_OK;
}

/* From BULK to FOLLOW. */
static int begin_following(struct rn_copy *c, struct rn_copy_lane *lane,
                           runnel_feed **feed)
{
    struct rn_buf bulk_token = lane->token;

    pthread_mutex_lock(&c->lock);
    lane->is_following = true;
    if (c->from.keeps_versions) {
        lane->token = lane->all_token;
        lane->all_token = bulk_token;
        rn_buf_clear(&lane->all_token);
    }
    pthread_mutex_unlock(&c->lock);
    if (!c->from.keeps_versions)
        return RN_EXIT_OK;
    runnel_feed_close(*feed);
    *feed = NULL;
    return open_feed(c, lane, false, feed);
}

/* One batch, or the end of it; `*is_over` becomes true once caught up. */
static int step(struct rn_copy *c, struct rn_copy_lane *lane,
                struct rn_replay *replay, runnel_feed **feed, bool *is_over)
{
    bool follows = rn_args_flag(c->args, "follow");
    uint32_t wait_ms = lane->is_following && follows ? WAIT_MS : 0;
    runnel_batch *batch = NULL;
    int status = next_batch(c, *feed, wait_ms, &batch);

    if (status)
        return status;
    if (runnel_batch_count(batch))
        status = apply(c, lane, replay, batch);
    else if (lane->is_following)
        *is_over = !follows;
    else
        status = begin_following(c, lane, feed);
    runnel_batch_close(batch);
    return status;
}

int rn_copy_run_lane(void *context, size_t number)
{
    struct rn_copy *c = context;
    struct rn_copy_lane *lane = &c->lanes[number];
    runnel_feed *feed = NULL;
    struct rn_replay replay;
    bool is_over = false;
    int status = RN_EXIT_OK;

    rn_replay_init(&replay, c);
    if (c->from.keeps_versions && !lane->is_following && !lane->all_token.len)
        status = mark_now(c, lane);
    if (!status)
        status = open_feed(c, lane, false, &feed);
    while (!status && !is_over)
        status = step(c, lane, &replay, &feed, &is_over);
    runnel_feed_close(feed);
    rn_replay_release(&replay);
    return rn_interrupted() ? RN_EXIT_INTERRUPTED : status;
}
