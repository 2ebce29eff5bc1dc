/* file.c -- see file.h. */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>

enum { PATH_BYTES = 4096 };

enum rn_code rn_file_replace(struct rn_env *env, const char *dir,
                             const char *name, struct rn_view bytes,
                             struct rn_err *err)
{
    char path[PATH_BYTES], temporary[PATH_BYTES];
    struct rn_file *file = NULL;
    int error;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (snprintf(temporary, sizeof(temporary), "%s.tmp", path) >= PATH_BYTES)
        return rn_fail_errno(err, ENAMETOOLONG, "%s", path);
    error = rn_file_open(env, temporary, RN_OPEN_NEW, &file);
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
