/* wal_read.h -- reads a write-ahead log: opens it, follows the chain of its
 * records to the end, replays them. */
#ifndef RN_STORE_WAL_WAL_READ_H
#define RN_STORE_WAL_WAL_READ_H

#include "store/wal/wal.h"

/* True if a directory holds any good record, or any segment but the first: then
 * a new store must not be created there. */
enum rn_code rn_wal_find(const struct rn_wal_opts *opts, bool *found,
                         struct rn_err *err) RN_CHECK;

/* Opens the WAL at `from`, the position in a checkpoint, and follows the chain
 * to its end without changing anything.  RN_CORRUPT, naming file and offset, if
 * a segment is missing or a good record follows a bad one. */
enum rn_code rn_wal_open(const struct rn_wal_opts *opts,
                         struct rn_wal_place from, struct rn_wal **out,
                         struct rn_err *err) RN_CHECK;

/* Calls `each` for each record after `from`, in order, up to the end found by
 * open.  Stops at the first failure of `each`. */
typedef enum rn_code rn_wal_each_fn(void *context, uint64_t seq,
                                    struct rn_view payload);
enum rn_code rn_wal_replay(struct rn_wal *wal, struct rn_wal_place from,
                           rn_wal_each_fn *each, void *context,
                           struct rn_err *err) RN_CHECK;

/* Makes the last records durable, which a dead process may have left in the
 * page cache only, and drops a record that a failed sync has lost. */
enum rn_code rn_wal_secure_end(struct rn_wal *wal, struct rn_err *err) RN_CHECK;

/* ---- for the other files of the WAL -------------------------------------- */

/* The checksum of a record covers everything behind the checksum itself. */
uint64_t rn_wal_checksum(const char *record, uint32_t length);
/* Opens every segment file of the directory into the row, from the number
 * `least` on. */
enum rn_code rn_wal_open_all(struct rn_wal *wal, uint64_t least,
                             enum rn_open how, struct rn_err *err);
struct rn_segment *rn_wal_row_find(struct rn_wal *wal, uint64_t number);
/* Reads the record that continues the chain at `*at` and moves `*at` behind it:
 * the record right there, or the first of the next segment if the writer found
 * no room here.  RN_NOT_FOUND at the end. */
enum rn_code rn_wal_chain_next(struct rn_wal *wal, struct rn_wal_place *at,
                               struct rn_buf *record, struct rn_err *err);
/* The chain ends at `at`.  RN_OK if that is the end of the WAL, RN_CORRUPT if
 * it is damage. */
enum rn_code rn_wal_check_end(struct rn_wal *wal, struct rn_wal_place at,
                              struct rn_buf *scratch, struct rn_err *err);

#endif
