/* wal_state.h -- the write-ahead log in memory: its segments, and where its
 * last record ends.
 *
 * Internal to the WAL.
 */
#ifndef RN_STORE_WAL_WAL_STATE_H
#define RN_STORE_WAL_WAL_STATE_H

#include "store/wal/segment.h"
#include "store/wal/wal.h"

#include <pthread.h>

enum {
    RN_WAL_MAGIC = 0x314c4e52, /* "RNL1" */
    RN_WAL_FIRST = 1,
    RN_WAL_SEGMENTS = 4096,
    RN_WAL_PATH = 4096,
};

struct rn_wal {
    struct rn_wal_opts opts;
    char *dir;

    /* Guards `row` and `spare`, which the maintenance thread changes and the
     * writer reads.
     */
    pthread_mutex_t lock;
    /* In ascending order: the segments with records since the last checkpoint,
     * the current one, and perhaps one that is ready. */
    struct rn_segment row[RN_WAL_SEGMENTS];
    size_t row_len;
    size_t current; /* index in row of the segment that `end` lies in */
    /* Segments whose records are not needed any more. */
    struct rn_segment spare[RN_WAL_SEGMENTS];
    size_t spare_len;

    struct rn_wal_place end;
    struct rn_wal_place before_last; /* of the records found by open */
};

enum rn_code rn_wal_new(const struct rn_wal_opts *opts, struct rn_wal **out);
void rn_wal_segment_path(const struct rn_wal *wal, uint64_t number,
                         char out[RN_WAL_PATH]);
enum rn_code rn_wal_segment_open(struct rn_wal *wal, uint64_t number,
                                 enum rn_open how, struct rn_segment *out,
                                 struct rn_err *err);

#endif
