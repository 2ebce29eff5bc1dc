/* commands.h -- every command of runnel-tools, declared. */
#ifndef RN_TOOLS_COMMANDS_H
#define RN_TOOLS_COMMANDS_H

#include "tools/tool.h"

/* One line each, in alphabetical order. */
/* clang-format off */
extern const struct rn_tool rn_tool_completion;
extern const struct rn_tool rn_tool_copy;
extern const struct rn_tool rn_tool_create;
extern const struct rn_tool rn_tool_demo;
extern const struct rn_tool rn_tool_doctor;
extern const struct rn_tool rn_tool_drop;
extern const struct rn_tool rn_tool_explain;
extern const struct rn_tool rn_tool_export;
extern const struct rn_tool rn_tool_get;
extern const struct rn_tool rn_tool_import;
extern const struct rn_tool rn_tool_lag;
extern const struct rn_tool rn_tool_leases;
extern const struct rn_tool rn_tool_merge;
extern const struct rn_tool rn_tool_patch;
extern const struct rn_tool rn_tool_put;
extern const struct rn_tool rn_tool_query;
extern const struct rn_tool rn_tool_ranges;
extern const struct rn_tool rn_tool_reset;
extern const struct rn_tool rn_tool_rm;
extern const struct rn_tool rn_tool_snapshot;
extern const struct rn_tool rn_tool_split;
extern const struct rn_tool rn_tool_tail;
extern const struct rn_tool rn_tool_top;
extern const struct rn_tool rn_tool_trigger;
extern const struct rn_tool rn_tool_wait;
/* clang-format on */

/* The i-th command in alphabetical order; NULL: there are fewer. */
const struct rn_tool *rn_tool_at(size_t i);
/* NULL: there is no such command. */
const struct rn_tool *rn_tool_find(const char *name);

/* The commands of the program `runnel` itself, for completion and corrections;
 * ends with NULL.  A test compares them with what `runnel help` lists. */
extern const char *const rn_server_commands[];

#endif
