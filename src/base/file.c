/* file.c -- see file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

enum { PATH_BYTES = 4096 };

static enum rn_code replace(struct rn_env *env, const char *dir,
                            const char *name, struct rn_view bytes,
                            bool is_public, struct rn_err *err)
{
    char path[PATH_BYTES], temporary[PATH_BYTES];
    struct rn_file *file = NULL;
    int error;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= PATH_BYTES)
        return rn_fail_errno(err, ENAMETOOLONG, "%s", path);
    error = rn_file_open(env, temporary, RN_OPEN_NEW, &file);
    if (!error)
        error = is_public ? env->ops->publish(file)
                          : env->ops->resemble(file, path);
    if (!error)
        error = rn_file_write(file, bytes, 0);
    if (!error)
        error = rn_file_sync(file);
    rn_file_close(file);
    if (!error)
        error = env->ops->rename(env, temporary, path);
    if (!error)
        error = env->ops->sync_dir(env, dir);
    return error ? rn_fail_errno(err, error, "%s", path) : RN_OK;
}

enum rn_code rn_file_replace(struct rn_env *env, const char *dir,
                             const char *name, struct rn_view bytes,
                             struct rn_err *err)
{
    return replace(env, dir, name, bytes, false, err);
}

enum rn_code rn_file_publish(struct rn_env *env, const char *dir,
                             const char *name, struct rn_view bytes,
                             struct rn_err *err)
{
    return replace(env, dir, name, bytes, true, err);
}

enum rn_code rn_file_read_all(struct rn_env *env, const char *path,
                              enum rn_open how, struct rn_buf *out,
                              struct rn_err *err)
{
    struct rn_file *file = NULL;
    uint64_t size = 0;
    size_t got = 0;
    enum rn_code rc = RN_OK;
    int error = rn_file_open(env, path, how, &file);

    if (!error)
        error = rn_file_size(file, &size);
    if (!error) {
        rn_buf_clear(out);
        rc = rn_buf_reserve(out, (size_t)size + 1);
        if (rc)
            rn_fail(err, rc, "%s: %s", path, rn_code_name(rc));
    }
    if (!error && !rc)
        error = rn_file_read(file, out->at, (size_t)size, 0, &got);
    rn_file_close(file);
    if (error)
        return rn_fail_errno(err, error, "%s", path);
    out->len = rc ? 0 : got;
    return rc;
}

bool rn_file_is_whole(struct rn_file *file, const char *path, uint64_t least)
{
    uint64_t size = 0;

    return file->env->ops->is_at(file, path) &&
           (rn_file_size(file, &size) || size >= least);
}

enum rn_code rn_directory_hold(const char *dir, int *fd, struct rn_err *err)
{
    int rc;

    *fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return rn_fail_errno(err, errno, "%s", dir);
    do
        rc = flock(*fd, LOCK_EX);
    while (rc && errno == EINTR);
    return rc ? rn_fail_errno(err, errno, "%s", dir) : RN_OK;
}

/* ---- concurrent syncs ---------------------------------------------------- */

static int64_t sync_step(void *context)
{
    struct rn_sync *s = context;

    if (!atomic_exchange(&s->taken, true))
        s->error = s->file ? rn_file_sync(s->file)
                           : s->env->ops->sync_dir(s->env, s->dir);
    return RN_TASK_IDLE;
}

/* A task that cannot be started does no harm: end does its work. */
void rn_syncs_begin(struct rn_env *env, struct rn_sync *syncs, size_t len,
                    bool beside)
{
    for (size_t i = 0; i < len; i++) {
        syncs[i].env = env;
        syncs[i].task = (struct rn_task){ .name = "sync",
                                          .step = sync_step,
                                          .context = &syncs[i] };
        if (beside)
            (void)env->ops->task_start(env, &syncs[i].task);
    }
}

int rn_syncs_end(struct rn_sync *syncs, size_t len)
{
    int error = 0;

    for (size_t i = 0; i < len; i++)
        (void)sync_step(&syncs[i]);
    for (size_t i = 0; i < len; i++) {
        syncs[i].env->ops->task_stop(syncs[i].env, &syncs[i].task);
        if (!error)
            error = syncs[i].error;
    }
    return error;
}
