/* log.c -- segments, records and the chain through them; see log.h. */
#include "store/log.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "store/bug.h"
#include "store/segment.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAGIC = 0x314c4e52, /* "RNL1" */
    IN_THE_MAKING = 0,  /* number of a segment without a mark yet */
    FIRST = 1,
    SEGMENTS_MAX = 4096,
    PATH_BYTES = 4096,
};

struct rn_log {
    struct rn_log_opts opts;
    char *dir;

    /* Guards the two rows, which the keeper changes and the writer reads. */
    pthread_mutex_t lock;
    /* In order of their numbers: those that hold records since the last
     * checkpoint, the current one, and perhaps one standing ready. */
    struct rn_segment row[SEGMENTS_MAX];
    size_t row_len;
    size_t current; /* index in row of the segment that `end` lies in */
    /* Files whose records are not needed any more. */
    struct rn_segment spare[SEGMENTS_MAX];
    size_t spare_len;

    struct rn_log_place end;
    struct rn_log_place before_last; /* of the records found by open */
};

struct header {
    uint64_t sum;
    uint32_t magic, length;
    uint64_t seq, prev;
};

static void segment_path(const struct rn_log *log, uint64_t number,
                         char out[PATH_BYTES])
{
    snprintf(out, PATH_BYTES, "%s/log-%010" PRIu64, log->dir, number);
}

/* ---- records ------------------------------------------------------------- */

static struct header header_decode(const char *at)
{
    return (struct header){
        .sum = rn_get_u64(at),
        .magic = rn_get_u32(at + 8),
        .length = rn_get_u32(at + 12),
        .seq = rn_get_u64(at + 16),
        .prev = rn_get_u64(at + 24),
    };
}

/* The sum covers everything behind itself. */
static uint64_t record_sum(const char *record, uint32_t length)
{
    return rn_hash64(rn_view_of(record + 8, RN_LOG_HEADER - 8 + length), 0);
}

/* Reads on until `record` has `len` bytes, or the file ends. */
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

/* Reads a record at `offset` into `record`.  RN_NOT_FOUND if there is no good
 * one. */
static enum rn_code record_read(const struct rn_segment *s, uint64_t offset,
                                struct rn_buf *record, struct header *out,
                                struct rn_err *err)
{
    enum rn_code rc;
    size_t len;

    rn_buf_clear(record);
    if (offset + RN_LOG_HEADER > rn_segment_room(s))
        return RN_NOT_FOUND;
    rc = read_up_to(s, offset, record, RN_LOG_BLOCK, err);
    if (rc)
        return rc;
    if (record->len < RN_LOG_HEADER)
        return RN_NOT_FOUND;
    *out = header_decode(record->at);
    if (out->magic != MAGIC ||
        out->length > rn_segment_room(s) - offset - RN_LOG_HEADER)
        return RN_NOT_FOUND;
    len = RN_LOG_HEADER + out->length;
    if (len > record->len)
        rc = read_up_to(s, offset, record, len, err);
    if (rc)
        return rc;
    if (record->len < len)
        return RN_NOT_FOUND;
    record->len = len;
    return record_sum(record->at, out->length) == out->sum ? RN_OK
                                                           : RN_NOT_FOUND;
}

static struct rn_segment *row_find(struct rn_log *log, uint64_t number)
{
    for (size_t i = 0; i < log->row_len; i++) {
        if (log->row[i].number == number)
            return &log->row[i];
    }
    return NULL;
}

static bool continues(const struct header *h, const struct rn_log_place *at)
{
    if (RN_BUG(STALE_RECORD_ACCEPTED))
        return true;
    return h->seq == at->seq + 1 && h->prev == at->chain;
}

/* Reads the record that continues the chain at `*at` and moves `*at` behind
 * it: the one right there, or the first of the next segment if the writer
 * found no room here.  RN_NOT_FOUND at the end. */
static enum rn_code chain_next(struct rn_log *log, struct rn_log_place *at,
                               struct rn_buf *record, struct rn_err *err)
{
    uint64_t offset = at->offset;

