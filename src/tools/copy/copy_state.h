/* copy_state.h -- a running copy of a container to another: both containers,
 * the lanes, and what they have written.
 *
 * Every lane copies one interval of the source:
 *
 *   1. With all versions, it notes the continuation of now.
 *   2. BULK: it reads the latest versions from the beginning and upserts them
 *      until the feed has no more.
 *   3. FOLLOW: with all versions, it reads from the continuation of step 1 and
 *      repeats every write and delete since; else it goes on with step 2.
 *
 * Step 3 writes some versions again that are older than what step 2 has
 * written, and then the newer ones: when it has caught up, every document is as
 * its last change left it.  For the same reason a lane may begin again at any
 * earlier continuation, such as that of the state file.
 */
#ifndef RN_TOOLS_COPY_COPY_STATE_H
#define RN_TOOLS_COPY_COPY_STATE_H

#include "tools/common/progress.h"
#include "tools/transfer/bulk.h"
#include "tools/transfer/lanes.h"
#include "tools/transfer/state.h"

#include <pthread.h>

struct rn_copy_lane {
    const char *interval;
    bool is_following;
    struct rn_buf token;     /* with a NUL; empty: at the beginning */
    struct rn_buf all_token; /* of step 1, until step 3 */
};

struct rn_copy {
    const struct rn_args *args;
    struct rn_target source, target;
    struct rn_schema from, to;
    bool has_same_key; /* partition key */
    struct rn_buf run;
    struct rn_arena arena;
    struct rn_state state;
    struct rn_progress progress;
    struct rn_copy_lane lanes[RN_LANES_MAX];
    size_t lane_count;

    /* If the keys differ: one lane at a time looks at the target and writes,
     * so that no lane overlooks what another is about to write. */
    pthread_mutex_t moving;
    pthread_mutex_t lock; /* of what follows, and of the lanes */
    uint64_t copied, deleted, refused;
    uint64_t compared, differences; /* --verify */
};

#endif
