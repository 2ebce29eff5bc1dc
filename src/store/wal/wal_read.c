/* wal_read.c -- reads the WAL's records and follows their chain; wal.h
 * has the format. */
#include "store/wal/wal_read.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "store/bug.h"
#include "store/wal/wal_state.h"

#include <inttypes.h>
#include <stdlib.h>

struct header {
    uint64_t checksum;
    uint32_t magic, length;
    uint64_t seq, prev;
};

/* ---- records ------------------------------------------------------------- */

static struct header header_decode(const char *at)
{
    return (struct header){
        .checksum = rn_get_u64(at),
        .magic = rn_get_u32(at + 8),
        .length = rn_get_u32(at + 12),
        .seq = rn_get_u64(at + 16),
        .prev = rn_get_u64(at + 24),
    };
}

uint64_t rn_wal_checksum(const char *record, uint32_t length)
{
    return rn_hash64(rn_view_of(record + 8, RN_WAL_HEADER - 8 + length), 0);
}

/* Reads until `record` has `len` bytes, or the file ends. */
static enum rn_code read_up_to(const struct rn_segment *s, uint64_t offset,
                               struct rn_buf *record, size_t len,
                               struct rn_err *err)
{
    size_t more = len - record->len, got = 0;
    enum rn_code rc = rn_buf_reserve(record, more);

    if (rc)
        return rn_fail(err, rc, "log-%010" PRIu64 ": out of memory", s->number);
    rc = rn_segment_read(s, offset + record->len, record->at + record->len,
                         more, &got, err);
    record->len += got;
    return rc;
}

/* Reads the record at `offset` into `record`.  RN_NOT_FOUND if there is no good
 * record. */
static enum rn_code record_read(const struct rn_segment *s, uint64_t offset,
                                struct rn_buf *record, struct header *out,
                                struct rn_err *err)
{
    enum rn_code rc;
    size_t len;

    rn_buf_clear(record);
    if (offset + RN_WAL_HEADER > rn_segment_room(s))
        return RN_NOT_FOUND;
    rc = read_up_to(s, offset, record, RN_WAL_BLOCK, err);
    if (rc)
        return rc;
    if (record->len < RN_WAL_HEADER)
        return RN_NOT_FOUND;
    *out = header_decode(record->at);
    if (out->magic != RN_WAL_MAGIC ||
        out->length > rn_segment_room(s) - offset - RN_WAL_HEADER)
        return RN_NOT_FOUND;
    len = RN_WAL_HEADER + out->length;
    if (len > record->len)
        rc = read_up_to(s, offset, record, len, err);
    if (rc)
        return rc;
    if (record->len < len)
        return RN_NOT_FOUND;
    record->len = len;
    return rn_wal_checksum(record->at, out->length) == out->checksum
               ? RN_OK
               : RN_NOT_FOUND;
}

struct rn_segment *rn_wal_row_find(struct rn_wal *wal, uint64_t number)
{
    for (size_t i = 0; i < wal->row_len; i++) {
        if (wal->row[i].number == number)
            return &wal->row[i];
    }
    return NULL;
}

static bool continues(const struct header *h, const struct rn_wal_place *at)
{
    if (RN_BUG(STALE_RECORD_ACCEPTED))
        return true;
    return h->seq == at->seq + 1 && h->prev == at->chain;
}

enum rn_code rn_wal_chain_next(struct rn_wal *wal, struct rn_wal_place *at,
                               struct rn_buf *record, struct rn_err *err)
{
    uint64_t offset = at->offset;

    for (uint64_t i = 0; i < 2; i++, offset = 0) {
        struct rn_segment *s = rn_wal_row_find(wal, at->segment + i);
        struct header h;
        enum rn_code rc;

        if (!s)
            return RN_NOT_FOUND;
        rc = record_read(s, offset, record, &h, err);
        if (rc == RN_NOT_FOUND || (!rc && !continues(&h, at)))
            continue;
        if (rc)
            return rc;
        *at = (struct rn_wal_place){
            .segment = s->number,
            .offset = offset + rn_segment_align(record->len),
            .seq = h.seq,
            .chain = h.checksum,
        };
        return RN_OK;
    }
    return RN_NOT_FOUND;
}

/* ---- opening ------------------------------------------------------------- */

