/* query.c -- `runnel query` and `runnel explain`. */
#include "tools/commands.h"
#include "tools/common/control.h"
#include "tools/common/out.h"
#include "tools/common/parameters.h"
#include "tools/common/partition.h"
#include "tools/common/report.h"
#include "tools/common/table.h"

enum { BODY_MAX = 4 << 20 };

/* A query under way, and what has been printed of it. */
struct query {
    struct rn_target target;
    struct rn_buf parameters, pk;
    runnel_query *query;
    struct rn_table table;
    struct rn_json row;
    uint64_t rows, limit; /* limit 0: none */
    double charge;
};

/* ---- rows ---------------------------------------------------------------- */

static enum rn_code add_cells(struct query *q, struct rn_view text)
{
    struct rn_json_walk walk;
    enum rn_code rc = rn_json_parse(&q->row, text, NULL);

    if (!rc)
        rc = rn_table_row(&q->table);
    if (!rc && rn_json_kind(&q->row, 0) != RN_JSON_OBJECT)
        return rn_table_set(&q->table, RN_LIT("value"), text);
    walk = rn_json_walk_begin(&q->row, 0);
    while (!rc && rn_json_walk_next(&walk)) {
        struct rn_view name = rn_json_text(&q->row, walk.name);
        if (!rn_out_is_system(name))
            rc = rn_table_set(&q->table, name,
                              rn_json_text(&q->row, walk.value));
    }
    return rc;
}

static void print_page(struct query *q, const runnel_page *page)
{
    for (size_t i = 0; i < runnel_page_count(page); i++) {
        struct rn_view row = rn_view_lent(runnel_page_at(page, i));
        if (q->limit && q->rows == q->limit)
            break;
        q->rows++;
        if (!rn_out_is_pretty())
            rn_out_json(row);
        else if (add_cells(q, row))
            rn_table_print(&q->table); /* it is full; the row is cut */
    }
    rn_table_print(&q->table);
    rn_out_flush();
}

static int print_all(struct query *q)
{
    runnel_page *page = NULL;
    runnel_error error = { 0 };

    while (!q->limit || q->rows < q->limit) {
        if (runnel_query_next(q->query, &page, &error))
            return rn_report_request(&error, &q->target, NULL);
        if (!page)
            break;
        print_page(q, page);
        q->charge += runnel_page_charge(page);
        runnel_page_close(page);
    }
    if (rn_out_is_pretty()) {
        rn_outf("%s%llu row%s, %.2f RU%s\n", rn_color(RN_COLOR_DIM),
                (unsigned long long)q->rows, rn_plural(q->rows), q->charge,
                rn_color(RN_COLOR_NONE));
    }
    return RN_EXIT_OK;
}

/* ---- query --------------------------------------------------------------- */

static int open_query(const struct rn_args *args, struct query *q)
{
    runnel_query_options options = { RUNNEL_QUERY_INIT };
    const char *pk = rn_args_text(args, "pk");
    uint64_t page = rn_args_count(args, "page");
    runnel_error error = { 0 };
    int status = rn_target_open(args, &q->target);

    if (!status)
        status = rn_parameters_print(args, &q->parameters);
    if (!status && pk && rn_partition_print(pk, &q->pk))
        status = rn_report(RN_EXIT_USAGE, "--pk is too long");
    if (status)
        return status;
    q->limit = rn_args_count(args, "max-items");
    options.text = rn_args_operand(args, 0);
    options.parameters = q->parameters.at;
    options.partition_key = pk ? q->pk.at : NULL;
    options.range = rn_args_text(args, "range");
    if (q->limit && (!page || q->limit < page))
        page = q->limit;
    options.page_limit = page > INT32_MAX ? INT32_MAX : (uint32_t)page;
    if (runnel_query_open(q->target.container, &options, &q->query, &error))
        return rn_report_request(&error, &q->target, NULL);
    return RN_EXIT_OK;
}

static int run_query(const struct rn_args *args)
{
    struct query q = { .parameters = RN_BUF_INIT(RN_PARAMETERS_MAX),
                       .pk = RN_BUF_INIT(RN_KEY_MAX) };
    int status;

    rn_table_init(&q.table);
    rn_json_init(&q.row, NULL);
    status = open_query(args, &q);
    if (!status)
        status = print_all(&q);
    runnel_query_close(q.query);
    rn_target_close(&q.target);
    rn_json_release(&q.row);
    rn_table_release(&q.table);
    rn_buf_release(&q.parameters);
    rn_buf_release(&q.pk);
    return status;
}

static const struct rn_option query_options[] = {
    { "pk", RN_OPTION_TEXT, "KEY", NULL, NULL,
      "Ask this partition key only: JSON; what is not JSON is a string.  An "
      "array is a hierarchical key or a prefix of one." },
    { "range", RN_OPTION_TEXT, "RANGE", NULL, NULL,
      "Ask this partition key range only: MIN-MAX, as 'runnel ranges' prints "
      "them." },
    { "max-items", RN_OPTION_COUNT, NULL, "0", NULL,
      "Stop after so many rows; 0: print all." },
    { "page", RN_OPTION_COUNT, NULL, "0", NULL,
      "Ask for so many rows at a time; 0: the server decides." },
    { 0 },
};

const struct rn_tool rn_tool_query = {
    .name = "query",
    .usage = "QUERY [@NAME=VALUE ...]",
    .summary = "Run a query and print its rows",
    .help =
        "Rows are printed page by page as they come: in a pipe or with --json "
        "as JSON, one a line; on a terminal as a table without the system "
        "properties, with long cells cut.\n\nA parameter's VALUE is JSON; what "
        "is not JSON is a string.",
    .example = "  runnel query --container shop/orders \\\n      "
               "'SELECT * FROM c WHERE c.total > @least' @least=10\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .operands_min = 1,
    .operands_max = UINT32_MAX,
    .options = query_options,
    .run = run_query,
};

/* ---- explain ------------------------------------------------------------- */

static int run_explain(const struct rn_args *args)
{
    struct rn_buf body = RN_BUF_INIT(BODY_MAX);
    struct rn_buf parameters = RN_BUF_INIT(RN_PARAMETERS_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&body);
    struct rn_target target = { 0 };
    runnel_reply *reply = NULL;
    int status = rn_target_open(args, &target);

    if (!status)
        status = rn_parameters_print(args, &parameters);
    if (!status) {
        rn_control_begin(&target, &o);
        rn_json_out_key(&o, RN_LIT("query"));
        rn_json_out_string(&o, rn_view_text(rn_args_operand(args, 0)));
        rn_json_out_key(&o, RN_LIT("parameters"));
        rn_json_out_raw(&o, rn_view_text(parameters.at));
        status = rn_control_send(&target, "explain", &o, &reply);
    }
    if (!status)
        rn_out_json(rn_view_lent(runnel_reply_body(reply)));
    runnel_reply_close(reply);
    rn_target_close(&target);
    rn_buf_release(&parameters);
    rn_buf_release(&body);
    return status;
}

const struct rn_tool rn_tool_explain = {
    .name = "explain",
    .usage = "QUERY [@NAME=VALUE ...]",
    .summary = "Show how a query finds its documents",
    .help = "Runs the first page of the query and prints, instead of its rows, "
            "how the documents are found, the index that is used, how many "
            "documents and index rows are read, and the index that is missed. "
            " Only a Runnel server does so, for clients on loopback or "
            "with --admin.",
    .example = "  runnel explain --container shop/orders \\\n      "
               "'SELECT * FROM c WHERE c.total > 10'\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .operands_min = 1,
    .operands_max = UINT32_MAX,
    .run = run_explain,
};
