/* ranges.h -- the list of a container's partition key ranges. */
#ifndef RN_REST_RANGES_H
#define RN_REST_RANGES_H

#include "rest/context.h"

/* Prints a range of the container `object` as JSON. */
void rn_range_print(struct rn_json_out *o, const struct rn_object *object,
                    const struct rn_range_span *span, uint64_t lsn);

rn_handler_fn rn_rest_range_list;

#endif
