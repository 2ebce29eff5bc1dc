/* ends.h -- the source and the target of a copy: opened, compared, created. */
#ifndef RN_TOOLS_COPY_ENDS_H
#define RN_TOOLS_COPY_ENDS_H

#include "tools/copy/copy_state.h"

/* Opens the containers, and creates the target if it is wanted.  Returns an
 * enum rn_exit after the line on standard error. */
int rn_copy_open_ends(struct rn_copy *copy) RN_CHECK;
void rn_copy_close_ends(struct rn_copy *copy);

#endif
