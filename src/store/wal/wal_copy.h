/* wal_copy.h -- copies a write-ahead log that may be in use, for a backup. */
#ifndef RN_STORE_WAL_WAL_COPY_H
#define RN_STORE_WAL_WAL_COPY_H

#include "store/wal/wal.h"

/* Copies the records after `from` into the directory `to`, at the same
 * positions, up to the end of the chain, and syncs them.  The WAL may be in
 * use: a record that is being written is behind the end.  `*bytes`: of records.
 */
enum rn_code rn_wal_copy(const struct rn_wal_opts *opts,
                         struct rn_wal_place from, const char *to,
                         uint64_t *bytes, struct rn_err *err) RN_CHECK;

#endif
