/* tail.c -- `runnel tail`: follow the change feed of a container. */
#include "base/env.h"
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/partition.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"
#include "tools/common/start.h"
#include "tools/tail/checkpoint.h"
#include "tools/tail/filter.h"
#include "tools/tail/show.h"

enum {
    WAIT_MS = 60000,
    RETRY_MS = 1000,
    SYNC_NS = 1000000000, /* between checkpoints while nothing is shown */
    ARENA_MAX = 1 << 20,
    LINE_MAX_BYTES = 64 << 20,
};

struct tail {
    struct rn_target target;
    struct rn_tail_checkpoint checkpoint;
    struct rn_arena arena; /* of the filters */
    struct rn_filter *filters;
    struct rn_buf pk, line;
    struct rn_shown shown;
    runnel_feed *feed;
    char container[600];
    bool once, all_versions;
};

/* ---- one batch ----------------------------------------------------------- */

/* An empty text leaves no nodes. */
static int parse(struct rn_json *json, runnel_bytes text)
{
    struct rn_err err = { 0 };

    json->count = 0;
    if (text.len && rn_json_parse(json, rn_view_lent(text), &err))
        return rn_report(RN_EXIT_FAILED, "a document of the feed: %s",
                         err.text);
    return RN_EXIT_OK;
}

/* A delete is judged by what was deleted, if the server sent that. */
static int show_change(struct tail *t, const runnel_change *change,
                       bool *is_shown)
{
    struct rn_shown *s = &t->shown;
    bool is_raw = !rn_out_is_pretty() && !t->all_versions && !t->filters;
    int status = RN_EXIT_OK;

    s->change = change;
    if (!is_raw)
        status = parse(&s->after, change->json);
    if (!status && !is_raw)
        status = parse(&s->before, change->previous);
    if (status)
        return status;
    if (t->filters &&
        !rn_filters_match(t->filters, s->after.count ? &s->after : &s->before))
        return RN_EXIT_OK;
    *is_shown = true;
    return rn_out_is_pretty() ? rn_show_pretty(s)
                              : rn_show_json(s, &t->line, t->all_versions);
}

/* Stores the position when its changes are out of our hands: at once if one was
 * shown or nothing is left to read, else once a second. */
static int keep_position(struct tail *t, const runnel_batch *batch,
                         bool is_urgent)
{
    struct rn_env *env = rn_env_real();
    struct rn_tail_checkpoint *c = &t->checkpoint;

    if (!c->path || (!is_urgent && c->written_ns &&
                     env->ops->mono_ns(env) - c->written_ns < SYNC_NS))
        return RN_EXIT_OK;
    return rn_tail_checkpoint_write(c, runnel_batch_token(batch));
}

static int show_batch(struct tail *t, const runnel_batch *batch)
{
    size_t count = runnel_batch_count(batch);
    bool is_shown = false;
    int status = RN_EXIT_OK;

    for (size_t i = 0; !status && i < count; i++)
        status = show_change(t, runnel_batch_at(batch, i), &is_shown);
    rn_out_flush();
    return status ? status : keep_position(t, batch, is_shown || !count);
}

/* ---- the loop ------------------------------------------------------------ */

/* Waits before the next attempt; a signal ends the wait. */
static void pause_before_retry(const runnel_error *error, bool is_first)
{
    if (is_first)
        (void)rn_report(RN_EXIT_OK, "%s; trying again", error->message);
    (void)rn_signals_pause(RETRY_MS);
}

/* A server that goes away is waited for, once it has answered. */
static int follow(struct tail *t)
{
    bool has_answered = false, is_failing = false, is_caught_up = false;
    runnel_error error = { 0 };
    int status = RN_EXIT_OK;

    while (!status && !(t->once && is_caught_up)) {
        runnel_batch *batch = NULL;
        /* The first answer comes at once: "now" is fixed and kept. */
        uint32_t wait_ms = has_answered && !t->once ? WAIT_MS : 0;
        runnel_code rc = runnel_feed_next(t->feed, wait_ms, &batch, &error);

        if (rn_interrupted()) {
            status = RN_EXIT_INTERRUPTED;
        } else if (!rc) {
            status = show_batch(t, batch);
            is_caught_up = runnel_batch_count(batch) == 0;
            has_answered = true;
            is_failing = false;
        } else if (has_answered && !t->once && runnel_code_is_transient(rc)) {
            pause_before_retry(&error, !is_failing);
            is_failing = true;
        } else {
            status = rn_report_request(&error, &t->target, NULL);
        }
        runnel_batch_close(batch);
    }
    return status;
}