    for (uint64_t i = 0; i < 2; i++, offset = 0) {
        struct rn_segment *s = row_find(log, at->segment + i);
        struct header h;
        enum rn_code rc;

        if (!s)
            return RN_NOT_FOUND;
        rc = record_read(s, offset, record, &h, err);
        if (rc == RN_NOT_FOUND || (!rc && !continues(&h, at)))
            continue;
        if (rc)
            return rc;
        *at = (struct rn_log_place){
            .segment = s->number,
            .offset = offset + rn_segment_align(record->len),
            .seq = h.seq,
            .chain = h.sum,
        };
        return RN_OK;
    }
    return RN_NOT_FOUND;
}

/* ---- opening ------------------------------------------------------------- */

static void row_sort(struct rn_log *log)
{
    for (size_t i = 1; i < log->row_len; i++) {
        struct rn_segment s = log->row[i];
        size_t j = i;
        for (; j > 0 && log->row[j - 1].number > s.number; j--)
            log->row[j] = log->row[j - 1];
        log->row[j] = s;
    }
}

struct names {
    uint64_t numbers[SEGMENTS_MAX];
    size_t len;
};

static void note_name(void *context, const char *name)
{
    struct names *names = context;

    if (strncmp(name, "log-", 4) != 0 || strlen(name) != 14 ||
        strspn(name + 4, "0123456789") != 10)
        return;
    if (names->len < SEGMENTS_MAX)
        names->numbers[names->len++] = strtoull(name + 4, NULL, 10);
}

static enum rn_code segment_open(struct rn_log *log, uint64_t number,
                                 enum rn_open how, struct rn_segment *out,
                                 struct rn_err *err)
{
    char path[PATH_BYTES];
    int error;

    segment_path(log, number, path);
    *out = (struct rn_segment){ .number = number };
    error = rn_file_open(log->opts.env, path, how, &out->file);
    if (!error)
        error = rn_file_size(out->file, &out->bytes);
    if (error) {
        rn_file_close(out->file);
        out->file = NULL;
        return rn_fail_errno(err, error, "%s", path);
    }
    return RN_OK;
}

static enum rn_code log_new(const struct rn_log_opts *opts, struct rn_log **out)
{
    struct rn_log *log = rn_new(sizeof(*log));

    if (!log)
        return RN_NOMEM;
    log->opts = *opts;
    log->dir = rn_new_text(opts->dir);
    if (!log->dir) {
        rn_free(log);
        return RN_NOMEM;
    }
    log->opts.dir = log->dir;
    pthread_mutex_init(&log->lock, NULL);
    *out = log;
    return RN_OK;
}

/* Opens every segment file of the directory into the row. */
static enum rn_code open_all(struct rn_log *log, enum rn_open how,
                             struct rn_err *err)
{
    struct names *names = rn_new(sizeof(*names));
    enum rn_code rc = RN_OK;
    int error;

    if (!names)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", log->dir);
    error = log->opts.env->ops->list(log->opts.env, log->dir, note_name, names);
    if (error)
        rc = rn_fail_errno(err, error, "%s", log->dir);
    for (size_t i = 0; !rc && i < names->len; i++) {
        rc = segment_open(log, names->numbers[i], how, &log->row[log->row_len],
                          err);
        log->row_len += !rc;
    }
    rn_free(names);
    row_sort(log);
    return rc;
}

static void note_damage(struct rn_log *log, uint64_t segment, uint64_t offset)
{
    if (log->opts.damaged)
        *log->opts.damaged =
            (struct rn_log_place){ .segment = segment, .offset = offset };
}

/* A good record was found at `offset` of `s`, the next one was not.  That lies
 * right behind the end, or at the start of a later segment, before the one that
 * was found. */
static enum rn_code fail_beyond(struct rn_log *log, const struct rn_segment *s,
                                uint64_t offset, uint64_t seq,
                                struct rn_err *err)
{
    bool later = s->number > log->end.segment && offset > 0;
    uint64_t number = later ? s->number : log->end.segment;
    uint64_t at = later ? 0 : log->end.offset;

