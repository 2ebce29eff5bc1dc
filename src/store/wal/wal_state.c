/* wal_state.c -- the write-ahead log in memory; see wal_state.h. */
#include "store/wal/wal_state.h"

#include "base/file.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>

void rn_wal_segment_path(const struct rn_wal *wal, uint64_t number,
                         char out[RN_WAL_PATH])
{
    snprintf(out, RN_WAL_PATH, "%s/log-%010" PRIu64, wal->dir, number);
}

enum rn_code rn_wal_segment_open(struct rn_wal *wal, uint64_t number,
                                 enum rn_open how, struct rn_segment *out,
                                 struct rn_err *err)
{
    char path[RN_WAL_PATH];
    int error;

    rn_wal_segment_path(wal, number, path);
    *out = (struct rn_segment){ .number = number };
    error = rn_file_open(wal->opts.env, path, how, &out->file);
    if (!error)
        error = rn_file_size(out->file, &out->bytes);
    if (error) {
        rn_file_close(out->file);
        out->file = NULL;
        return rn_fail_errno(err, error, "%s", path);
    }
    return RN_OK;
}

enum rn_code rn_wal_new(const struct rn_wal_opts *opts, struct rn_wal **out)
{
    struct rn_wal *wal = rn_new(sizeof(*wal));

    if (!wal)
        return RN_NOMEM;
    wal->opts = *opts;
    wal->dir = rn_new_text(opts->dir);
    if (!wal->dir) {
        rn_free(wal);
        return RN_NOMEM;
    }
    wal->opts.dir = wal->dir;
    pthread_mutex_init(&wal->lock, NULL);
    *out = wal;
    return RN_OK;
}
