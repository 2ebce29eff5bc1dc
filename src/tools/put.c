/* put.c -- `runnel put`: write a document. */
#include "tools/commands.h"
#include "tools/common/input.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/target.h"

typedef runnel_code write_fn(runnel_container *container, runnel_bytes json,
                             const runnel_item_options *options,
                             runnel_reply **out, runnel_error *error);

/* Which write the options ask for; NULL after the line that says why not. */
static write_fn *choose(const struct rn_args *args)
{
    const char *etag = rn_args_text(args, "if-match");
    const char *mode = rn_args_text(args, "mode");

    if (etag && strcmp(mode, "create") == 0) {
        rn_report(RN_EXIT_USAGE, "--if-match: what is created has no etag");
        return NULL;
    }
    if (strcmp(mode, "create") == 0)
        return runnel_item_create;
    return strcmp(mode, "replace") == 0 ? runnel_item_replace
                                        : runnel_item_upsert;
}

/* The id in the document, for messages. */
static void find_id(const struct rn_json *json, char *out, size_t room)
{
    uint32_t id = rn_json_find(json, 0, RN_LIT("id"));

    snprintf(out, room, "%.*s", RN_FMT(rn_json_text(json, id)));
}

static int run(const struct rn_args *args)
{
    struct rn_buf text = RN_BUF_INIT(RN_INPUT_MAX);
    runnel_item_options options = { RUNNEL_ITEM_INIT, .want_body = true };
    write_fn *write = choose(args);
    struct rn_target target = { 0 };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    struct rn_json json;
    char id[256];
    int status = RN_EXIT_USAGE;

    rn_json_init(&json, NULL);
    if (write)
        status = rn_target_open(args, &target);
    if (!status)
        status = rn_input_read(rn_args_operand(args, 0), RN_JSON_OBJECT, &text,
                               &json);
    options.if_match = rn_args_text(args, "if-match");
    if (!status && write(target.container, (runnel_bytes){ text.at, text.len },
                         &options, &reply, &error)) {
        find_id(&json, id, sizeof(id));
        status = rn_report_request(&error, &target, id);
    }
    if (!status)
        rn_out_json(rn_view_lent(runnel_reply_body(reply)));
    runnel_reply_close(reply);
    rn_target_close(&target);
    rn_json_release(&json);
    rn_buf_release(&text);
    return status;
}

static const struct rn_option options[] = {
    { "mode", RN_OPTION_CHOICE, "upsert|create|replace", "upsert", NULL,
      "What may happen: create fails if the document exists, replace if it "
      "does not." },
    { "if-match", RN_OPTION_TEXT, "ETAG", NULL, NULL,
      "Write only if this is the current etag of the document." },
    { 0 },
};

const struct rn_tool rn_tool_put = {
    .name = "put",
    .usage = "[DOCUMENT|FILE]",
    .summary = "Write a document",
    .help = "Writes one JSON document, given as the argument, in a file, or "
            "on standard input, and prints it as it was stored.  The "
            "partition key is taken from the document.",
    .example =
        "  runnel put --container shop/orders \\\n      '{\"id\":\"4711\","
        "\"pk\":\"eu\",\"total\":12}'\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .operands_max = 1,
    .options = options,
    .run = run,
};
