/* recover.h -- recovery: opens a data directory at its newest durable state. */
#ifndef RN_STORE_LOCAL_RECOVER_H
#define RN_STORE_LOCAL_RECOVER_H

#include "store/local/local.h"

/* Opens the WAL and the map at the newest durable state; creates them in an
 * empty directory.  Damage is found before anything is changed. */
enum rn_code rn_local_recover(struct rn_local *l, struct rn_err *err) RN_CHECK;

/* Removes maps that the checkpoint does not name: leftovers of a compaction. */
enum rn_code rn_local_sweep(struct rn_env *env, const char *dir,
                            struct rn_err *err) RN_CHECK;

#endif
