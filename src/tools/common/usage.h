/* usage.h -- the help of a command, from its tables. */
#ifndef RN_TOOLS_COMMON_USAGE_H
#define RN_TOOLS_COMMON_USAGE_H

#include "tools/tool.h"

/* Prints to standard output. */
void rn_usage_print(const struct rn_tool *tool);

#endif
