/* segment.h -- one WAL segment file: its length, and the footers at its end.
 *
 * wal.h has the format.  Internal to the WAL.
 */
#ifndef RN_STORE_WAL_SEGMENT_H
#define RN_STORE_WAL_SEGMENT_H

#include "store/wal/wal.h"

enum {
    RN_FOOTER_END = 0x454c4e52,   /* "RNLE": the length of the file */
    RN_FOOTER_READY = 0x4e4c4e52, /* "RNLN": the next segment is ready */
};

/* `number` is part of the file's name. */
struct rn_segment {
    struct rn_file *file;
    uint64_t number, bytes;
};

/* Rounds up to the next block, where a record may begin. */
static inline uint64_t rn_segment_align(uint64_t n)
{
    return (n + RN_WAL_BLOCK - 1) / RN_WAL_BLOCK * RN_WAL_BLOCK;
}

/* Bytes that records may use. */
uint64_t rn_segment_room(const struct rn_segment *s);
enum rn_code rn_segment_read(const struct rn_segment *s, uint64_t offset,
                             void *out, size_t len, size_t *got,
                             struct rn_err *err) RN_CHECK;

/* Writes a footer through `file`, which may be another handle of the same file.
 */
int rn_segment_write_footer(const struct rn_segment *s, struct rn_file *file,
                            uint32_t magic);
enum rn_code rn_segment_has_footer(const struct rn_segment *s, uint32_t magic,
                                   bool *found, struct rn_err *err) RN_CHECK;

/* Gives a new file its length, the footer that records it, and a sync.  Writes
 * zeros, which makes later syncs cheap. */
int rn_segment_fill(struct rn_segment *s, uint64_t bytes);
/* Only allocates, and leaves the sync to the caller. */
int rn_segment_fill_first(struct rn_segment *s, uint64_t bytes);

#endif
