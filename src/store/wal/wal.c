/* wal.c -- the WAL's segments, append and sync; see wal.h. */
#include "store/wal/wal.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/bug.h"
#include "store/wal/wal_read.h"
#include "store/wal/wal_state.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { IN_THE_MAKING = 0 }; /* number of a segment without a footer yet */

enum rn_code rn_wal_create(const struct rn_wal_opts *opts, struct rn_wal **out,
                           struct rn_err *err)
{
    struct rn_wal *wal = NULL;
    enum rn_code rc = rn_wal_new(opts, &wal);
    int error;

    if (rc)
        return rn_fail(err, rc, "%s: out of memory", opts->dir);
    rc = rn_wal_segment_open(wal, RN_WAL_FIRST, RN_OPEN_IN_PLACE, &wal->row[0],
                             err);
    if (rc)
        goto out;
    wal->row_len = 1;
    error = rn_segment_fill_first(&wal->row[0], opts->first_bytes);
    if (error) {
        rc = rn_fail_errno(err, error, "%s/log-%010d: allocating", opts->dir,
                           RN_WAL_FIRST);
        goto out;
    }
    wal->end = (struct rn_wal_place){ .segment = RN_WAL_FIRST };
    *out = wal;
    wal = NULL;
out:
    rn_wal_close(wal);
    return rc;
}

struct rn_file *rn_wal_created(const struct rn_wal *wal)
{
    return wal->row[0].file;
}

static void close_row(struct rn_segment *row, size_t len)
{
    for (size_t i = 0; i < len; i++)
        rn_file_close(row[i].file);
}

void rn_wal_close(struct rn_wal *wal)
{
    if (!wal)
        return;
    close_row(wal->row, wal->row_len);
    close_row(wal->spare, wal->spare_len);
    pthread_mutex_destroy(&wal->lock);
    rn_free(wal->dir);
    rn_free(wal);
}

/* ---- segments ------------------------------------------------------------ */

/* Takes the spare that already has the wanted name, else any spare. */
static bool spare_take(struct rn_wal *wal, uint64_t number,
                       struct rn_segment *out)
{
    size_t pick = 0;
    bool any;

    pthread_mutex_lock(&wal->lock);
    any = wal->spare_len > 0;
    for (size_t i = 0; i < wal->spare_len; i++) {
        if (wal->spare[i].number == number)
            pick = i;
    }
    if (any) {
        *out = wal->spare[pick];
        wal->spare[pick] = wal->spare[--wal->spare_len];
    }
    pthread_mutex_unlock(&wal->lock);
    return any;
}

static void spare_give(struct rn_wal *wal, struct rn_segment s)
{
    pthread_mutex_lock(&wal->lock);
    wal->spare[wal->spare_len++] = s;
    pthread_mutex_unlock(&wal->lock);
}

static int segment_rename(struct rn_wal *wal, struct rn_segment *s,
                          uint64_t number)
{
    char from[RN_WAL_PATH], to[RN_WAL_PATH];
    struct rn_env *env = wal->opts.env;
    int error;

    rn_wal_segment_path(wal, s->number, from);
    rn_wal_segment_path(wal, number, to);
    error = s->number == number ? 0 : env->ops->rename(env, from, to);
    if (error)
        return error;
    s->number = number;
    return RN_BUG(NO_DIR_SYNC) ? 0 : env->ops->sync_dir(env, wal->dir); /* L4 */
}

static void segment_drop(struct rn_wal *wal, struct rn_segment *s)
{
    char path[RN_WAL_PATH];

    rn_wal_segment_path(wal, s->number, path);
    rn_file_close(s->file);
    (void)wal->opts.env->ops->remove(wal->opts.env, path);
    *s = (struct rn_segment){ 0 };
}

/* Finds a spare that is whole and large enough.  Others are removed, except one
 * with the wanted name: it was announced, so it stays until the new segment
 * takes its place. */
static enum rn_code find_spare(struct rn_wal *wal, uint64_t number,
                               struct rn_segment *s, struct rn_err *err)
{
    bool whole = false;

    while (spare_take(wal, number, s)) {
        enum rn_code rc = rn_segment_has_footer(s, RN_FOOTER_END, &whole, err);
        if (!rc && whole && s->bytes >= wal->opts.segment_bytes)
            return RN_OK;
        if (rc || s->number == number)
            rn_file_close(s->file);
        else
            segment_drop(wal, s);
        if (rc)
            return rc;
    }
    *s = (struct rn_segment){ 0 };
    return RN_OK;
}

/* Uses a file handle of its own: the kernel reports a failed write-back once to
 * each open file, and the writer must not miss it because we saw it first.
 * `*lost`: the sync failed, and with it perhaps that of a record. */
static int announce(struct rn_wal *wal, const struct rn_segment *before,
                    bool *lost)
{
    struct rn_file *file = NULL;
    char path[RN_WAL_PATH];
    int error;

    rn_wal_segment_path(wal, before->number, path);
    error = rn_file_open(wal->opts.env, path, RN_OPEN_WRITE, &file);
    if (!error)
        error = rn_segment_write_footer(before, file, RN_FOOTER_READY);
    if (!error) {
        error = rn_file_sync(file);
        *lost = error;
    }
    rn_file_close(file);
    return error;
}

