/* parameters.h -- the parameters of a query: operands "@name=VALUE". */
#ifndef RN_TOOLS_COMMON_PARAMETERS_H
#define RN_TOOLS_COMMON_PARAMETERS_H

#include "tools/common/option.h"

enum { RN_PARAMETERS_MAX = 1 << 20 };

/* Adds [{"name":"@x","value":1}, ...] and a NUL, of the operands behind the
 * first; VALUE is JSON, or else a string.  Returns an enum rn_exit. */
int rn_parameters_print(const struct rn_args *args,
                        struct rn_buf *out) RN_CHECK;

#endif
