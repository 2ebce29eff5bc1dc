/* wal_copy.c -- copies a WAL that may be in use; see wal_copy.h. */
#include "store/wal/wal_copy.h"

#include "store/wal/wal_read.h"
#include "store/wal/wal_state.h"

#include <inttypes.h>

/* Creates segment `number` of the copy, as long as the original. */
static enum rn_code copy_segment(struct rn_wal *to, const struct rn_segment *s,
                                 struct rn_err *err)
{
    struct rn_segment *out = &to->row[to->row_len];
    enum rn_code rc =
        rn_wal_segment_open(to, s->number, RN_OPEN_IN_PLACE, out, err);
    int error;

    if (rc)
        return rc;
    to->row_len++;
    error = rn_segment_fill_first(out, s->bytes);
    return error ? rn_fail_errno(err, error, "%s", to->dir) : RN_OK;
}

/* Syncs each segment by itself: all of them at once would take long without
 * progress. */
static enum rn_code end_segment(struct rn_wal *to, struct rn_err *err)
{
    int error = rn_file_sync(to->row[to->row_len - 1].file);

    return error ? rn_fail_errno(err, error, "%s: copying the WAL", to->dir)
                 : RN_OK;
}

/* Reads the next record of a WAL that may be in use.  Apparent damage may mean
 * that the writer has gone on meanwhile, so the end is checked twice. */
static enum rn_code copy_next(struct rn_wal *wal, struct rn_wal_place *at,
                              struct rn_buf *record, struct rn_err *err)
{
    enum rn_code rc = rn_wal_chain_next(wal, at, record, err);

    if (rc != RN_NOT_FOUND)
        return rc;
    rc = rn_wal_check_end(wal, *at, record, err);
    if (!rc)
        return RN_NOT_FOUND;
    return rn_wal_chain_next(wal, at, record, err) ? rc : RN_OK;
}

static enum rn_code copy_records(struct rn_wal *wal, struct rn_wal_place at,
                                 struct rn_wal *to, uint64_t *bytes,
                                 struct rn_err *err)
{
    struct rn_buf record = RN_BUF_INIT(SIZE_MAX / 2);
    enum rn_code rc = copy_segment(to, rn_wal_row_find(wal, at.segment), err);

    *bytes = 0;
    while (!rc) {
        uint64_t segment = at.segment;
        int error;

        if (wal->opts.progress)
            wal->opts.progress(wal->opts.progress_of);
        rc = copy_next(wal, &at, &record, err);
        if (!rc && at.segment != segment)
            rc = end_segment(to, err);
        if (!rc && at.segment != segment)
            rc = copy_segment(to, rn_wal_row_find(wal, at.segment), err);
        if (rc)
            break;
        error =
            rn_file_write(to->row[to->row_len - 1].file, rn_buf_view(&record),
                          at.offset - rn_segment_align(record.len));
        if (error)
            rc = rn_fail_errno(err, error, "%s: copying the WAL", to->dir);
        *bytes += record.len;
    }
    rn_buf_release(&record);
    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

enum rn_code rn_wal_copy(const struct rn_wal_opts *opts,
                         struct rn_wal_place from, const char *to,
                         uint64_t *bytes, struct rn_err *err)
{
    struct rn_wal_opts target = { .env = opts->env, .dir = to };
    struct rn_wal *wal = NULL, *copy = NULL;
    enum rn_code rc = rn_wal_new(opts, &wal);

    if (!rc)
        rc = rn_wal_new(&target, &copy);
    if (rc)
        rn_fail(err, rc, "%s: out of memory", opts->dir);
    /* Earlier segments are spare, and may be renamed at any time. */
    if (!rc)
        rc = rn_wal_open_all(wal, from.segment, RN_OPEN_READ, err);
    if (!rc && !rn_wal_row_find(wal, from.segment))
        rc = rn_fail(err, RN_CORRUPT, "%s/log-%010" PRIu64 ": missing",
                     opts->dir, from.segment);
    if (!rc)
        rc = copy_records(wal, from, copy, bytes, err);
    if (!rc)
        rc = rn_wal_secure_end(copy, err);
    rn_wal_close(copy);
    rn_wal_close(wal);
    return rc;
}
