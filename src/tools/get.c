/* get.c -- `runnel get`: print a document. */
#include "tools/commands.h"
#include "tools/common/out.h"
#include "tools/common/partition.h"
#include "tools/common/report.h"

static int run(const struct rn_args *args)
{
    const char *id = rn_args_operand(args, 0);
    struct rn_buf pk = RN_BUF_INIT(RN_KEY_MAX);
    struct rn_target target = { 0 };
    runnel_reply *reply = NULL;
    runnel_error error = { 0 };
    int status = rn_partition_open(args, id, &target, &pk);

    if (!status && runnel_item_read(target.container, (runnel_key){ pk.at, id },
                                    NULL, &reply, &error))
        status = rn_report_request(&error, &target, id);
    if (!status) {
        runnel_bytes body = runnel_reply_body(reply);
        rn_out_json(rn_view_of(body.at, body.len));
    }
    runnel_reply_close(reply);
    rn_target_close(&target);
    rn_buf_release(&pk);
    return status;
}

static const struct rn_option options[] = { RN_OPTION_PK, { 0 } };

const struct rn_tool rn_tool_get = {
    .name = "get",
    .usage = "ID",
    .summary = "Print a document",
    .help = "Reads one document by its id and partition key.  On a terminal "
            "it is indented and coloured, else it is one line as the server "
            "sent it.",
    .example = "  runnel get --container shop/orders --pk eu 4711\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .operands_min = 1,
    .operands_max = 1,
    .options = options,
    .run = run,
};