/* Makes one segment ready behind `before`: a renamed spare, or a new file,
 * which gets its name when it is complete. */
static enum rn_code segment_ready(struct rn_wal *wal,
                                  const struct rn_segment *before,
                                  struct rn_segment *s, struct rn_err *err)
{
    uint64_t number = before->number + 1;
    enum rn_code rc = find_spare(wal, number, s, err);
    bool lost = false;
    int error = 0;

    if (rc)
        return rc;
    if (!s->file) {
        rc = rn_wal_segment_open(wal, IN_THE_MAKING, RN_OPEN_IN_PLACE, s, err);
        if (rc)
            return rc;
        error = rn_segment_fill(s, wal->opts.segment_bytes);
    } else {
        /* A killed process may have left it complete in the page cache only. */
        error = rn_file_sync(s->file);
        lost = error;
    }
    if (!error)
        error = segment_rename(wal, s, number);
    if (!error)
        error = announce(wal, before, &lost);
    if (!error) {
        /* A record is written once, and read only after a crash. */
        wal->opts.env->ops->direct(s->file);
        return RN_OK;
    }
    if (s->number == IN_THE_MAKING)
        segment_drop(wal, s);
    else
        spare_give(wal, *s);
    rc = rn_fail_errno(err, error, "%s/log-%010" PRIu64 ": preparing", wal->dir,
                       number);
    return lost ? RN_UNKNOWN : rc;
}

enum rn_code rn_wal_prepare(struct rn_wal *wal, bool *ready, struct rn_err *err)
{
    struct rn_segment s = { 0 }, last;
    uint64_t bytes = 0;
    bool spare;
    enum rn_code rc;

    pthread_mutex_lock(&wal->lock);
    *ready = wal->current + 1 < wal->row_len;
    last = wal->row[wal->row_len - 1];
    for (size_t i = 0; i < wal->row_len; i++)
        bytes += wal->row[i].bytes;
    spare = wal->spare_len > 0;
    pthread_mutex_unlock(&wal->lock);

    if (*ready)
        return RN_OK;
    if (!spare && bytes + wal->opts.segment_bytes > wal->opts.bytes_max)
        return RN_OK; /* at the ceiling: a checkpoint must come first */
    rc = segment_ready(wal, &last, &s, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&wal->lock);
    assert(wal->row_len < RN_WAL_SEGMENTS);
    wal->row[wal->row_len++] = s;
    pthread_mutex_unlock(&wal->lock);
    *ready = true;
    return RN_OK;
}

/* Takes a spare with a number below the row's.  One with a higher number may
 * have been announced, and must exist. */
static bool surplus_take(struct rn_wal *wal, struct rn_segment *out)
{
    bool found = false;

    pthread_mutex_lock(&wal->lock);
    for (size_t i = 0; !found && i < wal->spare_len; i++) {
        if (wal->spare[i].number > wal->row[0].number)
            continue;
        *out = wal->spare[i];
        wal->spare[i] = wal->spare[--wal->spare_len];
        found = true;
    }
    pthread_mutex_unlock(&wal->lock);
    return found;
}

/* Removes spare segments beyond the size limit. */
static void drop_surplus(struct rn_wal *wal)
{
    struct rn_segment s;

    while (rn_wal_bytes(wal) > wal->opts.bytes_max && surplus_take(wal, &s))
        segment_drop(wal, &s);
}

void rn_wal_forget(struct rn_wal *wal, struct rn_wal_place place)
{
    size_t gone = 0;

    pthread_mutex_lock(&wal->lock);
    while (gone < wal->current && wal->row[gone].number < place.segment)
        wal->spare[wal->spare_len++] = wal->row[gone++];
    memmove(wal->row, wal->row + gone,
            (wal->row_len - gone) * sizeof(wal->row[0]));
    wal->row_len -= gone;
    wal->current -= gone;
    pthread_mutex_unlock(&wal->lock);
    drop_surplus(wal);
}

/* Only the maintenance thread removes segments from the row, so they stay
 * meanwhile. */
bool rn_wal_is_whole(struct rn_wal *wal)
{
    char path[RN_WAL_PATH];
    size_t len;

    pthread_mutex_lock(&wal->lock);
    len = wal->row_len;
    pthread_mutex_unlock(&wal->lock);
    for (size_t i = 0; i < len; i++) {
        rn_wal_segment_path(wal, wal->row[i].number, path);
        if (!rn_file_is_whole(wal->row[i].file, path, wal->row[i].bytes))
            return false;
    }
    return true;
}

/* ---- writing ------------------------------------------------------------- */

struct rn_wal_place rn_wal_end(struct rn_wal *wal)
{
    struct rn_wal_place end;

