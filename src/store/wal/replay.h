/* replay.h -- recovery's redo: applies the WAL after the checkpoint to the
 * memtable. */
#ifndef RN_STORE_WAL_REPLAY_H
#define RN_STORE_WAL_REPLAY_H

#include "base/err.h"

struct rn_local;

/* Afterwards every record of the WAL is visible.  Nothing is written to disk.
 */
enum rn_code rn_replay(struct rn_local *l, struct rn_err *err) RN_CHECK;

#endif