static void row_sort(struct rn_wal *wal)
{
    for (size_t i = 1; i < wal->row_len; i++) {
        struct rn_segment s = wal->row[i];
        size_t j = i;
        for (; j > 0 && wal->row[j - 1].number > s.number; j--)
            wal->row[j] = wal->row[j - 1];
        wal->row[j] = s;
    }
}

struct names {
    uint64_t numbers[RN_WAL_SEGMENTS];
    size_t len;
};

static void note_name(void *context, const char *name)
{
    struct names *names = context;

    if (strncmp(name, "log-", 4) != 0 || strlen(name) != 14 ||
        strspn(name + 4, "0123456789") != 10)
        return;
    if (names->len < RN_WAL_SEGMENTS)
        names->numbers[names->len++] = strtoull(name + 4, NULL, 10);
}

enum rn_code rn_wal_open_all(struct rn_wal *wal, uint64_t least,
                             enum rn_open how, struct rn_err *err)
{
    struct names *names = rn_new(sizeof(*names));
    enum rn_code rc = RN_OK;
    int error;

    if (!names)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", wal->dir);
    error = wal->opts.env->ops->list(wal->opts.env, wal->dir, note_name, names);
    if (error)
        rc = rn_fail_errno(err, error, "%s", wal->dir);
    for (size_t i = 0; !rc && i < names->len; i++) {
        if (names->numbers[i] < least)
            continue;
        rc = rn_wal_segment_open(wal, names->numbers[i], how,
                                 &wal->row[wal->row_len], err);
        wal->row_len += !rc;
    }
    rn_free(names);
    row_sort(wal);
    return rc;
}

static void note_damage(struct rn_wal *wal, uint64_t segment, uint64_t offset)
{
    if (wal->opts.damaged)
        *wal->opts.damaged =
            (struct rn_wal_place){ .segment = segment, .offset = offset };
}

static enum rn_code header_read(const struct rn_segment *s, uint64_t offset,
                                struct header *out, struct rn_err *err)
{
    char block[RN_WAL_HEADER] = { 0 };
    size_t got = 0;
    enum rn_code rc =
        rn_segment_read(s, offset, block, sizeof(block), &got, err);

    *out = header_decode(block);
    if (got < sizeof(block) || out->magic != RN_WAL_MAGIC)
        *out = (struct header){ 0 };
    return rc;
}

/* True if `s` holds the next record in a place where it was not written. */
static bool holds_next(const struct rn_wal *wal, const struct rn_segment *s)
{
    struct rn_err ignored;
    struct header h;

    for (uint64_t at = RN_WAL_BLOCK; at + RN_WAL_HEADER <= rn_segment_room(s);
         at += RN_WAL_BLOCK) {
        if (!header_read(s, at, &h, &ignored) && h.magic &&
            continues(&h, &wal->end))
            return true;
    }
    return false;
}

/* There is more at `offset` of `s`, and the next record is not good.  The next
 * record lies right behind the end, or at the start of a later segment: the
 * latter if the record found is not there, or has taken its place. */
static enum rn_code fail_beyond(struct rn_wal *wal, const struct rn_segment *s,
                                uint64_t offset, struct rn_err *err)
{
    bool later =
        s->number > wal->end.segment && (offset > 0 || holds_next(wal, s));
    uint64_t number = later ? s->number : wal->end.segment;
    uint64_t at = later ? 0 : wal->end.offset;

    note_damage(wal, number, at);
    return rn_fail(err, RN_CORRUPT,
                   "%s/log-%010" PRIu64 ": damaged at offset %" PRIu64
                   ": record %" PRIu64 " is missing, but the WAL goes on at "
                   "offset %" PRIu64 " of log-%010" PRIu64,
                   wal->dir, number, at, wal->end.seq + 1, offset, s->number);
}

/* What lies behind the end of the chain: the checksums, from their headers, of
 * records that would be next if they were good.  Each of the two places where
 * the next record is written may have one. */
struct behind {
    uint64_t checksums[2];
    size_t len;
    struct rn_buf *scratch; /* for records */
};

static enum rn_code look_behind(struct rn_wal *wal, struct behind *out,
                                struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    for (uint64_t i = 0; !rc && i < 2; i++) {
        const struct rn_segment *s = rn_wal_row_find(wal, wal->end.segment + i);
        struct header h = { 0 };
        if (s)
            rc = header_read(s, i ? 0 : wal->end.offset, &h, err);
        if (!rc && h.magic && continues(&h, &wal->end))
            out->checksums[out->len++] = h.checksum;
    }
    return rc;
}

