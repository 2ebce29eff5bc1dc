/* import.c -- `runnel import`: write the documents of a file to a container.
 *
 * One lane reads and checks records, the others write them in bulk.  A state
 * file is written when everything that was read has been written or rejected,
 * so that it has one position in the input and one length of the error file.
 */
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"
#include "tools/import/writers.h"
#include "tools/transfer/document.h"
#include "tools/transfer/state.h"

#include <stdatomic.h>

enum { ID_MAX = 2 * RN_DOCUMENT_MAX, RUN_MAX = 64 << 10 };

struct import {
    const struct rn_args *args;
    struct rn_target target;
    struct rn_schema schema;
    struct rn_records records;
    struct rn_rejects rejects;
    struct rn_writers writers;
    struct rn_state state;
    struct rn_buf run, id;
    struct rn_json json;
    struct rn_place done; /* everything before it is written or rejected */

    struct rn_progress progress;
    atomic_uint_fast64_t bytes_read; /* for the progress bar */
};

/* ---- reader -------------------------------------------------------------- */

static int save(struct import *m)
{
    struct rn_json_out o;

    if (!m->state.path)
        return RN_EXIT_OK;
    o = rn_state_begin(&m->state);
    rn_json_out_key(&o, RN_LIT("offset"));
    rn_json_out_uint(&o, m->done.offset);
    rn_json_out_key(&o, RN_LIT("line"));
    rn_json_out_uint(&o, m->done.line);
    rn_json_out_key(&o, RN_LIT("imported"));
    rn_json_out_uint(&o, rn_writers_written(&m->writers));
    rn_json_out_key(&o, RN_LIT("rejected"));
    rn_json_out_uint(&o, m->rejects.count);
    rn_json_out_key(&o, RN_LIT("error_bytes"));
    rn_json_out_uint(&o, m->rejects.file.length);
    return rn_state_end(&m->state, &o);
}

/* Now and then, stores how far the run has come, for the next one. */
static int checkpoint(struct import *m)
{
    int status;

    if (!rn_state_is_due(&m->state))
        return RN_EXIT_OK;
    status = rn_writers_drain(&m->writers);
    if (!status)
        status = rn_append_sync(&m->rejects.file);
    return status ? status : save(m);
}

/* Checks a record and hands it over; what is wrong with it goes to `err`. */
static enum rn_code take_record(struct import *m, struct rn_record *record,
                                struct rn_err *err, int *status)
{
    enum rn_code rc = rn_json_parse(&m->json, record->json, err);

    rn_buf_clear(&m->id);
    if (!rc)
        rc = rn_document_id(&m->json, &m->id, err);
    if (!rc)
        *status = rn_writers_add(&m->writers, record, rn_buf_view(&m->id));
    return rc;
}

static int read_records(struct import *m)
{
    int status = RN_EXIT_OK;

    while (!status) {
        struct rn_err err = { 0 };
        struct rn_record record;
        enum rn_code rc = rn_records_next(&m->records, &record, &err);

        if (rc == RN_NOT_FOUND)
            break;
        if (!rc)
            rc = take_record(m, &record, &err, &status);
        if (rc == RN_BAD_REQUEST || rc == RN_TOO_LARGE) {
            status =
                rn_rejects_add(&m->rejects, record.line, record.text, err.text);
        } else if (rc == RN_BUSY) {
            status = RN_EXIT_INTERRUPTED;
        } else if (rc) {
            status = rn_report(RN_EXIT_FAILED, "%s", err.text);
        }
        m->done = m->records.input.place;
        atomic_store(&m->bytes_read, m->done.offset);
        if (!status)
            status = checkpoint(m);
    }
    if (!status)
        status = rn_writers_drain(&m->writers);
    return status;
}

static int run_lane(void *context, size_t number)
{
    struct import *m = context;
    int status;

    if (number)
        return rn_writers_run(&m->writers, number - 1);
    status = read_records(m);
    if (!status)
        status = save(m);
    rn_writers_end(&m->writers);
    return status;
}

static int tick(void *context)
{
    struct import *m = context;

    rn_progress_set(&m->progress, atomic_load(&m->bytes_read) / 1000);
    return RN_EXIT_OK;
}

/* ---- command ------------------------------------------------------------- */

static const char *const format_names[] = { "auto", "ndjson", "json", "csv" };

static enum rn_record_format format_of(const struct rn_args *args)
{
    const char *name = rn_args_text(args, "format");
    int i = 0;

    while (strcmp(format_names[i], name) != 0)
        i++;
    return (enum rn_record_format)i;
}

static int open_records(struct import *m)
{
    const char *file = rn_args_operand(m->args, 0);
    const char *delimiter = rn_args_text(m->args, "delimiter");
    bool is_tab = strcmp(delimiter, "tab") == 0;
    char separator = delimiter[0];
    struct rn_err err = { 0 };

    if (!is_tab && (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0])))
        return rn_report(RN_EXIT_USAGE,
                         "--delimiter takes one character, or tab");
    if (is_tab)
        separator = '\t';
    if (rn_records_open(&m->records, file ? file : "-", format_of(m->args),
                        separator, &err))
        return rn_report(RN_EXIT_FAILED, "%s", err.text);
    return RN_EXIT_OK;
}

