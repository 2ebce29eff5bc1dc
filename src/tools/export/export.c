/* export.c -- `runnel export`: write the documents of a container to a file.
 *
 * The container is read by key, not by change, so that a document comes once
 * even if it is written meanwhile.  Several lanes read an interval each, a page
 * at a time; a query and a partition key are one lane.  A page and the
 * continuation behind it change hands under one lock, so that the state file
 * always describes the output up to some byte.
 */
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/partition.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"
#include "tools/export/sink.h"
#include "tools/transfer/document.h"
#include "tools/transfer/lanes.h"
#include "tools/transfer/patience.h"
#include "tools/transfer/schema.h"
#include "tools/transfer/state.h"

#include <pthread.h>
#include <unistd.h>

enum {
    PAGE_ROWS = 1000,
    CHUNK_MAX = 256 << 20, /* of one page; servers send 4 MiB */
    TOKEN_MAX = 1 << 20,
    ARENA_MAX = 1 << 20,
};

struct lane {
    const char *interval; /* NULL: the whole query */
    struct rn_buf token;  /* with a NUL; empty: at the start */
    bool is_over;
};

struct export
{
    const struct rn_args *args;
    struct rn_target target;
    struct rn_schema schema;
    struct rn_buf run, key;
    struct rn_arena arena;
    struct rn_state state;
    struct rn_progress progress;
    bool keeps_system;
    struct lane lanes[RN_LANES_MAX];
    size_t lane_count;

    pthread_mutex_t lock; /* of what follows, and of the lanes' positions */
    struct rn_export_sink sink;
};

/* ---- a lane -------------------------------------------------------------- */

/* A row as one line.  The page was parsed already: a row that is on one line
 * and keeps all members is written as it came. */
static enum rn_code print_row(const struct export *e, struct rn_json *json,
                              struct rn_view row, struct rn_buf *text,
                              struct rn_buf *chunk)
{
    struct rn_json_out o = RN_JSON_OUT_INIT(text);
    enum rn_code rc;

    if (e->keeps_system && !memchr(row.at, '\n', row.len))
        return rn_export_sink_print(&e->sink, row, chunk);
    rc = rn_json_parse(json, row, NULL);
    rn_buf_clear(text);
    if (!rc && e->keeps_system) {
        rn_json_out_value(&o, json, 0);
        rc = rn_json_out_finish(&o);
    } else if (!rc) {
        rc = rn_document_strip(json, text);
    }
    return rc ? rc : rn_export_sink_print(&e->sink, rn_buf_view(text), chunk);
}

/* Writes rows and moves the lane behind them; `token` NULL: to its end. */
static int advance(struct export *e, struct lane *lane, struct rn_view chunk,
                   size_t rows, const char *token)
{
    int status = RN_LANE_STOPPED;

    pthread_mutex_lock(&e->lock);
    if (!rn_lanes_stopped()) {
        status = rn_export_sink_add(&e->sink, chunk, rows);
        if (!status) {
            rn_buf_clear(&lane->token);
            lane->is_over = !token;
        }
        if (!status && token &&
            rn_buf_add(&lane->token, rn_view_of(token, strlen(token) + 1)))
            status = rn_report(RN_EXIT_FAILED, "the continuation is too long");
        if (status)
            (void)rn_lanes_stop();
    }
    pthread_mutex_unlock(&e->lock);
    return status;
}

static int take_page(struct export *e, struct lane *lane,
                     const runnel_page *page, struct rn_buf *chunk)
{
    size_t rows = page ? runnel_page_count(page) : 0;
    struct rn_buf text = RN_BUF_INIT(CHUNK_MAX);
    enum rn_code rc = RN_OK;
    struct rn_json json;

    rn_json_init(&json, NULL);
    rn_buf_clear(chunk);
    for (size_t i = 0; !rc && i < rows; i++)
        rc = print_row(e, &json, rn_view_lent(runnel_page_at(page, i)), &text,
                       chunk);
    rn_json_release(&json);
    rn_buf_release(&text);
    if (rc)
        return rn_report(RN_EXIT_FAILED, "a document cannot be written: %s",
                         rn_code_name(rc));
    return advance(e, lane, rn_buf_view(chunk), rows,
                   page ? runnel_page_token(page) : NULL);
}

/* Of a request of a lane. */
static int failed(const struct export *e, const runnel_error *error)
{
    return rn_lanes_stop() ? rn_report_request(error, &e->target, NULL)
                           : RN_LANE_STOPPED;
}

static int open_query(struct export *e, const struct lane *lane,
                      runnel_query **out)
{
    runnel_query_options options = { RUNNEL_QUERY_INIT };
    runnel_error error = { 0 };

    options.text = rn_args_text(e->args, "query");
    options.partition_key = e->key.len ? e->key.at : NULL;
    options.range = lane->interval;
    options.token = lane->token.len ? lane->token.at : NULL;
    options.page_limit = PAGE_ROWS;
    return runnel_query_open(e->target.container, &options, out, &error)
               ? failed(e, &error)
               : RN_EXIT_OK;
}