static int open_feed(const struct rn_args *args, struct tail *t)
{
    runnel_feed_options options = { RUNNEL_FEED_INIT };
    const char *pk = rn_args_text(args, "pk");
    const char *start = rn_args_text(args, "start");
    runnel_error error = { 0 };

    if (!rn_start_parse(start, &options)) {
        return rn_report(RN_EXIT_USAGE,
                         "--start is beginning, now or an instant such as "
                         "2026-11-18T08:30:00Z, not '%s'",
                         start);
    }
    if (pk && rn_partition_print(pk, &t->pk))
        return rn_report(RN_EXIT_USAGE, "--pk is too long");
    options.mode = t->all_versions ? RUNNEL_FEED_ALL : RUNNEL_FEED_LATEST;
    options.partition_key = pk ? t->pk.at : NULL;
    options.range = rn_args_text(args, "range");
    options.token = t->checkpoint.token.len ? t->checkpoint.token.at
                                            : rn_args_text(args, "token");
    if (runnel_feed_open(t->target.container, &options, &t->feed, &error))
        return rn_report_request(&error, &t->target, NULL);
    return RN_EXIT_OK;
}

static int open_tail(const struct rn_args *args, struct tail *t)
{
    const char *range = rn_args_text(args, "range");
    const char *pk = rn_args_text(args, "pk");
    int status = rn_target_open(args, &t->target);

    if (status)
        return status;
    t->once = rn_args_flag(args, "once");
    t->all_versions = rn_args_flag(args, "all-versions");
    snprintf(t->container, sizeof(t->container), "%s/%s",
             t->target.database_name, t->target.container_name);
    t->checkpoint.path = rn_args_text(args, "checkpoint");
    t->checkpoint.container = t->container;
    t->checkpoint.all_versions = t->all_versions;
    t->checkpoint.scope = range ? range : pk ? pk : "";
    if (range && pk)
        return rn_report(RN_EXIT_USAGE, "give --range or --pk, not both");
    status = rn_filters_parse(args, &t->arena, &t->filters);
    if (!status)
        status = rn_tail_checkpoint_read(&t->checkpoint);
    return status ? status : open_feed(args, t);
}

static int run(const struct rn_args *args)
{
    struct tail t = { .arena = RN_ARENA_INIT(ARENA_MAX),
                      .pk = RN_BUF_INIT(RN_KEY_MAX),
                      .line = RN_BUF_INIT(LINE_MAX_BYTES),
                      .checkpoint.token = RN_BUF_INIT(RN_CHECKPOINT_MAX) };
    int status;

    rn_json_init(&t.shown.after, NULL);
    rn_json_init(&t.shown.before, NULL);
    status = open_tail(args, &t);
    if (!status)
        status = follow(&t);
    runnel_feed_close(t.feed);
    rn_target_close(&t.target);
    rn_filters_release(t.filters);
    rn_json_release(&t.shown.after);
    rn_json_release(&t.shown.before);
    rn_arena_release(&t.arena);
    rn_buf_release(&t.pk);
    rn_buf_release(&t.line);
    rn_buf_release(&t.checkpoint.token);
    return status;
}

static const struct rn_option options[] = {
    { "start", RN_OPTION_TEXT, "WHEN", "now", NULL,
      "Where to begin: beginning, now, or an instant such as "
      "2026-11-18T08:30:00Z." },
    { "token", RN_OPTION_TEXT, NULL, NULL, NULL,
      "Begin behind this continuation of a feed, whatever --start says." },
    { "checkpoint", RN_OPTION_FILE, NULL, NULL, NULL,
      "Keep the position in this file and begin there if it exists.  What was "
      "printed before a crash may be printed again; nothing is left out." },
    { "all-versions", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Follow every version and deletes, not only the latest version of each "
      "document.  On a terminal, print what changed, if the container keeps "
      "previous images." },
    { "range", RN_OPTION_TEXT, "RANGE", NULL, NULL,
      "Follow this range only: MIN-MAX, or the id of a partition key range." },
    { "pk", RN_OPTION_TEXT, "KEY", NULL, NULL,
      "Follow this partition key only: JSON, or else a string.  An array is a "
      "hierarchical key or a prefix of one." },
    { "filter", RN_OPTION_LIST, "PATH=VALUE", NULL, NULL,
      "Print only changes whose document has this value at this path, such "
      "as /status=open; a delete by what was deleted.  May be given several "
      "times; all must hold." },
    { "once", RN_OPTION_FLAG, NULL, NULL, NULL,
      "End when there is nothing more to read." },
    { 0 },
};

const struct rn_tool rn_tool_tail = {
    .name = "tail",
    .usage = "",
    .summary = "Follow the changes of a container",
    .help =
        "Prints each change as it comes, until it is interrupted.  Order "
        "holds for each partition key.  Splits and merges are followed; a "
        "server that goes away is waited for.\n\nIn a pipe or with --json each "
        "line is JSON: the document, or with --all-versions an object with "
        "kind, id, partitionKey, lsn, previousLsn, time, document and "
        "previous.",
    .example = "  runnel tail --container shop/orders\n"
               "  runnel tail --container shop/orders --start beginning "
               "--once | jq .id\n"
               "  runnel tail --container shop/orders --all-versions "
               "--filter status=open\n"
               "  runnel tail --container shop/orders --checkpoint "
               "orders.position >>log\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .options = options,
    .run = run,
};
