/* patience.h -- how long a command waits for a server that cannot now.
 *
 * A request that failed in a way that may pass is sent again after a pause that
 * grows, until nothing has succeeded for half a minute.
 *
 * One thread.  A zeroed one is ready.
 */
#ifndef RN_TOOLS_TRANSFER_PATIENCE_H
#define RN_TOOLS_TRANSFER_PATIENCE_H

#include <runnel/runnel.h>

struct rn_patience {
    int64_t failing_since_ns; /* 0: the last request succeeded */
    uint32_t pause_ms;
};

/* Something succeeded. */
void rn_patience_reset(struct rn_patience *patience);
/* Pauses and returns true, or returns false: give up and report the error. */
bool rn_patience_wait(struct rn_patience *patience, const runnel_error *error);

#endif
