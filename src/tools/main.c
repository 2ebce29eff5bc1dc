/* main.c -- the program `runnel-tools`: finds the command and runs it.
 *
 *   runnel-tools NAME ...        runs the command
 *   runnel-tools --help          the list of commands
 *   runnel-tools --commands      name and summary of each, a line each
 *   runnel-tools --man NAME      its man page
 */
#include "base/nearest.h"
#include "tools/commands.h"
#include "tools/common/manual.h"
#include "tools/common/out.h"
#include "tools/common/report.h"
#include "tools/common/signals.h"
#include "tools/common/usage.h"

static int print_commands(void)
{
    const struct rn_tool *tool;

    for (size_t i = 0; (tool = rn_tool_at(i)); i++)
        rn_outf("%s %s\n", tool->name, tool->summary);
    return RN_EXIT_OK;
}

static int print_help(void)
{
    const struct rn_tool *tool;

    rn_outf("Usage: runnel COMMAND [ARGUMENTS]\n\nCommands:\n");
    for (size_t i = 0; (tool = rn_tool_at(i)); i++)
        rn_outf("  %-10s %s\n", tool->name, tool->summary);
    rn_outf("\n'runnel help COMMAND' explains a command; 'runnel help' lists "
            "the commands\nof the server, too.\n");
    return RN_EXIT_OK;
}

static int print_manual(const char *name)
{
    const struct rn_tool *tool = name ? rn_tool_find(name) : NULL;

    if (!tool)
        return rn_report(RN_EXIT_USAGE, "usage: runnel-tools --man COMMAND");
    rn_manual_print(tool);
    return RN_EXIT_OK;
}

/* Offers the commands of `runnel` itself, too: it executes us for every name
 * that it does not know. */
static int report_unknown(const char *name)
{
    struct rn_nearest near = { .word = rn_view_text(name) };
    const struct rn_tool *tool;

    for (size_t i = 0; (tool = rn_tool_at(i)); i++)
        rn_nearest_offer(&near, tool->name);
    for (size_t i = 0; rn_server_commands[i]; i++)
        rn_nearest_offer(&near, rn_server_commands[i]);
    if (near.found) {
        return rn_report(RN_EXIT_USAGE,
                         "there is no command '%s'; did you mean '%s'?", name,
                         near.found);
    }
    return rn_report(RN_EXIT_USAGE,
                     "there is no command '%s'; see 'runnel --help'", name);
}

static int run_tool(const struct rn_tool *tool, int argc, char **argv)
{
    struct rn_args args = { 0 };
    struct rn_err err = { 0 };
    int status;

    rn_report_name(tool->name);
    if (rn_args_parse(&args, tool, argc, argv, &err)) {
        status = rn_report_err(&err);
    } else if (args.wants_help) {
        rn_usage_print(tool);
        status = RN_EXIT_OK;
    } else if (!rn_signals_begin()) {
        status = rn_report(RN_EXIT_FAILED, "a thread cannot be started");
    } else {
        rn_out_begin(&args);
        status = tool->run(&args);
    }
    rn_args_release(&args);
    return status;
}

int main(int argc, char **argv)
{
    const struct rn_tool *tool;
    int status;

    rn_args_hide(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        status = print_help();
    } else if (argc > 1 && strcmp(argv[1], "--commands") == 0) {
        status = print_commands();
    } else if (argc > 1 && strcmp(argv[1], "--man") == 0) {
        status = print_manual(argc > 2 ? argv[2] : NULL);
    } else {
        tool = rn_tool_find(argc > 1 ? argv[1] : "");
        status = tool ? run_tool(tool, argc - 1, argv + 1)
                      : report_unknown(argc > 1 ? argv[1] : "");
    }
    rn_out_flush();
    return status;
}
