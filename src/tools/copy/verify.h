/* verify.h -- compares the source and the target of a copy, document by
 * document. */
#ifndef RN_TOOLS_COPY_VERIFY_H
#define RN_TOOLS_COPY_VERIFY_H

#include "tools/copy/copy_state.h"

/* Names the differences on standard output.  Returns an enum rn_exit after the
 * line on standard error. */
int rn_copy_verify(struct rn_copy *copy) RN_CHECK;

#endif
