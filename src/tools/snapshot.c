/* snapshot.c -- `runnel snapshot` and `reset`: the state of all databases of a
 * server in test mode, kept under a name and put back. */
#include "tools/commands.h"
#include "tools/common/control.h"
#include "tools/common/out.h"
#include "tools/common/report.h"

enum { BODY_MAX = 4096 };

/* Prints the members of the answer that are numbers: "1 object, 2 ...". */
static void print_counts(const char *done, struct rn_view body)
{
    struct rn_json json;
    struct rn_json_walk walk;
    const char *before = ": ";

    rn_json_init(&json, NULL);
    if (!rn_json_parse(&json, body, NULL)) {
        rn_out(rn_view_text(done));
        walk = rn_json_walk_begin(&json, 0);
        while (rn_json_walk_next(&walk)) {
            struct rn_view noun = rn_json_text(&json, walk.name);
            struct rn_view count = rn_json_text(&json, walk.value);

            if (rn_json_kind(&json, walk.value) != RN_JSON_NUMBER)
                continue;
            if (rn_view_eq(count, RN_LIT("1")) && noun.at[noun.len - 1] == 's')
                noun.len--;
            rn_outf("%s%.*s %.*s", before, RN_FMT(count), RN_FMT(noun));
            before = ", ";
        }
        rn_out(RN_LIT("\n"));
    }
    rn_json_release(&json);
}

static int run(const struct rn_args *args, const char *route, const char *done)
{
    struct rn_buf body = RN_BUF_INIT(BODY_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&body);
    struct rn_target target = { 0 };
    runnel_reply *reply = NULL;
    int status = rn_target_open(args, &target);

    if (!status) {
        rn_control_begin(&target, &o);
        rn_json_out_key(&o, RN_LIT("name"));
        rn_json_out_string(&o, rn_view_text(rn_args_operand(args, 0)));
        status = rn_control_send(&target, route, &o, &reply);
    }
    if (!status && rn_args_flag(args, "json"))
        rn_out_json(rn_view_lent(runnel_reply_body(reply)));
    else if (!status)
        print_counts(done, rn_view_lent(runnel_reply_body(reply)));
    runnel_reply_close(reply);
    rn_target_close(&target);
    rn_buf_release(&body);
    return status;
}

static int run_snapshot(const struct rn_args *args)
{
    return run(args, "snapshot", "taken");
}

static int run_reset(const struct rn_args *args)
{
    return run(args, "reset", "reset");
}

const struct rn_tool rn_tool_snapshot = {
    .name = "snapshot",
    .usage = "NAME",
    .summary = "Save the state of all databases of a test server",
    .help = "Saves the state of all databases in the memory of a server that "
            "runs with --test-mode, and replaces an earlier snapshot of that "
            "name.  'runnel reset NAME' restores it.",
    .example = "  runnel snapshot clean\n",
    .uses = RN_USES_ACCOUNT,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_snapshot,
};

const struct rn_tool rn_tool_reset = {
    .name = "reset",
    .usage = "NAME",
    .summary = "Restore all databases of a test server from a snapshot",
    .help = "Restores the databases, containers and documents that 'runnel "
            "snapshot NAME' saved.  A reset is ordinary writes, which readers "
            "of the change feed see as changes.",
    .example = "  runnel reset clean\n",
    .uses = RN_USES_ACCOUNT,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_reset,
};