static int run_lane(void *context, size_t number)
{
    struct export *e = context;
    struct lane *lane = &e->lanes[number];
    struct rn_buf chunk = RN_BUF_INIT(CHUNK_MAX);
    struct rn_patience patience = { 0 };
    runnel_query *query = NULL;
    runnel_error error = { 0 };
    int status = lane->is_over ? RN_EXIT_OK : open_query(e, lane, &query);

    while (!status && !lane->is_over && !rn_lanes_stopped()) {
        runnel_page *page = NULL;

        if (!runnel_query_next(query, &page, &error)) {
            rn_patience_reset(&patience);
            status = take_page(e, lane, page, &chunk);
        } else if (!rn_patience_wait(&patience, &error)) {
            status = failed(e, &error);
        }
        runnel_page_close(page);
    }
    if (!status && rn_interrupted())
        status = RN_EXIT_INTERRUPTED;
    runnel_query_close(query);
    rn_buf_release(&chunk);
    return status;
}

/* ---- state --------------------------------------------------------------- */

static int save(struct export *e)
{
    struct rn_json_out o;
    int status;

    if (!e->state.path)
        return RN_EXIT_OK;
    pthread_mutex_lock(&e->lock);
    o = rn_state_begin(&e->state);
    rn_json_out_key(&o, RN_LIT("bytes"));
    rn_json_out_uint(&o, e->sink.file.length);
    rn_json_out_key(&o, RN_LIT("rows"));
    rn_json_out_uint(&o, e->sink.rows);
    rn_json_out_key(&o, RN_LIT("lanes"));
    rn_json_out_array_begin(&o);
    for (size_t i = 0; i < e->lane_count; i++) {
        const struct lane *lane = &e->lanes[i];

        rn_json_out_object_begin(&o);
        if (lane->interval) {
            rn_json_out_key(&o, RN_LIT("interval"));
            rn_json_out_string(&o, rn_view_text(lane->interval));
        }
        rn_state_print_token(&o, "token", &lane->token);
        rn_json_out_key(&o, RN_LIT("is_over"));
        rn_json_out_bool(&o, lane->is_over);
        rn_json_out_object_end(&o);
    }
    rn_json_out_array_end(&o);
    pthread_mutex_unlock(&e->lock);
    status = rn_append_sync(&e->sink.file);
    return status ? status : rn_state_end(&e->state, &o);
}

static int tick(void *context)
{
    struct export *e = context;
    uint64_t rows;

    pthread_mutex_lock(&e->lock);
    rows = e->sink.rows;
    pthread_mutex_unlock(&e->lock);
    rn_progress_set(&e->progress, rows);
    return rn_state_is_due(&e->state) ? save(e) : RN_EXIT_OK;
}

/* The lanes as an earlier run left them. */
static int resume_lanes(struct export *e)
{
    const struct rn_json *j = &e->state.json;
    struct rn_json_walk w =
        rn_json_walk_begin(j, rn_json_find(j, 0, RN_LIT("lanes")));
    enum rn_code rc = RN_OK;

    while (!rc && rn_json_walk_next(&w) && e->lane_count < RN_LANES_MAX) {
        struct lane *lane = &e->lanes[e->lane_count++];
        uint32_t is_over = rn_json_find(j, w.value, RN_LIT("is_over"));

        lane->token = RN_BUF_INIT(TOKEN_MAX);
        lane->is_over = rn_json_kind(j, is_over) == RN_JSON_TRUE;
        rc = rn_state_text(&e->state, w.value, "interval", &e->arena,
                           &lane->interval);
        if (!rc)
            rc = rn_state_token(&e->state, w.value, "token", &lane->token);
    }
    return rc ? rn_report(RN_EXIT_FAILED, "out of memory") : RN_EXIT_OK;
}

static int begin_lanes(struct export *e)
{
    bool is_one = rn_args_text(e->args, "query") || e->key.len;
    const char *intervals[RN_LANES_MAX] = { NULL };
    size_t parallel;
    int status = rn_lanes_count(e->args, RN_LANES_MAX, &parallel);

    if (status)
        return status;
    if (e->state.is_resumed)
        return resume_lanes(e);
    e->lane_count = is_one ? 1 : parallel;
    if (!is_one)
        status = rn_lanes_cut(e->target.container, e->lane_count, intervals,
                              &e->arena);
    for (size_t i = 0; i < e->lane_count; i++)
        e->lanes[i] = (struct lane){ .interval = intervals[i],
                                     .token = RN_BUF_INIT(TOKEN_MAX) };
    return status;
}

/* ---- command ------------------------------------------------------------- */

/* The line that a state file is recognised by. */
static int name_run(struct export *e)
{
    const char *query = rn_args_text(e->args, "query");
    const char *format = rn_args_text(e->args, "format");

    if (rn_buf_printf(&e->run, "export of %s (%s)%s%s%s%s as %s%s to %s",
                      e->schema.name, e->schema.rid, query ? ", query " : "",
                      query ? query : "", e->key.len ? ", key " : "",
                      e->key.len ? e->key.at : "", format,
                      rn_args_flag(e->args, "system") ? " with system" : "",
                      rn_args_text(e->args, "output")))
        return rn_report(RN_EXIT_FAILED, "out of memory");
    return RN_EXIT_OK;
}

