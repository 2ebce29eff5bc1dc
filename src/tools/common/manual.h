/* manual.h -- the man page of a command, from its tables. */
#ifndef RN_TOOLS_COMMON_MANUAL_H
#define RN_TOOLS_COMMON_MANUAL_H

#include "tools/tool.h"

/* Prints the page runnel-NAME(1) in man's language to standard output. */
void rn_manual_print(const struct rn_tool *tool);

#endif
