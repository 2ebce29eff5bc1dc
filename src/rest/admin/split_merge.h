/* split_merge.h -- control routes that split and merge partition key ranges. */
#ifndef RN_REST_ADMIN_SPLIT_MERGE_H
#define RN_REST_ADMIN_SPLIT_MERGE_H

#include "rest/context.h"

rn_handler_fn rn_rest_split, rn_rest_merge;

#endif