static int open_all(struct export *e)
{
    const char *output = rn_args_text(e->args, "output");
    const char *state = rn_args_text(e->args, "state");
    const char *key = rn_args_text(e->args, "pk");
    bool is_file = output && strcmp(output, "-") != 0;
    bool is_array = strcmp(rn_args_text(e->args, "format"), "json") == 0;
    int status = RN_EXIT_OK;

    if (state && !is_file)
        return rn_report(RN_EXIT_USAGE, "--state needs --output FILE");
    e->keeps_system =
        rn_args_flag(e->args, "system") || rn_args_text(e->args, "query");
    status = rn_target_open(e->args, &e->target);
    if (!status)
        status = rn_schema_read(&e->target, &e->schema);
    if (!status && key && rn_partition_print(key, &e->key))
        status = rn_report(RN_EXIT_USAGE, "--pk is too long");
    if (!status)
        status = name_run(e);
    if (!status)
        status = rn_state_open(&e->state, state, e->run.at);
    if (!status)
        status = begin_lanes(e);
    if (!status) {
        status =
            rn_export_sink_open(&e->sink, is_file ? output : NULL, is_array,
                                rn_state_number(&e->state, 0, "bytes"),
                                rn_state_number(&e->state, 0, "rows"));
    }
    return status ? status : save(e);
}

static void close_all(struct export *e)
{
    for (size_t i = 0; i < e->lane_count; i++)
        rn_buf_release(&e->lanes[i].token);
    rn_export_sink_close(&e->sink);
    rn_state_release(&e->state);
    rn_schema_release(&e->schema);
    rn_target_close(&e->target);
    rn_arena_release(&e->arena);
    rn_buf_release(&e->run);
    rn_buf_release(&e->key);
    pthread_mutex_destroy(&e->lock);
    rn_free(e);
}

/* Says how much was written, unless the rows are on standard output. */
static void summarize(const struct export *e)
{
    if (!e->sink.file.path)
        return;
    if (rn_args_flag(e->args, "json")) {
        rn_outf("{\"rows\":%llu,\"bytes\":%llu}\n",
                (unsigned long long)e->sink.rows,
                (unsigned long long)e->sink.file.length);
    } else {
        rn_outf("%llu document%s written to %s\n",
                (unsigned long long)e->sink.rows, rn_plural(e->sink.rows),
                e->sink.file.path);
    }
}

static int run(const struct rn_args *args)
{
    struct export *e = rn_new(sizeof(*e));
    uint64_t total = 0;
    int status, saved;

    if (!e)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    e->args = args;
    e->arena = RN_ARENA_INIT(ARENA_MAX);
    e->run = RN_BUF_INIT(TOKEN_MAX);
    e->key = RN_BUF_INIT(RN_KEY_MAX);
    pthread_mutex_init(&e->lock, NULL);
    status = open_all(e);
    if (!status && isatty(STDERR_FILENO) && e->lane_count > 1)
        total = rn_schema_count(e->target.container);
    if (!status) {
        rn_progress_begin(&e->progress, "exporting", "documents", total,
                          e->sink.rows);
        status = rn_lanes_run(e->lane_count, run_lane, tick, e);
        rn_progress_set(&e->progress, e->sink.rows);
        rn_progress_end(&e->progress);
        saved = save(e);
        status = status ? status : saved;
        if (!status)
            status = rn_export_sink_end(&e->sink);
        if (!status)
            summarize(e);
    }
    close_all(e);
    return status;
}

static const struct rn_option options[] = {
    { "pk", RN_OPTION_TEXT, "KEY", NULL, NULL,
      "Export the documents of this partition key only.  JSON; what is not "
      "JSON is a string.  An array is a hierarchical key or a prefix of one." },
    { "query", RN_OPTION_TEXT, "SQL", NULL, NULL,
      "Export the rows of this query instead of all documents." },
    { "output", RN_OPTION_FILE, NULL, "-", NULL,
      "Write to this file; -: to standard output." },
    { "format", RN_OPTION_CHOICE, "ndjson|json", "ndjson", NULL,
      "One document a line, or one JSON array." },
    { "system", RN_OPTION_FLAG, NULL, NULL, NULL,
      "Keep the system properties (_rid, _self, _etag, _ts, _attachments).  "
      "The rows of a query are always written as the server sent them." },
    RN_OPTION_PARALLEL,
    RN_OPTION_STATE,
    { 0 },
};

const struct rn_tool rn_tool_export = {
    .name = "export",
    .usage = "",
    .summary = "Write the documents of a container to a file",
    .help = "Writes every document, those of a partition key, or the rows of a "
            "query, as NDJSON or as one JSON array.  A document that is "
            "written during the export appears once, in its old or its new "
            "version.  The order of documents is not defined, except with "
            "--query.",
    .example = "  runnel export --container shop/orders --output "
               "orders.ndjson\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .options = options,
    .run = run,
};
