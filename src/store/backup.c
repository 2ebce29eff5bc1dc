/* backup.c -- see backup.h. */
#include "store/backup.h"

#include "store/checkpoint.h"
#include "store/format.h"
#include "store/local.h"

#include <errno.h>
#include <stdio.h>

enum {
    CHUNK = 1 << 20,
    LOCK_TRIES = 100, /* the keeper holds it for moments only */
    LOCK_PAUSE_NS = 1000000,
};

static enum rn_code hold(struct rn_env *env, const char *dir,
                         struct rn_file **out, struct rn_err *err)
{
    char path[RN_PATH_MAX];
    int error;

    snprintf(path, sizeof(path), "%s/backup", dir);
    error = rn_file_open(env, path, RN_OPEN_CREATE, out);
    for (int i = 0; !error && i < LOCK_TRIES; i++) {
        error = env->ops->lock(*out, RN_LOCK_SHARED);
        if (error != EAGAIN)
            break;
        env->ops->sleep(env, LOCK_PAUSE_NS);
    }
    return error ? rn_fail_errno(err, error, "%s", path) : RN_OK;
}

static enum rn_code make_target(struct rn_env *env, const char *dir,
                                struct rn_err *err)
{
    struct rn_format found;
    enum rn_code rc = rn_format_read(env, dir, &found, err);
    int error;

    if (!rc)
        return rn_fail(err, RN_CONFLICT, "%s: holds a store already", dir);
    if (rc != RN_NOT_FOUND)
        return rc;
    error = env->ops->make_dir(env, dir);
    return error && error != EEXIST ? rn_fail_errno(err, error, "%s", dir)
                                    : RN_OK;
}

static int copy_bytes(struct rn_file *from, struct rn_file *to)
{
    char *chunk = rn_new(CHUNK);
    size_t got = chunk ? CHUNK : 0;
    int error = chunk ? 0 : ENOMEM;

    for (uint64_t at = 0; !error && got == CHUNK; at += got) {
        error = rn_file_read(from, chunk, CHUNK, at, &got);
        if (!error && got)
            error = rn_file_write(to, rn_view_of(chunk, got), at);
    }
    rn_free(chunk);
    return error ? error : rn_file_sync(to);
}

/* Copies the map's file, or with `suffix` one that goes with it. */
static enum rn_code copy_map(struct rn_env *env, const char *from,
                             const char *to, uint64_t generation,
                             const char *suffix, struct rn_err *err)
{
    char source[RN_PATH_MAX], target[RN_PATH_MAX];
    struct rn_file *in = NULL, *out = NULL;
    int error;

    rn_local_map_path(from, generation, source);
    rn_local_map_path(to, generation, target);
    strncat(source, suffix, RN_PATH_MAX - strlen(source) - 1);
    strncat(target, suffix, RN_PATH_MAX - strlen(target) - 1);
    error = rn_file_open(env, source, RN_OPEN_READ, &in);
    if (error) {
        rn_fail_errno(err, error, "%s", source);
    } else {
        error = rn_file_open(env, target, RN_OPEN_NEW, &out);
        if (!error)
            error = copy_bytes(in, out);
        if (error)
            rn_fail_errno(err, error, "copying %s to %s", source, target);
    }
    rn_file_close(in);
    rn_file_close(out);
    return error ? RN_IO : RN_OK;
}

/* The sums of the map's pages have two homes, of which each checkpoint writes
 * the one that the last did not (sums.h).  So they are good for this checkpoint
 * if it still was the durable one after they were copied. */
static enum rn_code copy_sums(struct rn_env *env, const char *from,
                              const char *to, struct rn_checkpoint *c,
                              struct rn_err *err)
{
    enum rn_code rc = rn_checkpoint_read(env, from, c, err);

    for (int i = 0; !rc && i < LOCK_TRIES; i++) {
        uint64_t number = c->number;

        rc = copy_map(env, from, to, c->generation, "-sums", err);
        if (!rc)
            rc = rn_checkpoint_read(env, from, c, err);
        if (!rc && c->number == number)
            return RN_OK;
    }
    return rc ? rc
              : rn_fail(err, RN_BUSY, "%s: checkpoints come too fast", from);
}

static enum rn_code copy_state(struct rn_env *env, const char *from,
                               const char *to, struct rn_err *err)
{
    struct rn_wal_opts log = { .env = env, .dir = from };
    struct rn_checkpoint c;
    enum rn_code rc;

    rn_checkpoint_init(&c);
    rc = copy_sums(env, from, to, &c, err);
    if (!rc)
        rc = rn_wal_copy(&log, c.place, to, err);
    if (!rc)
        rc = copy_map(env, from, to, c.generation, "", err);
    if (!rc)
        rc = rn_checkpoint_write(&c, env, to, err);
    rn_checkpoint_release(&c);
    return rc;
}

/* The format file comes last: a copy that was cut off is no data directory. */
static enum rn_code copy_store(struct rn_env *env, const char *from,
                               const char *to, bool restore, struct rn_err *err)
{
    struct rn_format format = { 0 };
    struct rn_file *held = NULL;
    enum rn_code rc = rn_format_read(env, from, &format, err);

    if (!rc)
        rc = make_target(env, to, err);
    if (!rc)
        rc = hold(env, from, &held, err);
    if (!rc)
        rc = copy_state(env, from, to, err);
    rn_file_close(held); /* and with it the lock */
    if (rc)
        return rc;
    if (restore) {
        rn_format_draw_id(env, &format);
        format.restored++;
    }
    return rn_format_write(env, to, &format, err);
}

enum rn_code rn_backup(struct rn_env *env, const char *from, const char *to,
                       struct rn_err *err)
{
    return copy_store(env, from, to, false, err);
}

enum rn_code rn_restore(struct rn_env *env, const char *from, const char *to,
                        struct rn_err *err)
{
    return copy_store(env, from, to, true, err);
}
