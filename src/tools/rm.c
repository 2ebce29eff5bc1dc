/* rm.c -- `runnel rm`: delete a document. */
#include "tools/commands.h"
#include "tools/common/partition.h"
#include "tools/common/report.h"

static int run(const struct rn_args *args)
{
    const char *id = rn_args_operand(args, 0);
    runnel_item_options options = { RUNNEL_ITEM_INIT };
    struct rn_buf pk = RN_BUF_INIT(RN_KEY_MAX);
    struct rn_target target = { 0 };
    runnel_error error = { 0 };
    int status = rn_partition_open(args, id, &target, &pk);

    options.if_match = rn_args_text(args, "if-match");
    if (!status &&
        runnel_item_delete(target.container, (runnel_key){ pk.at, id },
                           &options, &error))
        status = rn_report_request(&error, &target, id);
    rn_target_close(&target);
    rn_buf_release(&pk);
    return status;
}

static const struct rn_option options[] = {
    RN_OPTION_PK,
    { "if-match", RN_OPTION_TEXT, "ETAG", NULL, NULL,
      "Delete only if this is the current etag of the document." },
    { 0 },
};

const struct rn_tool rn_tool_rm = {
    .name = "rm",
    .usage = "ID",
    .summary = "Delete a document",
    .help = "Deletes one document by its id and partition key.  Prints "
            "nothing.",
    .example = "  runnel rm --container shop/orders --pk eu 4711\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
