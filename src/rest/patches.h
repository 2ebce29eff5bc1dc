/* patches.h -- PATCH; and how batches, of which it is one, are run. */
#ifndef RN_REST_PATCHES_H
#define RN_REST_PATCHES_H

#include "rest/context.h"

/* Runs x->batch to its end, then calls `answer`.  x->rc is what
 * became of the whole. */
enum rn_rest_step rn_context_run_batch(struct rn_context *x,
                                       rn_handler_fn *answer);

#endif