    note_damage(log, number, at);
    return rn_fail(err, RN_CORRUPT,
                   "%s/log-%010" PRIu64 ": damaged at offset %" PRIu64
                   ": record %" PRIu64 " is missing, but %" PRIu64 " follows",
                   log->dir, number, at, log->end.seq + 1, seq);
}

/* L3: looks in `s` from `offset` on for a good record beyond the next. */
static enum rn_code find_beyond(struct rn_log *log, const struct rn_segment *s,
                                uint64_t offset, struct rn_buf *scratch,
                                struct rn_err *err)
{
    char block[RN_LOG_HEADER];

    for (; offset + RN_LOG_HEADER <= rn_segment_room(s);
         offset += RN_LOG_BLOCK) {
        struct header h;
        size_t got = 0;
        enum rn_code rc =
            rn_segment_read(s, offset, block, sizeof(block), &got, err);

        if (rc)
            return rc;
        if (got < sizeof(block))
            continue;
        h = header_decode(block);
        if (h.magic != MAGIC || h.seq <= log->end.seq + 1)
            continue;
        rc = record_read(s, offset, scratch, &h, err);
        if (rc == RN_NOT_FOUND)
            continue;
        if (rc)
            return rc;
        return fail_beyond(log, s, offset, h.seq, err);
    }
    return RN_OK;
}

/* Walks the chain from `from` to its end, then makes sure that it is the end.
 */
static enum rn_code find_end(struct rn_log *log, struct rn_log_place from,
                             struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    enum rn_code rc;

    log->end = log->before_last = from;
    for (;;) {
        struct rn_log_place next = log->end;
        rc = chain_next(log, &next, &record, err);
        if (rc)
            break;
        log->before_last = log->end;
        log->end = next;
    }
    if (rc == RN_NOT_FOUND)
        rc = RN_OK;
    for (size_t i = 0; !rc && i < log->row_len; i++) {
        const struct rn_segment *s = &log->row[i];
        if (RN_BUG(STOP_AT_ROT) || s->number < from.segment)
            continue;
        if (s->number < log->end.segment)
            continue; /* the chain went all through it */
        rc = find_beyond(log, s,
                         s->number == log->end.segment ? log->end.offset : 0,
                         &record, err);
    }
    rn_buf_release(&record);
    return rc;
}

/* Leaves in the row what holds records after `from`; the rest is spare. */
static void put_spares_aside(struct rn_log *log, uint64_t from)
{
    size_t kept = 0;

    for (size_t i = 0; i < log->row_len; i++) {
        struct rn_segment s = log->row[i];
        if (s.number < from || s.number > log->end.segment)
            log->spare[log->spare_len++] = s;
        else
            log->row[kept++] = s;
    }
    log->row_len = kept;
    log->current = kept - 1;
}

/* From the checkpoint's segment on, each must be whole, and must be there if
 * the one before announced it. */
static enum rn_code check_row(struct rn_log *log, struct rn_log_place from,
                              struct rn_err *err)
{
    bool wanted = true, whole = false;
    enum rn_code rc = RN_OK;

    for (uint64_t n = from.segment; !rc && wanted; n++) {
        const struct rn_segment *s = row_find(log, n);
        if (s)
            rc = rn_segment_has_mark(s, RN_MARK_END, &whole, err);
        if (rc)
            return rc;
        if (!s || !whole || (n == from.segment && s->bytes < from.offset)) {
            note_damage(log, n, s ? s->bytes : 0);
            return rn_fail(err, RN_CORRUPT, "%s/log-%010" PRIu64 ": %s",
                           log->dir, n, s ? "cut short" : "missing");
        }
        rc = rn_segment_has_mark(s, RN_MARK_READY, &wanted, err);
    }
    return rc;
}

enum rn_code rn_log_open(const struct rn_log_opts *opts,
                         struct rn_log_place from, struct rn_log **out,
                         struct rn_err *err)
{
    struct rn_log *log = NULL;
    enum rn_code rc = log_new(opts, &log);

