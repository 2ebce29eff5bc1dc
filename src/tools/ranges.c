/* ranges.c -- `runnel ranges`, `split` and `merge`: partition key ranges. */
#include "tools/commands.h"
#include "tools/common/control.h"
#include "tools/common/out.h"
#include "tools/common/report.h"

#include <stdlib.h>

enum { BODY_MAX = 65536, LINE_MAX_BYTES = 1024 };

/* ---- ranges -------------------------------------------------------------- */

static void print_range_json(const runnel_range *range)
{
    struct rn_buf line = RN_BUF_INIT(LINE_MAX_BYTES);
    struct rn_json_out o = RN_JSON_OUT_INIT(&line);

    rn_json_out_object_begin(&o);
    rn_json_out_key(&o, RN_LIT("id"));
    rn_json_out_string(&o, rn_view_text(range->id));
    rn_json_out_key(&o, RN_LIT("min"));
    rn_json_out_string(&o, rn_view_text(range->min));
    rn_json_out_key(&o, RN_LIT("max"));
    rn_json_out_string(&o, rn_view_text(range->max));
    rn_json_out_object_end(&o);
    rn_out(rn_buf_view(&line));
    rn_out(RN_LIT("\n"));
    rn_buf_release(&line);
}

static int run_ranges(const struct rn_args *args)
{
    struct rn_target target = { 0 };
    runnel_ranges *ranges = NULL;
    runnel_error error = { 0 };
    bool as_json = rn_args_flag(args, "json");
    int status = rn_target_open(args, &target);

    if (!status &&
        runnel_ranges_read(target.container, rn_args_count(args, "pieces"),
                           &ranges, &error))
        status = rn_report_request(&error, &target, NULL);
    if (!status && !as_json)
        rn_outf("%s%-6s %-34s %s%s\n", rn_color(RN_COLOR_BOLD), "ID", "MIN",
                "MAX", rn_color(RN_COLOR_NONE));
    for (size_t i = 0; !status && i < runnel_ranges_count(ranges); i++) {
        const runnel_range *r = runnel_ranges_at(ranges, i);
        if (as_json)
            print_range_json(r);
        else
            rn_outf("%-6s %-34s %s\n", r->id, r->min[0] ? r->min : "-", r->max);
    }
    runnel_ranges_close(ranges);
    rn_target_close(&target);
    return status;
}

static const struct rn_option ranges_options[] = {
    { "pieces", RN_OPTION_COUNT, NULL, "0", NULL,
      "Cut the ranges further until there are at least so many, to be dealt "
      "out to readers." },
    { 0 },
};

const struct rn_tool rn_tool_ranges = {
    .name = "ranges",
    .usage = "",
    .summary = "List the partition key ranges of a container",
    .help = "Prints the id of each range with the effective partition keys "
            "that it has, from MIN to below MAX.",
    .example = "  runnel ranges --container shop/orders\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .options = ranges_options,
    .run = run_ranges,
};

/* ---- split and merge ----------------------------------------------------- */

/* Adds the operand as a number: the id of a range. */
static int add_range(struct rn_json_out *o, const char *name, const char *text)
{
    char *end;
    unsigned long id = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || id >= UINT32_MAX) {
        return rn_report(RN_EXIT_USAGE,
                         "'%s' is not the id of a range; 'runnel ranges' "
                         "lists them",
                         text);
    }
    rn_json_out_key(o, rn_view_text(name));
    rn_json_out_uint(o, id);
    return RN_EXIT_OK;
}

/* The answer is {"ranges":["1","2"]}. */
static void print_new_ranges(const struct rn_args *args, struct rn_view body)
{
    struct rn_json json;
    struct rn_json_walk walk;
    const char *space = "";

    rn_json_init(&json, NULL);
    if (rn_args_flag(args, "json") || rn_json_parse(&json, body, NULL)) {
        rn_out_json(body);
    } else {
        walk =
            rn_json_walk_begin(&json, rn_json_find(&json, 0, RN_LIT("ranges")));
        for (; rn_json_walk_next(&walk); space = " ")
            rn_outf("%s%.*s", space, RN_FMT(rn_json_text(&json, walk.value)));
        rn_out(RN_LIT("\n"));
    }
    rn_json_release(&json);
}

/* Both requests: `second` is the name of the second operand, or NULL. */
static int split_or_merge(const struct rn_args *args, const char *route,
                          const char *second, const char *at)
{
    struct rn_buf body = RN_BUF_INIT(BODY_MAX);
    struct rn_json_out o = RN_JSON_OUT_INIT(&body);
    struct rn_target target = { 0 };
    runnel_reply *reply = NULL;
    int status = rn_target_open(args, &target);

    if (!status) {
        rn_control_begin(&target, &o);
        status = add_range(&o, "range", rn_args_operand(args, 0));
    }
    if (!status && second)
        status = add_range(&o, second, rn_args_operand(args, 1));
    if (!status && at) {
        rn_json_out_key(&o, RN_LIT("at"));
        rn_json_out_string(&o, rn_view_text(at));
    }
    if (!status)
        status = rn_control_send(&target, route, &o, &reply);
    if (!status)
        print_new_ranges(args, rn_view_lent(runnel_reply_body(reply)));
    runnel_reply_close(reply);
    rn_target_close(&target);
    rn_buf_release(&body);
    return status;
}

static int run_split(const struct rn_args *args)
{
    return split_or_merge(args, "split", NULL, rn_args_text(args, "at"));
}

static int run_merge(const struct rn_args *args)
{
    return split_or_merge(args, "merge", "with", NULL);
}

static const struct rn_option split_options[] = {
    { "at", RN_OPTION_TEXT, "BOUND", NULL, NULL,
      "The first effective partition key of the upper child, in hexadecimal; "
      "without it the middle of the range." },
    { 0 },
};

const struct rn_tool rn_tool_split = {
    .name = "split",
    .usage = "RANGE",
    .summary = "Split a partition key range in two",
    .help = "Splits a range by its id and prints the ids of its children.  "
            "Readers of the change feed and processors follow.  Only a Runnel "
            "server does so, for clients on loopback or with --admin.",
    .example = "  runnel split --container shop/orders 0\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .operands_min = 1,
    .operands_max = 1,
    .options = split_options,
    .run = run_split,
};

const struct rn_tool rn_tool_merge = {
    .name = "merge",
    .usage = "RANGE RANGE",
    .summary = "Merge two neighbouring partition key ranges",
    .help = "Merges two ranges by their ids and prints the id of the new one.  "
            "Readers of the change feed and processors follow.  Only a Runnel "
            "server does so, for clients on loopback or with --admin.",
    .example = "  runnel merge --container shop/orders 1 2\n",
    .uses = RN_USES_ACCOUNT | RN_USES_CONTAINER,
    .operands_min = 2,
    .operands_max = 2,
    .run = run_merge,
};
