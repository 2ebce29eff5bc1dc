/* segment.c -- see segment.h. */
#include "store/wal/segment.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "store/wal/wal.h"

#include <errno.h>
#include <inttypes.h>

enum {
    FOOTER_BYTES = 24, /* checksum u64, magic u32, zero u32, number u64 */
    CHUNK = 1 << 20,   /* zeros are written in pieces of this size */
};

enum rn_code rn_segment_read(const struct rn_segment *s, uint64_t offset,
                             void *out, size_t len, size_t *got,
                             struct rn_err *err)
{
    int error = rn_file_read(s->file, out, len, offset, got);

    return error ? rn_fail_errno(err, error,
                                 "log-%010" PRIu64 ": reading at %" PRIu64,
                                 s->number, offset)
                 : RN_OK;
}

/* Where the footers begin and records must end. */
uint64_t rn_segment_room(const struct rn_segment *s)
{
    return s->bytes > RN_WAL_FOOTERS ? s->bytes - RN_WAL_FOOTERS : 0;
}

static uint64_t footer_place(const struct rn_segment *s, uint32_t magic)
{
    return magic == RN_FOOTER_END ? s->bytes - RN_WAL_BLOCK
                                  : s->bytes - RN_WAL_FOOTERS;
}

static uint64_t footer_number(const struct rn_segment *s, uint32_t magic)
{
    return magic == RN_FOOTER_END ? s->bytes : s->number;
}

/* Each footer has a block of its own, so that a torn write spoils nothing else.
 */
int rn_segment_write_footer(const struct rn_segment *s, struct rn_file *file,
                            uint32_t magic)
{
    char block[RN_WAL_BLOCK] = { 0 };

    rn_put_u32(block + 8, magic);
    rn_put_u64(block + 16, footer_number(s, magic));
    rn_put_u64(block, rn_hash64(rn_view_of(block + 8, FOOTER_BYTES - 8), 0));
    return rn_file_write(file, rn_view_of(block, sizeof(block)),
                         footer_place(s, magic));
}

enum rn_code rn_segment_has_footer(const struct rn_segment *s, uint32_t magic,
                                   bool *found, struct rn_err *err)
{
    char footer[FOOTER_BYTES];
    size_t got = 0;
    enum rn_code rc;

    *found = false;
    if (s->bytes <= RN_WAL_FOOTERS || s->bytes % RN_WAL_BLOCK)
        return RN_OK;
    rc = rn_segment_read(s, footer_place(s, magic), footer, sizeof(footer),
                         &got, err);
    if (rc)
        return rc;
    *found = got == sizeof(footer) && rn_get_u32(footer + 8) == magic &&
             rn_get_u64(footer + 16) == footer_number(s, magic) &&
             rn_get_u64(footer) ==
                 rn_hash64(rn_view_of(footer + 8, FOOTER_BYTES - 8), 0);
    return RN_OK;
}

/* Writing zeros instead of only allocating makes later syncs cheap: the file
 * system need not record for each block that it now holds data.  Each piece is
 * written back before the next, because a commit's sync would wait behind all
 * of them if they came at once. */
static int write_zeros(struct rn_segment *s, uint64_t to)
{
    char *zeros = rn_new(CHUNK);
    int error = zeros ? 0 : ENOMEM;

    for (uint64_t at = s->bytes; !error && at < to; at += CHUNK) {
        uint64_t len = to - at < CHUNK ? to - at : CHUNK;
        error = rn_file_write(s->file, rn_view_of(zeros, (size_t)len), at);
        if (!error)
            error = s->file->env->ops->write_back(s->file, at, len);
    }
    rn_free(zeros);
    return error;
}

/* Gives a new file its length, the footer that records it, and a sync. */
int rn_segment_fill(struct rn_segment *s, uint64_t bytes)
{
    int error = s->file->env->ops->reserve(s->file, 0, bytes, RN_RESERVE_KEEP);

    if (error && error != EOPNOTSUPP)
        return error;
    error = write_zeros(s, bytes - RN_WAL_BLOCK);
    s->bytes = bytes;
    if (!error)
        error = rn_segment_write_footer(s, s->file, RN_FOOTER_END);
    return error ? error : rn_file_sync(s->file);
}

/* The first segment is only allocated, so that a first start is quick. */
int rn_segment_fill_first(struct rn_segment *s, uint64_t bytes)
{
    int error = s->file->env->ops->reserve(s->file, 0, bytes, RN_RESERVE_GROW);

    if (error == EOPNOTSUPP)
        return rn_segment_fill(s, bytes);
    s->bytes = bytes;
    if (!error)
        error = rn_segment_write_footer(s, s->file, RN_FOOTER_END);
    return error;
}