    if (rc)
        return rn_fail(err, rc, "%s: out of memory", opts->dir);
    rc = open_all(log, opts->read_only ? RN_OPEN_READ : RN_OPEN_WRITE, err);
    if (!rc)
        rc = check_row(log, from, err);
    if (!rc)
        rc = find_end(log, from, err);
    if (rc)
        goto out;
    put_spares_aside(log, from.segment);
    *out = log;
    log = NULL;
out:
    rn_log_close(log);
    return rc;
}

enum rn_code rn_log_find(const struct rn_log_opts *opts, bool *found,
                         struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    struct rn_log *log = NULL;
    enum rn_code rc = log_new(opts, &log);

    if (rc)
        return rn_fail(err, rc, "%s: out of memory", opts->dir);
    *found = false;
    rc = open_all(log, RN_OPEN_READ, err);
    for (size_t i = 0; !rc && !*found && i < log->row_len; i++) {
        uint64_t offset = 0;
        *found = log->row[i].number != FIRST;
        for (; !rc && !*found && offset < log->row[i].bytes;
             offset += RN_LOG_BLOCK) {
            struct header h;
            rc = record_read(&log->row[i], offset, &record, &h, err);
            *found = !rc;
            if (rc == RN_NOT_FOUND)
                rc = RN_OK;
        }
    }
    rn_buf_release(&record);
    rn_log_close(log);
    return rc;
}

enum rn_code rn_log_replay(struct rn_log *log, struct rn_log_place from,
                           rn_log_each_fn *each, void *context,
                           struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    struct rn_log_place at = from;
    enum rn_code rc = RN_OK;

    while (!rc && at.seq < log->end.seq) {
        rc = chain_next(log, &at, &record, err);
        if (rc == RN_NOT_FOUND)
            rc = rn_fail(err, RN_CORRUPT, "%s: the log changed while read",
                         log->dir);
        if (!rc)
            rc = each(context, at.seq,
                      rn_view_of(record.at + RN_LOG_HEADER,
                                 record.len - RN_LOG_HEADER));
    }
    rn_buf_release(&record);
    if (RN_BUG(SEQ_REUSED_AFTER_RECOVERY) && log->end.seq > from.seq)
        log->end.seq--;
    return rc;
}

/* The copy's segment `number`, as long as its model. */
static enum rn_code copy_segment(struct rn_log *to, const struct rn_segment *s,
                                 struct rn_err *err)
{
    struct rn_segment *out = &to->row[to->row_len];
    enum rn_code rc = segment_open(to, s->number, RN_OPEN_NEW, out, err);
    int error;

    if (rc)
        return rc;
    to->row_len++;
    error = rn_segment_fill_first(out, s->bytes);
    return error ? rn_fail_errno(err, error, "%s", to->dir) : RN_OK;
}

/* The chain ends at `at`.  Is that the end of the log, or damage? */
static enum rn_code check_end(struct rn_log *log, struct rn_log_place at,
                              struct rn_buf *scratch, struct rn_err *err)
{
    enum rn_code rc = RN_OK;

    log->end = at;
    for (size_t i = 0; !rc && i < log->row_len; i++) {
        const struct rn_segment *s = &log->row[i];
        if (s->number >= at.segment)
            rc = find_beyond(log, s, s->number == at.segment ? at.offset : 0,
                             scratch, err);
    }
    return rc;
}

/* Gives the next record of a log that may be in use.  What looks like damage
 * may be a writer who has gone on meanwhile, so the end is looked at twice. */
static enum rn_code copy_next(struct rn_log *log, struct rn_log_place *at,
                              struct rn_buf *record, struct rn_err *err)
{
    enum rn_code rc = chain_next(log, at, record, err);

    if (rc != RN_NOT_FOUND)
        return rc;
    rc = check_end(log, *at, record, err);
    if (!rc)
        return RN_NOT_FOUND;
    return chain_next(log, at, record, err) ? rc : RN_OK;
}