/* L3: RN_OK if the record at `offset` of `s` proves that a record before it was
 * good once.  A whole record beyond the next one proves it.  So does a header
 * alone whose prev is the checksum of the next record, or the next record's own
 * header in a place where it was not written. */
static enum rn_code look_beyond(const struct rn_wal *wal,
                                const struct behind *behind,
                                const struct rn_segment *s, uint64_t offset,
                                struct rn_err *err)
{
    const struct rn_wal_place *end = &wal->end;
    struct header h = { 0 };
    enum rn_code rc = header_read(s, offset, &h, err);

    if (rc)
        return rc;
    if (!h.magic || h.seq <= end->seq)
        return RN_NOT_FOUND;
    if (h.seq == end->seq + 1) {
        bool here = s->number == end->segment
                        ? offset == end->offset
                        : s->number == end->segment + 1 && offset == 0;
        return !here && h.prev == end->chain ? RN_OK : RN_NOT_FOUND;
    }
    for (size_t i = 0; h.seq == end->seq + 2 && i < behind->len; i++) {
        if (h.prev == behind->checksums[i])
            return RN_OK;
    }
    return record_read(s, offset, behind->scratch, &h, err);
}

static enum rn_code find_beyond(struct rn_wal *wal, const struct behind *behind,
                                const struct rn_segment *s, uint64_t offset,
                                struct rn_err *err)
{
    for (; offset + RN_WAL_HEADER <= rn_segment_room(s);
         offset += RN_WAL_BLOCK) {
        enum rn_code rc = look_beyond(wal, behind, s, offset, err);
        if (rc != RN_NOT_FOUND)
            return rc ? rc : fail_beyond(wal, s, offset, err);
    }
    return RN_OK;
}

enum rn_code rn_wal_check_end(struct rn_wal *wal, struct rn_wal_place at,
                              struct rn_buf *scratch, struct rn_err *err)
{
    struct behind behind = { .scratch = scratch };
    enum rn_code rc;

    wal->end = at;
    rc = look_behind(wal, &behind, err);
    for (size_t i = 0; !rc && i < wal->row_len; i++) {
        const struct rn_segment *s = &wal->row[i];
        uint64_t from = s->number == at.segment ? at.offset : 0;
        if (s->number >= at.segment)
            rc = find_beyond(wal, &behind, s, from, err);
    }
    return rc;
}

/* Follows the chain from `from` to its end, then verifies that it is the end.
 */
static enum rn_code find_end(struct rn_wal *wal, struct rn_wal_place from,
                             struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    enum rn_code rc;

    wal->end = wal->before_last = from;
    for (;;) {
        struct rn_wal_place next = wal->end;
        rc = rn_wal_chain_next(wal, &next, &record, err);
        if (rc)
            break;
        wal->before_last = wal->end;
        wal->end = next;
    }
    if (rc == RN_NOT_FOUND)
        rc = RN_OK;
    if (!rc && !RN_BUG(STOP_AT_ROT))
        rc = rn_wal_check_end(wal, wal->end, &record, err);
    rn_buf_release(&record);
    return rc;
}

/* Leaves the segments with records after `from` in the row; the others are
 * spare. */
static void put_spares_aside(struct rn_wal *wal, uint64_t from)
{
    size_t kept = 0;

    for (size_t i = 0; i < wal->row_len; i++) {
        struct rn_segment s = wal->row[i];
        if (s.number < from || s.number > wal->end.segment)
            wal->spare[wal->spare_len++] = s;
        else
            wal->row[kept++] = s;
    }
    wal->row_len = kept;
    wal->current = kept - 1;
}

/* From the checkpoint's segment on, each segment must be complete, and must
 * exist if the one before announced it. */
static enum rn_code check_row(struct rn_wal *wal, struct rn_wal_place from,
                              struct rn_err *err)
{
    bool wanted = true, whole = false;
    enum rn_code rc = RN_OK;

    for (uint64_t n = from.segment; !rc && wanted; n++) {
        const struct rn_segment *s = rn_wal_row_find(wal, n);
        if (s)
            rc = rn_segment_has_footer(s, RN_FOOTER_END, &whole, err);
        if (rc)
            return rc;
        if (!s || !whole || (n == from.segment && s->bytes < from.offset)) {
            note_damage(wal, n, s ? s->bytes : 0);
            return rn_fail(err, RN_CORRUPT, "%s/log-%010" PRIu64 ": %s",
                           wal->dir, n, s ? "cut short" : "missing");
        }
        rc = rn_segment_has_footer(s, RN_FOOTER_READY, &wanted, err);
    }
    return rc;
}

