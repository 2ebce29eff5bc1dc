/* replay.h -- brings the store from the checkpoint to the end of the log. */
#ifndef RN_STORE_WAL_REPLAY_H
#define RN_STORE_WAL_REPLAY_H

#include "base/err.h"

struct rn_local;

/* After it every record of the log can be read.  Nothing is written. */
enum rn_code rn_replay(struct rn_local *l, struct rn_err *err) RN_CHECK;

#endif
