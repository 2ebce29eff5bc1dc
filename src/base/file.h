/* file.h -- files made durable: one replaced with care, many side by side. */
#ifndef RN_BASE_FILE_H
#define RN_BASE_FILE_H

#include "base/env.h"
#include "base/err.h"

#include <stdatomic.h>

/* Puts the bytes under the name in the place of what is there, if anything is.
 * Whenever the power is cut, the name has all of the old ones or all of the
 * new; once this has returned RN_OK, the new.  NAME.tmp is used on the way.
 * Owner, group and mode (0640 at most) stay those of the old one. */
enum rn_code rn_file_replace(struct rn_env *env, const char *dir,
                             const char *name, struct rn_view bytes,
                             struct rn_err *err) RN_CHECK;

/* The same for what everybody may read (0644). */
enum rn_code rn_file_publish(struct rn_env *env, const char *dir,
                             const char *name, struct rn_view bytes,
                             struct rn_err *err) RN_CHECK;

/* False if the file is no longer what the path names, or shorter than `least`:
 * it was moved, removed, replaced or cut. */
bool rn_file_is_whole(struct rn_file *file, const char *path, uint64_t least);

/* Waits until nobody else holds the directory, and holds it until `*fd` is
 * closed: of two that change what is in it at once the second must see what the
 * first has written.  It is not a file that is locked, for that is another
 * after each change. */
enum rn_code rn_directory_hold(const char *dir, int *fd,
                               struct rn_err *err) RN_CHECK;

/* A sync of a file, or of a directory, whose order among others does not
 * matter.  The caller fills in the first two, and zeros the rest. */
struct rn_sync {
    struct rn_file *file; /* or, if NULL: */
    const char *dir;

    int error; /* after end: 0, or what went wrong */
    struct rn_env *env;
    struct rn_task task;
    atomic_bool taken;
};

/* Starts them, each in a task of its own if `beside`.  Whatever they need must
 * stay where it is until end, which waits for all of them and does those that
 * no task has come to.  Returns the error of the first that has one. */
void rn_syncs_begin(struct rn_env *env, struct rn_sync *syncs, size_t len,
                    bool beside);
int rn_syncs_end(struct rn_sync *syncs, size_t len);

#endif
