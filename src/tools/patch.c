/* patch.c -- `runnel patch`: change members of a document. */
#include "tools/commands.h"
#include "tools/common/input.h"
#include "tools/common/out.h"
#include "tools/common/partition.h"
#include "tools/common/report.h"

static int run(const struct rn_args *args)
{
    const char *id = rn_args_operand(args, 0);
    runnel_item_options options = { RUNNEL_ITEM_INIT, .want_body = true };
    struct rn_buf pk = RN_BUF_INIT(RN_KEY_MAX);
    struct rn_buf text = RN_BUF_INIT(RN_INPUT_MAX);
    struct rn_target target = { 0 };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    struct rn_json json;
    int status;

    rn_json_init(&json, NULL);
    status =
        rn_input_read(rn_args_operand(args, 1), RN_JSON_ARRAY, &text, &json);
    if (!status)
        status = rn_partition_open(args, id, &target, &pk);
    options.if_match = rn_args_text(args, "if-match");
    options.condition = rn_args_text(args, "if");
    if (!status &&
        runnel_item_patch(target.container, (runnel_key){ pk.at, id },
                          (runnel_bytes){ text.at, text.len }, &options, &reply,
                          &error))
        status = rn_report_request(&error, &target, id);
    if (!status)
        rn_out_json(rn_view_lent(runnel_reply_body(reply)));
    runnel_reply_close(reply);
    rn_target_close(&target);
    rn_json_release(&json);
    rn_buf_release(&text);
    rn_buf_release(&pk);
    return status;
}

static const struct rn_option options[] = {
    RN_OPTION_PK,
    { "if", RN_OPTION_TEXT, "CONDITION", NULL, NULL,
      "Patch only if the document is found by this: 'FROM c WHERE c.stock > "
      "0'." },
    { "if-match", RN_OPTION_TEXT, "ETAG", NULL, NULL,
      "Patch only if this is the current etag of the document." },
    { 0 },
};

const struct rn_tool rn_tool_patch = {
    .name = "patch",
    .usage = "ID [OPERATIONS|FILE]",
    .summary = "Change members of a document",
    .help = "Applies up to 10 operations (add, set, replace, remove, incr, "
            "move) to one document and prints it as it is then.  OPERATIONS "
            "is a JSON array, given as the argument, in a file, or on "
            "standard input.",
    .example = "  runnel patch --container shop/orders --pk eu 4711 \\\n      "
               "'[{\"op\":\"incr\",\"path\":\"/total\",\"value\":1}]'\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .operands_min = 1,
    .operands_max = 2,
    .options = options,
    .run = run,
};
