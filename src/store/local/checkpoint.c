/* checkpoint.c -- see checkpoint.h. */
#include "store/local/checkpoint.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"
#include "store/bug.h"
#include "store/local/format.h"

#include <assert.h>
#include <stdio.h>

enum { HEADER = 64, CHECKSUM = 8 };

static const char magic[8] = { 'R', 'N', 'L', 'C', 'K', 'P', 'T', '1' };

void rn_checkpoint_init(struct rn_checkpoint *c)
{
    *c = (struct rn_checkpoint){ .image = RN_BUF_INIT(RN_MAP_IMAGE_MAX) };
}

void rn_checkpoint_release(struct rn_checkpoint *c)
{
    rn_file_close(c->file);
    c->file = NULL;
    rn_buf_release(&c->image);
}

/* ---- reading ------------------------------------------------------------- */

static bool decode(struct rn_view bytes, struct rn_checkpoint *out)
{
    uint64_t length;

    if (bytes.len < HEADER + CHECKSUM || memcmp(bytes.at, magic, 8) != 0)
        return false;
    if (rn_hash64(rn_view_of(bytes.at, bytes.len - CHECKSUM), 0) !=
        rn_get_u64(bytes.at + bytes.len - CHECKSUM))
        return false;
    length = rn_get_u64(bytes.at + 56);
    if (length != bytes.len - HEADER - CHECKSUM)
        return false;
    out->number = rn_get_u64(bytes.at + 8);
    out->generation = rn_get_u64(bytes.at + 16);
    out->place = (struct rn_wal_place){
        .segment = rn_get_u64(bytes.at + 24),
        .offset = rn_get_u64(bytes.at + 32),
        .seq = rn_get_u64(bytes.at + 40),
        .chain = rn_get_u64(bytes.at + 48),
    };
    return true;
}

enum rn_code rn_checkpoint_read(struct rn_env *env, const char *dir,
                                struct rn_checkpoint *out, struct rn_err *err)
{
    struct rn_buf bytes = RN_BUF_INIT(RN_MAP_IMAGE_MAX + HEADER + CHECKSUM + 1);
    char path[RN_PATH_MAX];
    enum rn_code rc;

    snprintf(path, sizeof(path), "%s/checkpoint", dir);
    rc = rn_file_read_all(env, path, RN_OPEN_READ, &bytes, err);
    if (rc == RN_TOO_LARGE || (!rc && !decode(rn_buf_view(&bytes), out)))
        rc = rn_fail(err, RN_CORRUPT, "%s: damaged", path);
    if (rc)
        goto out;
    rn_buf_clear(&out->image);
    rc = rn_buf_add(&out->image, rn_view_of(bytes.at + HEADER,
                                            bytes.len - HEADER - CHECKSUM));
    if (rc)
        rn_fail(err, rc, "%s: %s", path, rn_code_name(rc));
out:
    rn_buf_release(&bytes);
    return rc;
}

/* ---- writing ------------------------------------------------------------- */

static enum rn_code encode(const struct rn_checkpoint *c, struct rn_buf *out)
{
    char header[HEADER], checksum[CHECKSUM];
    enum rn_code rc;

    memcpy(header, magic, 8);
    rn_put_u64(header + 8, c->number);
    rn_put_u64(header + 16, c->generation);
    rn_put_u64(header + 24, c->place.segment);
    rn_put_u64(header + 32, c->place.offset);
    rn_put_u64(header + 40, c->place.seq);
    rn_put_u64(header + 48, c->place.chain);
    rn_put_u64(header + 56, c->image.len);
    rc = rn_buf_add(out, rn_view_of(header, HEADER));
    if (!rc)
        rc = rn_buf_add(out, rn_buf_view(&c->image));
    if (rc)
        return rc;
    rn_put_u64(checksum, rn_hash64(rn_buf_view(out), 0));
    return rn_buf_add(out, rn_view_of(checksum, CHECKSUM));
}

enum rn_code rn_checkpoint_write(const struct rn_checkpoint *c,
                                 struct rn_env *env, const char *dir,
                                 struct rn_err *err)
{
    struct rn_buf bytes = RN_BUF_INIT(RN_MAP_IMAGE_MAX + HEADER + CHECKSUM);
    enum rn_code rc = encode(c, &bytes);

    if (rc)
        rn_fail(err, rc, "%s/checkpoint: %s", dir, rn_code_name(rc));
    else
        rc = rn_file_replace(env, dir, "checkpoint", rn_buf_view(&bytes), err);
    rn_buf_release(&bytes);
    return rc;
}

static enum rn_code write_temporary(struct rn_checkpoint *c, struct rn_env *env,
                                    const char *path, struct rn_err *err)
{
    struct rn_buf bytes = RN_BUF_INIT(RN_MAP_IMAGE_MAX + HEADER + CHECKSUM);
    enum rn_code rc = encode(c, &bytes);
    int error = 0;

    rn_file_close(c->file); /* of an attempt that failed */
    c->file = NULL;
    if (!rc) {
        error = rn_file_open(env, path, RN_OPEN_NEW, &c->file);
        if (!error)
            error = rn_file_write(c->file, rn_buf_view(&bytes), 0);
    }
    rn_buf_release(&bytes);
    if (error)
        return rn_fail_errno(err, error, "%s: writing", path);
    return rc ? rn_fail(err, rc, "%s: %s", path, rn_code_name(rc)) : RN_OK;
}

enum rn_code rn_checkpoint_advance(struct rn_checkpoint *c, struct rn_env *env,
                                   const char *dir, struct rn_map *map,
                                   struct rn_err *err)
{
    char temporary[RN_PATH_MAX], path[RN_PATH_MAX];
    enum rn_code rc = RN_OK;
    bool done = true;
    int error = 0;

    snprintf(temporary, sizeof(temporary), "%s/checkpoint.tmp", dir);
    snprintf(path, sizeof(path), "%s/checkpoint", dir);
    switch (c->step) {
    case RN_CHECKPOINT_FLUSH:
        if (!RN_BUG(CHECKPOINT_BEFORE_DATA_SYNC))
            rc = map->ops->flush(map, &done, err);
        break;
    case RN_CHECKPOINT_WRITE:
        rc = write_temporary(c, env, temporary, err);
        break;
    case RN_CHECKPOINT_SYNC:
        error = rn_file_sync(c->file);
        if (!error) {
            rn_file_close(c->file);
            c->file = NULL;
        }
        break;
    case RN_CHECKPOINT_RENAME:
        error = env->ops->rename(env, temporary, path);
        break;
    case RN_CHECKPOINT_SYNC_DIR:
        if (!RN_BUG(NO_DIR_SYNC))
            error = env->ops->sync_dir(env, dir);
        break;
    case RN_CHECKPOINT_IDLE:
    case RN_CHECKPOINT_DONE:
        assert(false && "a checkpoint in progress");
    }
    if (error)
        rc = rn_fail_errno(err, error, "%s", path);
    if (!rc && done)
        c->step++;
    return rc;
}
