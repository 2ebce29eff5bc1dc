/* commands.c -- the table of commands. */
#include "tools/commands.h"

/* One line each, in alphabetical order. */
/* clang-format off */
static const struct rn_tool *const tools[] = {
    &rn_tool_completion,
    &rn_tool_copy,
    &rn_tool_create,
    &rn_tool_demo,
    &rn_tool_doctor,
    &rn_tool_drop,
    &rn_tool_explain,
    &rn_tool_export,
    &rn_tool_get,
    &rn_tool_import,
    &rn_tool_lag,
    &rn_tool_leases,
    &rn_tool_merge,
    &rn_tool_patch,
    &rn_tool_put,
    &rn_tool_query,
    &rn_tool_ranges,
    &rn_tool_reset,
    &rn_tool_rm,
    &rn_tool_snapshot,
    &rn_tool_split,
    &rn_tool_tail,
    &rn_tool_top,
    &rn_tool_trigger,
    &rn_tool_wait,
};
/* clang-format on */

const char *const rn_server_commands[] = {
    "serve",   "keys",    "tls",  "verify",  "dump", "backup",
    "restore", "compact", "help", "version", NULL,
};

const struct rn_tool *rn_tool_at(size_t i)
{
    return i < sizeof(tools) / sizeof(tools[0]) ? tools[i] : NULL;
}

const struct rn_tool *rn_tool_find(const char *name)
{
    const struct rn_tool *tool;

    for (size_t i = 0; (tool = rn_tool_at(i)); i++) {
        if (strcmp(tool->name, name) == 0)
            return tool;
    }
    return NULL;
}