static enum rn_code copy_records(struct rn_log *log, struct rn_log_place at,
                                 struct rn_log *to, struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    enum rn_code rc = copy_segment(to, row_find(log, at.segment), err);

    while (!rc) {
        uint64_t segment = at.segment;
        int error;

        rc = copy_next(log, &at, &record, err);
        if (!rc && at.segment != segment)
            rc = copy_segment(to, row_find(log, at.segment), err);
        if (rc)
            break;
        error =
            rn_file_write(to->row[to->row_len - 1].file, rn_buf_view(&record),
                          at.offset - rn_segment_align(record.len));
        if (error)
            rc = rn_fail_errno(err, error, "%s: copying the log", to->dir);
    }
    rn_buf_release(&record);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

enum rn_code rn_log_copy(const struct rn_log_opts *opts,
                         struct rn_log_place from, const char *to,
                         struct rn_err *err)
{
    struct rn_log_opts target = { .env = opts->env, .dir = to };
    struct rn_log *log = NULL, *copy = NULL;
    enum rn_code rc = log_new(opts, &log);

    if (!rc)
        rc = log_new(&target, &copy);
    if (rc)
        rn_fail(err, rc, "%s: out of memory", opts->dir);
    if (!rc)
        rc = open_all(log, RN_OPEN_READ, err);
    if (!rc && !row_find(log, from.segment))
        rc = rn_fail(err, RN_CORRUPT, "%s/log-%010" PRIu64 ": missing",
                     opts->dir, from.segment);
    if (!rc)
        rc = copy_records(log, from, copy, err);
    if (!rc)
        rc = rn_log_settle(copy, err);
    rn_log_close(copy);
    rn_log_close(log);
    return rc;
}

/* A record whose sync failed, in a process that is gone, may be in the cache
 * alone, and no later sync would tell.  Only the last one can be: each before
 * it was synced before the next was written.  So it is read again, from the
 * device; if it is not there, it never was. */
static enum rn_code check_last(struct rn_log *log, struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    struct rn_log_place end = log->before_last;
    struct rn_segment *s = row_find(log, log->end.segment);
    uint64_t from = end.segment == s->number ? end.offset : 0;
    enum rn_code rc;

    log->opts.env->ops->reread(s->file, from, log->end.offset - from);
    rc = chain_next(log, &end, &record, err);
    rn_buf_release(&record);
    if (rc && rc != RN_NOT_FOUND)
        return rc;
    log->end = end;
    while (log->row[log->current].number > end.segment)
        log->current--; /* what was thought to be current stands ready */
    return RN_OK;
}

enum rn_code rn_log_settle(struct rn_log *log, struct rn_err *err)
{
    for (size_t i = 0; i < log->row_len; i++) {
        int error = rn_file_sync(log->row[i].file);
        if (error)
            return rn_fail_errno(err, error, "%s/log-%010" PRIu64 ": syncing",
                                 log->dir, log->row[i].number);
    }
    if (log->end.seq == log->before_last.seq || RN_BUG(CACHE_TRUSTED_AT_OPEN))
        return RN_OK;
    return check_last(log, err);
}

static void close_row(struct rn_segment *row, size_t len)
{
    for (size_t i = 0; i < len; i++)
        rn_file_close(row[i].file);
}

void rn_log_close(struct rn_log *log)
{
    if (!log)
        return;
    close_row(log->row, log->row_len);
    close_row(log->spare, log->spare_len);
    pthread_mutex_destroy(&log->lock);
    rn_free(log->dir);
    rn_free(log);
}

/* ---- segments ------------------------------------------------------------ */

enum rn_code rn_log_create(const struct rn_log_opts *opts, struct rn_log **out,
                           struct rn_err *err)
{
    struct rn_log *log = NULL;
    enum rn_code rc = log_new(opts, &log);
    int error;

    if (rc)
        return rn_fail(err, rc, "%s: out of memory", opts->dir);
    rc = segment_open(log, FIRST, RN_OPEN_NEW, &log->row[0], err);
    if (rc)
        goto out;
    log->row_len = 1;
    error = rn_segment_fill_first(&log->row[0], opts->segment_bytes);
    if (error) {
        rc = rn_fail_errno(err, error, "%s/log-%010d: allocating", opts->dir,
                           FIRST);
        goto out;
    }
    log->end = (struct rn_log_place){ .segment = FIRST };
    *out = log;
    log = NULL;
out:
    rn_log_close(log);
    return rc;
}

/* Takes the spare that already has the wanted name, else any, else none. */
static bool spare_take(struct rn_log *log, uint64_t number,
                       struct rn_segment *out)
{
    size_t pick = 0;
    bool any;

    pthread_mutex_lock(&log->lock);
    any = log->spare_len > 0;
    for (size_t i = 0; i < log->spare_len; i++) {
        if (log->spare[i].number == number)
            pick = i;
    }
    if (any) {
        *out = log->spare[pick];
        log->spare[pick] = log->spare[--log->spare_len];
    }
    pthread_mutex_unlock(&log->lock);
    return any;
}

static void spare_give(struct rn_log *log, struct rn_segment s)
{
    pthread_mutex_lock(&log->lock);
    log->spare[log->spare_len++] = s;
    pthread_mutex_unlock(&log->lock);
}

static int segment_rename(struct rn_log *log, struct rn_segment *s,
                          uint64_t number)
{
    char from[PATH_BYTES], to[PATH_BYTES];
    struct rn_env *env = log->opts.env;
    int error;

    segment_path(log, s->number, from);
    segment_path(log, number, to);
    error = s->number == number ? 0 : env->ops->rename(env, from, to);
    if (error)
        return error;
    s->number = number;
    return RN_BUG(NO_DIR_SYNC) ? 0 : env->ops->sync_dir(env, log->dir); /* L4 */
}

static void segment_drop(struct rn_log *log, struct rn_segment *s)
{
    char path[PATH_BYTES];

    segment_path(log, s->number, path);
    rn_file_close(s->file);
    (void)log->opts.env->ops->remove(log->opts.env, path);
    *s = (struct rn_segment){ 0 };
}

/* A spare, if there is one that is whole and large enough.  Of those that are
 * not, one with the wanted name stays until the new one takes its place: it was
 * announced. */
static enum rn_code find_spare(struct rn_log *log, uint64_t number,
                               struct rn_segment *s, struct rn_err *err)
{
    bool whole = false;

    while (spare_take(log, number, s)) {
        enum rn_code rc = rn_segment_has_mark(s, RN_MARK_END, &whole, err);
        if (!rc && whole && s->bytes >= log->opts.segment_bytes)
            return RN_OK;
        if (rc || s->number == number)
            rn_file_close(s->file);
        else
            segment_drop(log, s);
        if (rc)
            return rc;
    }
    *s = (struct rn_segment){ 0 };
    return RN_OK;
}

/* Through a file of its own: the kernel tells a failed write-back once to each
 * open file, and the writer must not miss it because we heard of it first.
 * `*lost`: the sync failed, and with it perhaps a record's. */
static int announce(struct rn_log *log, const struct rn_segment *before,
                    bool *lost)
{
    struct rn_file *file = NULL;
    char path[PATH_BYTES];
    int error;

    segment_path(log, before->number, path);
    error = rn_file_open(log->opts.env, path, RN_OPEN_WRITE, &file);
    if (!error)
        error = rn_segment_mark(before, file, RN_MARK_READY);
    if (!error) {
        error = rn_file_sync(file);
        *lost = error;
    }
    rn_file_close(file);
    return error;
}

/* One ready segment behind `before`: a spare under a new name, or a new file,
 * which gets its name when it is whole. */
static enum rn_code segment_ready(struct rn_log *log,
                                  const struct rn_segment *before,
                                  struct rn_segment *s, struct rn_err *err)
{
    uint64_t number = before->number + 1;
    enum rn_code rc = find_spare(log, number, s, err);
    bool lost = false;
    int error = 0;

    if (rc)
        return rc;
    if (!s->file) {
        rc = segment_open(log, IN_THE_MAKING, RN_OPEN_NEW, s, err);
        if (rc)
            return rc;
        error = rn_segment_fill(s, log->opts.segment_bytes);
    } else {
        /* A killed process may have left it whole in the page cache only. */
        error = rn_file_sync(s->file);
        lost = error;
    }
    if (!error)
        error = segment_rename(log, s, number);
    if (!error)
        error = announce(log, before, &lost);
    if (!error)
        return RN_OK;
    if (s->number == IN_THE_MAKING)
        segment_drop(log, s);
    else
        spare_give(log, *s);
    rc = rn_fail_errno(err, error, "%s/log-%010" PRIu64 ": preparing", log->dir,
                       number);
    return lost ? RN_UNKNOWN : rc;
}

enum rn_code rn_log_prepare(struct rn_log *log, bool *ready, struct rn_err *err)
{
    struct rn_segment s = { 0 }, last;
    uint64_t bytes = 0;
    bool spare;
    enum rn_code rc;

    pthread_mutex_lock(&log->lock);
    *ready = log->current + 1 < log->row_len;
    last = log->row[log->row_len - 1];
    for (size_t i = 0; i < log->row_len; i++)
        bytes += log->row[i].bytes;
    spare = log->spare_len > 0;
    pthread_mutex_unlock(&log->lock);

    if (*ready)
        return RN_OK;
    if (!spare && bytes + log->opts.segment_bytes > log->opts.bytes_max)
        return RN_OK; /* at the ceiling: a checkpoint must come first */
    rc = segment_ready(log, &last, &s, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&log->lock);
    assert(log->row_len < SEGMENTS_MAX);
    log->row[log->row_len++] = s;
    pthread_mutex_unlock(&log->lock);
    *ready = true;
    return RN_OK;
}

/* A spare that lies behind the row: one before it may have been announced, and
 * must be there. */
static bool surplus_take(struct rn_log *log, struct rn_segment *out)
{
    bool found = false;

    pthread_mutex_lock(&log->lock);
    for (size_t i = 0; !found && i < log->spare_len; i++) {
        if (log->spare[i].number > log->row[0].number)
            continue;
        *out = log->spare[i];
        log->spare[i] = log->spare[--log->spare_len];
        found = true;
    }
    pthread_mutex_unlock(&log->lock);
    return found;
}

/* What is over the ceiling is given back to the disk. */
static void drop_surplus(struct rn_log *log)
{
    struct rn_segment s;

    while (rn_log_bytes(log) > log->opts.bytes_max && surplus_take(log, &s))
        segment_drop(log, &s);
}

void rn_log_forget(struct rn_log *log, struct rn_log_place place)
{
    size_t gone = 0;

    pthread_mutex_lock(&log->lock);
    while (gone < log->current && log->row[gone].number < place.segment)
        log->spare[log->spare_len++] = log->row[gone++];
    memmove(log->row, log->row + gone,
            (log->row_len - gone) * sizeof(log->row[0]));
    log->row_len -= gone;
    log->current -= gone;
    pthread_mutex_unlock(&log->lock);
    drop_surplus(log);
}

/* ---- writing ------------------------------------------------------------- */

struct rn_log_place rn_log_end(struct rn_log *log)
{
    struct rn_log_place end;

    pthread_mutex_lock(&log->lock);
    end = log->end;
    pthread_mutex_unlock(&log->lock);
    return end;
}

bool rn_log_has_room(struct rn_log *log, uint64_t payload_bytes)
{
    const struct rn_segment *s;
    bool room;

    pthread_mutex_lock(&log->lock);
    s = &log->row[log->current];
    room = log->current + 1 < log->row_len ||
           log->end.offset + rn_segment_align(RN_LOG_HEADER + payload_bytes) <=
               rn_segment_room(s);
    pthread_mutex_unlock(&log->lock);
    return room;
}

/* Where a record of `bytes` goes: behind the last, or at the start of the
 * segment that stands ready. */
static bool find_room(struct rn_log *log, uint64_t bytes,
                      struct rn_segment *out, uint64_t *offset)
{
    size_t i;
    bool found = true;

    pthread_mutex_lock(&log->lock);
    i = log->current;
    *offset = log->end.offset;
    if (*offset + bytes > rn_segment_room(&log->row[i])) {
        i++;
        *offset = 0;
        found = i < log->row_len && bytes <= rn_segment_room(&log->row[i]);
    }
    if (found)
        *out = log->row[i];
    pthread_mutex_unlock(&log->lock);
    return found;
}

/* A record that was refused must not come to life at the next open. */
static enum rn_code take_back(const struct rn_segment *s, uint64_t offset)
{
    char zeros[RN_LOG_BLOCK] = { 0 };
    int error =
        rn_file_write(s->file, rn_view_of(zeros, sizeof(zeros)), offset);

    if (!error)
        error = rn_file_sync(s->file);
    return error ? RN_UNKNOWN : RN_OK;
}

enum rn_code rn_log_append(struct rn_log *log, struct rn_buf *record,
                           struct rn_err *err)
{
    uint64_t offset = 0, bytes = rn_segment_align(record->len);
    uint32_t length = (uint32_t)(record->len - RN_LOG_HEADER);
    struct rn_segment s = { 0 };
    enum rn_code rc;
    int error;

    if (!find_room(log, bytes, &s, &offset))
        return rn_fail(err, RN_BUSY, "%s: the log is full", log->dir);
    rc = rn_buf_reserve(record, (size_t)(bytes - record->len));
    if (rc)
        return rn_fail(err, rc, "%s: a group is too large", log->dir);
    memset(record->at + record->len, 0, (size_t)(bytes - record->len));
    rn_put_u32(record->at + 8, MAGIC);
    rn_put_u32(record->at + 12, length);
    rn_put_u64(record->at + 16, log->end.seq + 1);
    rn_put_u64(record->at + 24, log->end.chain);
    rn_put_u64(record->at, record_sum(record->at, length));

    error =
        rn_file_write(s.file, rn_view_of(record->at, (size_t)bytes), offset);
    if (error) {
        rc = take_back(&s, offset);
        rn_fail_errno(err, error, "%s/log-%010" PRIu64 ": writing", log->dir,
                      s.number);
        return rc ? rc : (error == ENOSPC ? RN_FULL : RN_IO);
    }
    pthread_mutex_lock(&log->lock);
    /* The row may have lost segments at its front meanwhile. */
    while (log->row[log->current].number != s.number)
        log->current++;
    log->end = (struct rn_log_place){
        .segment = s.number,
        .offset = offset + bytes,
        .seq = log->end.seq + 1,
        .chain = rn_get_u64(record->at),
    };
    pthread_mutex_unlock(&log->lock);
    return RN_OK;
}

enum rn_code rn_log_sync(struct rn_log *log, struct rn_err *err)
{
    struct rn_segment s;
    int error;

    pthread_mutex_lock(&log->lock);
    s = log->row[log->current];
    pthread_mutex_unlock(&log->lock);
    error = rn_file_sync(s.file);
    if (error)
        return rn_fail_errno(err, error, "%s/log-%010" PRIu64 ": syncing",
                             log->dir, s.number);
    return RN_OK;
}

/* ---- sizes --------------------------------------------------------------- */

uint64_t rn_log_bytes(struct rn_log *log)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&log->lock);
    for (size_t i = 0; i < log->row_len; i++)
        bytes += log->row[i].bytes;
    for (size_t i = 0; i < log->spare_len; i++)
        bytes += log->spare[i].bytes;
    pthread_mutex_unlock(&log->lock);
    return bytes;
}

uint64_t rn_log_bytes_since(struct rn_log *log, struct rn_log_place place)
{
    uint64_t bytes = 0;

    pthread_mutex_lock(&log->lock);
    for (size_t i = 0; i < log->row_len; i++) {
        if (log->row[i].number >= place.segment &&
            log->row[i].number < log->end.segment)
            bytes += log->row[i].bytes;
    }
    bytes += log->end.offset;
    pthread_mutex_unlock(&log->lock);
    return bytes > place.offset ? bytes - place.offset : 0;
}