/* Opens the state file and moves the input to its position. */
static int resume(struct import *m)
{
    const char *file = m->records.input.name;
    const char *errors = rn_args_text(m->args, "errors");
    struct rn_place place;
    struct rn_err err = { 0 };
    int status = RN_EXIT_OK;

    if (rn_buf_printf(&m->run, "import of %s into %s (%s)", file,
                      m->schema.name, m->schema.rid))
        return rn_report(RN_EXIT_FAILED, "out of memory");
    status =
        rn_state_open(&m->state, rn_args_text(m->args, "state"), m->run.at);
    if (status)
        return status;
    status = rn_rejects_open(&m->rejects, file, errors,
                             rn_state_number(&m->state, 0, "error_bytes"),
                             m->records.csv.header);
    place.offset = rn_state_number(&m->state, 0, "offset");
    place.line = rn_state_number(&m->state, 0, "line");
    if (!status && rn_records_skip(&m->records, place, &err))
        status = rn_report(RN_EXIT_FAILED, "%s", err.text);
    m->rejects.count = rn_state_number(&m->state, 0, "rejected");
    return status;
}

static int open_all(struct import *m)
{
    size_t parallel;
    int status = rn_lanes_count(m->args, RN_LANES_MAX - 1, &parallel);

    if (!status)
        status = open_records(m);
    if (!status)
        status = rn_target_open(m->args, &m->target);
    if (!status)
        status = rn_schema_read(&m->target, &m->schema);
    if (!status)
        status = resume(m);
    if (status)
        return status;
    m->writers = (struct rn_writers){
        .container = m->target.container,
        .schema = &m->schema,
        .kind = strcmp(rn_args_text(m->args, "mode"), "create") == 0
                    ? RUNNEL_CREATE
                    : RUNNEL_UPSERT,
        .may_exist = m->state.is_resumed,
        .rejects = &m->rejects,
        .count = parallel,
        .written = rn_state_number(&m->state, 0, "imported"),
    };
    if (rn_writers_init(&m->writers))
        return rn_report(RN_EXIT_FAILED, "out of memory");
    m->done = m->records.input.place;
    return save(m);
}

static void close_all(struct import *m)
{
    rn_writers_release(&m->writers);
    rn_rejects_close(&m->rejects);
    rn_records_close(&m->records);
    rn_state_release(&m->state);
    rn_schema_release(&m->schema);
    rn_target_close(&m->target);
    rn_json_release(&m->json);
    rn_buf_release(&m->run);
    rn_buf_release(&m->id);
    rn_free(m);
}

static int summarize(struct import *m, int status)
{
    unsigned long long imported = rn_writers_written(&m->writers);
    unsigned long long rejected = m->rejects.count;

    if (rn_args_flag(m->args, "json"))
        rn_outf("{\"imported\":%llu,\"rejected\":%llu}\n", imported, rejected);
    else
        rn_outf("%llu document%s imported, %llu rejected%s\n", imported,
                rn_plural(imported), rejected, status ? ", not finished" : "");
    return status ? status : rejected ? RN_EXIT_PARTIAL : RN_EXIT_OK;
}

static int run(const struct rn_args *args)
{
    struct import *m = rn_new(sizeof(*m));
    int status;

    if (!m)
        return rn_report(RN_EXIT_FAILED, "out of memory");
    m->args = args;
    m->run = RN_BUF_INIT(RUN_MAX);
    m->id = RN_BUF_INIT(ID_MAX);
    rn_json_init(&m->json, NULL);
    status = open_all(m);
    if (!status) {
        rn_progress_begin(&m->progress, "importing", "kB",
                          m->records.input.size / 1000,
                          m->records.input.place.offset / 1000);
        status = rn_lanes_run(m->writers.count + 1, run_lane, tick, m);
        (void)tick(m);
        rn_progress_end(&m->progress);
        if (!status && rn_interrupted())
            status = RN_EXIT_INTERRUPTED;
        status = summarize(m, status);
    }
    close_all(m);
    return status;
}

static const struct rn_option options[] = {
    { "format", RN_OPTION_CHOICE, "auto|ndjson|json|csv", "auto", NULL,
      "The format of the file: one document a line, one JSON array, or CSV.  "
      "auto: CSV if the name ends in .csv, an array if the file begins with "
      "[, else ndjson." },
    { "mode", RN_OPTION_CHOICE, "upsert|create", "upsert", NULL,
      "upsert: replace documents that exist; the last line of an id wins.  "
      "create: reject them." },
    { "errors", RN_OPTION_FILE, NULL, NULL, NULL,
      "Write the rejected lines to this file, which can be corrected and "
      "imported." },
    { "delimiter", RN_OPTION_TEXT, "CHAR", ",", NULL,
      "What separates the cells of a CSV file; tab: a tab." },
    { "parallel", RN_OPTION_COUNT, "N", "4", NULL,
      "How many bulk calls are made at once." },
    RN_OPTION_STATE,
    { 0 },
};

const struct rn_tool rn_tool_import = {
    .name = "import",
    .usage = "[FILE]",
    .summary = "Write the documents of a file to a container",
    .help =
        "Reads NDJSON, a JSON array or CSV from FILE or standard input and "
        "writes each document.  A line that is not a document, or that the "
        "server refuses, is rejected: one line on standard error names the "
        "file, the line and the reason, the other lines are imported, and the "
        "exit status is 7.\n\n"
        "Cells of a CSV file become numbers, true, false and null if they are "
        "written as in JSON and not quoted; an empty cell is left out; the id "
        "is always a string.",
    .example = "  runnel import --container shop/orders --errors rejected "
               "orders.ndjson\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .operands_max = 1,
    .options = options,
    .run = run,
};
