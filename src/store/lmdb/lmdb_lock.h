/* lmdb_lock.h -- the table of readers of an LMDB map, in anonymous memory
 * instead of in a file. */
#ifndef RN_STORE_LMDB_LMDB_LOCK_H
#define RN_STORE_LMDB_LMDB_LOCK_H

#include "store/lmdb/lmdb_map.h"

/* Puts an empty table of readers where mdb_env_open looks for one.
 * rn_lmdb_lock_end, after that call, leaves it to LMDB. */
enum rn_code rn_lmdb_lock_begin(struct lmdb *m, uint64_t bytes, int *fd,
                                struct rn_err *err) RN_CHECK;
void rn_lmdb_lock_end(int fd);

#endif
