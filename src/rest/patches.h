/* patches.h -- PATCH of a document, and the execution of batches; a patch runs
 * as a batch of one. */
#ifndef RN_REST_PATCHES_H
#define RN_REST_PATCHES_H

#include "rest/context.h"

/* Runs x->batch to its end, then calls `answer`.  x->rc is the result of the
 * whole batch. */
enum rn_rest_step rn_context_run_batch(struct rn_context *x,
                                       rn_handler_fn *answer);

rn_handler_fn rn_rest_document_patch;

#endif
