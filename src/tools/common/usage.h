/* usage.h -- what is generated from a command's tables: help and man page. */
#ifndef RN_TOOLS_COMMON_USAGE_H
#define RN_TOOLS_COMMON_USAGE_H

#include "tools/tool.h"

/* Both print to standard output. */
void rn_usage_print(const struct rn_tool *tool);
/* The page runnel-NAME(1) in man's language. */
void rn_manual_print(const struct rn_tool *tool);

#endif
