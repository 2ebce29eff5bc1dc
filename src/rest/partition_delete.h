/* partition_delete.h -- deletes all documents of one partition key value. */
#ifndef RN_REST_PARTITION_DELETE_H
#define RN_REST_PARTITION_DELETE_H

#include "rest/context.h"

rn_handler_fn rn_rest_partition_delete;

#endif
