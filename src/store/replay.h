/* replay.h -- brings the map from the checkpoint to the end of the log. */
#ifndef RN_STORE_REPLAY_H
#define RN_STORE_REPLAY_H

#include "base/err.h"

struct rn_local;

/* After it the map holds every record of the log, and its seq row says so.  A
 * crash on the way is harmless: the next open begins at the checkpoint again,
 * which is pinned. */
enum rn_code rn_replay(struct rn_local *l, struct rn_err *err) RN_CHECK;

#endif