enum rn_code rn_wal_open(const struct rn_wal_opts *opts,
                         struct rn_wal_place from, struct rn_wal **out,
                         struct rn_err *err)
{
    struct rn_wal *wal = NULL;
    enum rn_code rc = rn_wal_new(opts, &wal);

    if (rc)
        return rn_fail(err, rc, "%s: out of memory", opts->dir);
    rc = rn_wal_open_all(wal, 0, opts->read_only ? RN_OPEN_READ : RN_OPEN_WRITE,
                         err);
    if (!rc)
        rc = check_row(wal, from, err);
    if (!rc)
        rc = find_end(wal, from, err);
    if (rc)
        goto out;
    put_spares_aside(wal, from.segment);
    *out = wal;
    wal = NULL;
out:
    rn_wal_close(wal);
    return rc;
}

enum rn_code rn_wal_find(const struct rn_wal_opts *opts, bool *found,
                         struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    struct rn_wal *wal = NULL;
    enum rn_code rc = rn_wal_new(opts, &wal);

    if (rc)
        return rn_fail(err, rc, "%s: out of memory", opts->dir);
    *found = false;
    rc = rn_wal_open_all(wal, 0, RN_OPEN_READ, err);
    for (size_t i = 0; !rc && !*found && i < wal->row_len; i++) {
        uint64_t offset = 0;
        *found = wal->row[i].number != RN_WAL_FIRST;
        for (; !rc && !*found && offset < wal->row[i].bytes;
             offset += RN_WAL_BLOCK) {
            struct header h;
            rc = record_read(&wal->row[i], offset, &record, &h, err);
            *found = !rc;
            if (rc == RN_NOT_FOUND)
                rc = RN_OK;
        }
    }
    rn_buf_release(&record);
    rn_wal_close(wal);
    return rc;
}

/* ---- replay -------------------------------------------------------------- */

enum rn_code rn_wal_replay(struct rn_wal *wal, struct rn_wal_place from,
                           rn_wal_each_fn *each, void *context,
                           struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    struct rn_wal_place at = from;
    enum rn_code rc = RN_OK;

    while (!rc && at.seq < wal->end.seq) {
        rc = rn_wal_chain_next(wal, &at, &record, err);
        if (rc == RN_NOT_FOUND)
            rc = rn_fail(err, RN_CORRUPT, "%s: the WAL changed while read",
                         wal->dir);
        if (!rc) {
            rc = each(context, at.seq,
                      rn_view_of(record.at + RN_WAL_HEADER,
                                 record.len - RN_WAL_HEADER));
        }
    }
    rn_buf_release(&record);
    if (RN_BUG(SEQ_REUSED_AFTER_RECOVERY) && wal->end.seq > from.seq)
        wal->end.seq--;
    return rc;
}

/* A record whose sync failed in an earlier process may be in the page cache
 * only, and no later sync would report it.  Only the last record can be: each
 * earlier one was synced before the next was written.  So the last one is read
 * again, from the device; if it is not there, it never was durable. */
static enum rn_code check_last(struct rn_wal *wal, struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    struct rn_wal_place end = wal->before_last;
    struct rn_segment *s = rn_wal_row_find(wal, wal->end.segment);
    uint64_t from = end.segment == s->number ? end.offset : 0;
    enum rn_code rc;

    wal->opts.env->ops->reread(s->file, from, wal->end.offset - from);
    rc = rn_wal_chain_next(wal, &end, &record, err);
    rn_buf_release(&record);
    if (rc && rc != RN_NOT_FOUND)
        return rc;
    wal->end = end;
    while (wal->row[wal->current].number > end.segment)
        wal->current--; /* the former current segment is ready now */
    return RN_OK;
}

enum rn_code rn_wal_secure_end(struct rn_wal *wal, struct rn_err *err)
{
    for (size_t i = 0; i < wal->row_len; i++) {
        int error = rn_file_sync(wal->row[i].file);
        if (error)
            return rn_fail_errno(err, error, "%s/log-%010" PRIu64 ": syncing",
                                 wal->dir, wal->row[i].number);
    }
    if (wal->end.seq == wal->before_last.seq || RN_BUG(CACHE_TRUSTED_AT_OPEN))
        return RN_OK;
    return check_last(wal, err);
}
