/* wal_own.h -- the WAL's internals, shared by its three files.
 *
 *   wal.c       segments, and writing
 *   wal_read.c  records, the chain, opening
 *   wal_copy.c  a copy of a WAL in use
 */
#ifndef RN_STORE_WAL_WAL_OWN_H
#define RN_STORE_WAL_WAL_OWN_H

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

/* wal.c */

enum rn_code rn_wal_new(const struct rn_wal_opts *opts, struct rn_wal **out);
void rn_wal_segment_path(const struct rn_wal *wal, uint64_t number,
                         char out[RN_WAL_PATH]);
enum rn_code rn_wal_segment_open(struct rn_wal *wal, uint64_t number,
                                 enum rn_open how, struct rn_segment *out,
                                 struct rn_err *err);

/* wal_read.c */

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
