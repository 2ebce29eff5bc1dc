/* wal.h -- the write-ahead log (WAL): one checksummed record for each group
 * commit.
 *
 * The WAL is a sequence of segments, files named log-NNNNNNNNNN by an ascending
 * number.  The first is small, so that an empty store is small; the others are
 * of one size.  A segment whose records all precede the checkpoint is
 * renamed to the next number and overwritten: its blocks are allocated and were
 * written before, which makes a sync 1.6 times faster.
 *
 * Record, little endian, starting on a 4 KiB boundary, never split over two
 * segments:
 *
 *      0  checksum  u64   xxh3 of the rest, to the end of the payload
 *      8  magic     u32   "RNL1"
 *     12  length    u32   of the payload
 *     16  seq       u64   one more than the record before
 *     24  prev      u64   checksum of the record before: the chain
 *     32  payload         then zeros to the next boundary
 *
 * The last two blocks of a segment hold footers (checksum, magic, a number)
 * instead of records, because a file that was cut short or is missing looks
 * much like a WAL that ends there:
 *
 *   "RNLE"  in the last block: the length of the file
 *   "RNLN"  in the one before: the number of this segment; it says that the
 *           next one is ready, and so must exist
 *
 * log-0000000000 is a segment that is being made.
 *
 * Invariants
 *   L1  A record counts only if its checksum is right, its seq is the next one
 *       and its prev is the checksum of the record before.  Old records in
 *       reused space have right checksums, but neither of the others.
 *   L2  No block that holds a synced record is overwritten before a checkpoint
 *       has passed it.
 *   L3  At most one record is in flight.  So a good record numbered beyond the
 *       next means that something before it is damaged, and open refuses.  The
 *       same goes for a header whose prev is the checksum of the next record,
 *       and for the next record's own header in any place but its own.
 *   L4  A segment's name, its length footer, and the footer that announces it
 *       are durable before a record in it is.
 *
 * Opening and replaying are in wal_read.h, copying in wal_copy.h.
 *
 * Threads: append, sync and has_room belong to the writer; prepare, forget,
 * is_whole and bytes to the maintenance thread; both may run at once.
 */
#ifndef RN_STORE_WAL_WAL_H
#define RN_STORE_WAL_WAL_H

#include "base/env.h"

enum {
    RN_WAL_BLOCK = 4096,
    RN_WAL_HEADER = 32,
    RN_WAL_FOOTERS = 2 * RN_WAL_BLOCK, /* the footers of a segment */
};

struct rn_wal;

/* A position between two records: where the next one goes, and which record it
 * must continue. */
struct rn_wal_place {
    uint64_t segment, offset;
    uint64_t seq;   /* of the last record */
    uint64_t chain; /* its checksum */
};

struct rn_wal_opts {
    struct rn_env *env;
    const char *dir;
    uint64_t segment_bytes;
    uint64_t
        first_bytes; /* of the first segment; holds the largest record, too */
    uint64_t bytes_max; /* of all segments */
    bool read_only;     /* open for inspection only */
    /* Called for each record that is copied; may be NULL. */
    void (*progress)(void *of);
    void *progress_of;
    /* Set to the segment and offset of the damage that open finds; may be NULL.
     */
    struct rn_wal_place *damaged;
};

/* Creates a WAL with one segment.  Neither the segment nor its name is synced
 * yet. */
enum rn_code rn_wal_create(const struct rn_wal_opts *opts, struct rn_wal **out,
                           struct rn_err *err) RN_CHECK;
/* That segment, for its sync. */
struct rn_file *rn_wal_created(const struct rn_wal *wal);

void rn_wal_close(struct rn_wal *wal); /* NULL is fine */

/* Where the next record goes. */
struct rn_wal_place rn_wal_end(struct rn_wal *wal);

/* True if a record with that payload fits without waiting for the maintenance
 * thread. */
bool rn_wal_has_room(struct rn_wal *wal, uint64_t payload_bytes);

/* Writes `record` as the next one: RN_WAL_HEADER bytes that are filled in here,
 * then the payload.  The buffer is padded, so its size limit must leave a block
 * of room.  After a failure the end has not moved; RN_UNKNOWN if the
 * half-written record could not be erased. */
enum rn_code rn_wal_append(struct rn_wal *wal, struct rn_buf *record,
                           struct rn_err *err) RN_CHECK;

/* Makes the record durable.  After a failure nothing may be appended any more.
 */
enum rn_code rn_wal_sync(struct rn_wal *wal, struct rn_err *err) RN_CHECK;

/* Makes a segment ready behind the current one: a forgotten one, or a new one
 * within the size limit.  `*ready`: there is one now.  RN_UNKNOWN if a sync of
 * the current segment failed: nothing may be appended any more. */
enum rn_code rn_wal_prepare(struct rn_wal *wal, bool *ready,
                            struct rn_err *err) RN_CHECK;

/* Records before `place` are no longer needed; their segments may be reused. */
void rn_wal_forget(struct rn_wal *wal, struct rn_wal_place place);

/* False if a segment that recovery would read was removed, replaced or cut
 * short. */
bool rn_wal_is_whole(struct rn_wal *wal);

/* All segments together; from `place` to the end. */
uint64_t rn_wal_bytes(struct rn_wal *wal);
uint64_t rn_wal_bytes_since(struct rn_wal *wal, struct rn_wal_place place);

#endif