    pthread_mutex_lock(&wal->lock);
    end = wal->end;
    pthread_mutex_unlock(&wal->lock);
    return end;
}

bool rn_wal_has_room(struct rn_wal *wal, uint64_t payload_bytes)
{
    const struct rn_segment *s;
    bool room;

    pthread_mutex_lock(&wal->lock);
    s = &wal->row[wal->current];
    room = wal->current + 1 < wal->row_len ||
           wal->end.offset + rn_segment_align(RN_WAL_HEADER + payload_bytes) <=
               rn_segment_room(s);
    pthread_mutex_unlock(&wal->lock);
    return room;
}

/* Where a record of `bytes` goes: behind the last record, or at the start of
 * the segment that is ready. */
static bool find_room(struct rn_wal *wal, uint64_t bytes,
                      struct rn_segment *out, uint64_t *offset)
{
    size_t i;
    bool found = true;

    pthread_mutex_lock(&wal->lock);
    i = wal->current;
    *offset = wal->end.offset;
    if (*offset + bytes > rn_segment_room(&wal->row[i])) {
        i++;
        *offset = 0;
        found = i < wal->row_len && bytes <= rn_segment_room(&wal->row[i]);
    }
    if (found)
        *out = wal->row[i];
    pthread_mutex_unlock(&wal->lock);
    return found;
}

/* Erases a record that was refused: the next open must not replay it. */
static enum rn_code take_back(const struct rn_segment *s, uint64_t offset)
{
    char zeros[RN_WAL_BLOCK] = { 0 };
    int error =
        rn_file_write(s->file, rn_view_of(zeros, sizeof(zeros)), offset);

    if (!error)
        error = rn_file_sync(s->file);
    return error ? RN_UNKNOWN : RN_OK;
}

enum rn_code rn_wal_append(struct rn_wal *wal, struct rn_buf *record,
                           struct rn_err *err)
{
    uint64_t offset = 0, bytes = rn_segment_align(record->len);
    uint32_t length = (uint32_t)(record->len - RN_WAL_HEADER);
    struct rn_segment s = { 0 };
    enum rn_code rc;
    int error;

    if (!find_room(wal, bytes, &s, &offset))
        return rn_fail(err, RN_BUSY, "%s: the WAL is full", wal->dir);
    rc = rn_buf_reserve(record, (size_t)(bytes - record->len));
    if (rc)
        return rn_fail(err, rc, "%s: a group is too large", wal->dir);
    memset(record->at + record->len, 0, (size_t)(bytes - record->len));
    rn_put_u32(record->at + 8, RN_WAL_MAGIC);
    rn_put_u32(record->at + 12, length);
    rn_put_u64(record->at + 16, wal->end.seq + 1);
    rn_put_u64(record->at + 24, wal->end.chain);
    rn_put_u64(record->at, rn_wal_checksum(record->at, length));

    error =
        rn_file_write(s.file, rn_view_of(record->at, (size_t)bytes), offset);
    if (error) {
        rc = take_back(&s, offset);
        rn_fail_errno(err, error, "%s/log-%010" PRIu64 ": writing", wal->dir,
                      s.number);
        return rc ? rc : (error == ENOSPC ? RN_FULL : RN_IO);
    }
    pthread_mutex_lock(&wal->lock);
    /* The row may have lost segments at its front meanwhile. */
    while (wal->row[wal->current].number != s.number)
        wal->current++;
    wal->end = (struct rn_wal_place){
        .segment = s.number,
        .offset = offset + bytes,
        .seq = wal->end.seq + 1,
        .chain = rn_get_u64(record->at),
    };
    pthread_mutex_unlock(&wal->lock);
    return RN_OK;
}

enum rn_code rn_wal_sync(struct rn_wal *wal, struct rn_err *err)
{
    struct rn_segment s;
    int error;

    pthread_mutex_lock(&wal->lock);
    s = wal->row[wal->current];
    pthread_mutex_unlock(&wal->lock);
    error = rn_file_sync(s.file);
    if (error)
        return rn_fail_errno(err, error, "%s/log-%010" PRIu64 ": syncing",
                             wal->dir, s.number);
    return RN_OK;
}

/* ---- sizes --------------------------------------------------------------- */

uint64_t rn_wal_bytes(struct rn_wal *wal)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&wal->lock);
    for (size_t i = 0; i < wal->row_len; i++)
        bytes += wal->row[i].bytes;
    for (size_t i = 0; i < wal->spare_len; i++)
        bytes += wal->spare[i].bytes;
    pthread_mutex_unlock(&wal->lock);
    return bytes;
}

uint64_t rn_wal_bytes_since(struct rn_wal *wal, struct rn_wal_place place)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&wal->lock);
    for (size_t i = 0; i < wal->row_len; i++) {
        if (wal->row[i].number >= place.segment &&
            wal->row[i].number < wal->end.segment)
            bytes += wal->row[i].bytes;
    }
    bytes += wal->end.offset;
    pthread_mutex_unlock(&wal->lock);
    return bytes > place.offset ? bytes - place.offset : 0;
}
