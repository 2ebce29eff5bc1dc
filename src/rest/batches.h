/* batches.h -- transactional batch and bulk: several operations on documents in
 * one request. */
#ifndef RN_REST_BATCHES_H
#define RN_REST_BATCHES_H

#include "rest/context.h"

rn_handler_fn rn_rest_batch;

#endif
