/* purges.h -- deletes all documents of one partition key value. */
#ifndef RN_REST_PURGES_H
#define RN_REST_PURGES_H

#include "rest/context.h"

rn_handler_fn rn_rest_partition_delete;

#endif
