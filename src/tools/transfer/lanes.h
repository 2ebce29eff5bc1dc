/* lanes.h -- threads that work side by side, each on a part of a container.
 *
 * The parts are intervals of effective partition keys.  Each is a whole number
 * of ranges, or a piece of one; librunnel follows the splits and merges within
 * an interval, so that a lane keeps its interval for the whole run and the
 * next.
 */
#ifndef RN_TOOLS_TRANSFER_LANES_H
#define RN_TOOLS_TRANSFER_LANES_H

#include "base/mem.h"
#include "tools/common/option.h"

#include <runnel/runnel.h>

enum { RN_LANES_MAX = 64 };

/* The row of --parallel for the readers of a container. */
#define RN_OPTION_PARALLEL                                                     \
    {                                                                          \
        "parallel", RN_OPTION_COUNT, "N", "4", NULL,                           \
            "How many intervals of the container are read at once."            \
    }

/* The value of --parallel, from 1 to `max`. */
int rn_lanes_count(const struct rn_args *args, size_t max,
                   size_t *out) RN_CHECK;

/* Cuts the container into `count` intervals "MIN-MAX", in the arena.  Returns
 * an enum rn_exit after the line on standard error. */
int rn_lanes_cut(runnel_container *container, size_t count,
                 const char *intervals[], struct rn_arena *arena) RN_CHECK;

/* What a lane does, on its own thread; returns an enum rn_exit, or
 * RN_LANE_STOPPED if another lane has failed. */
enum { RN_LANE_STOPPED = -1 };
typedef int rn_lane_fn(void *context, size_t lane);
/* What is done between, ten times a second, on the caller's thread. */
typedef int rn_tick_fn(void *context);

/* Runs `work` for each lane and waits for all.  Returns the first failure, of a
 * lane or of a tick, which stops the other lanes. */
int rn_lanes_run(size_t count, rn_lane_fn *work, rn_tick_fn *tick,
                 void *context) RN_CHECK;

/* Should the lanes end, after a failure or a signal?  Any thread. */
bool rn_lanes_stopped(void);
/* Makes the lanes end.  True for the first call: that lane reports its failure;
 * the failures of other lanes have the same cause or do not matter. */
bool rn_lanes_stop(void);

#endif
