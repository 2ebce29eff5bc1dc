/* follower.h -- a lane of a copy: reads an interval of the change feed and
 * repeats its changes in the target. */
#ifndef RN_TOOLS_COPY_FOLLOWER_H
#define RN_TOOLS_COPY_FOLLOWER_H

#include "tools/copy/copy_state.h"

/* What lane `number` does, until it has caught up or is stopped. */
rn_lane_fn rn_copy_run_lane;

#endif
