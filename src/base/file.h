/* file.h -- durable files: atomic replacement, and concurrent syncs. */
#ifndef RN_BASE_FILE_H
#define RN_BASE_FILE_H

#include "base/env.h"
#include "base/err.h"

#include <stdatomic.h>

/* Atomically replaces the contents of a file, or creates it.  After a power cut
 * the name has all of the old bytes or all of the new; once this has returned
 * RN_OK, the new.  NAME.tmp is used on the way.  Owner, group and mode (0640 at
 * most) stay those of the old file. */
enum rn_code rn_file_replace(struct rn_env *env, const char *dir,
                             const char *name, struct rn_view bytes,
                             struct rn_err *err) RN_CHECK;

/* The same for a file that everybody may read (0644). */
enum rn_code rn_file_publish(struct rn_env *env, const char *dir,
                             const char *name, struct rn_view bytes,
                             struct rn_err *err) RN_CHECK;

/* Reads a whole file into `out`, up to the buffer's ceiling.  `how` is
 * RN_OPEN_READ or RN_OPEN_FOLLOW. */
enum rn_code rn_file_read_all(struct rn_env *env, const char *path,
                              enum rn_open how, struct rn_buf *out,
                              struct rn_err *err) RN_CHECK;

/* False if the path no longer names the file, or if it is shorter than `least`:
 * it was moved, removed, replaced or cut short. */
bool rn_file_is_whole(struct rn_file *file, const char *path, uint64_t least);

/* Locks the directory until `*fd` is closed; waits for the lock.  Of two
 * concurrent changes of its files the second must see what the first has
 * written.  The lock is not on a file, because each change replaces the file.
 */
enum rn_code rn_directory_hold(const char *dir, int *fd,
                               struct rn_err *err) RN_CHECK;

/* A sync of a file, or of a directory, whose order among others does not
 * matter.  The caller fills in the first two members, and zeros the rest. */
struct rn_sync {
    struct rn_file *file; /* or, if NULL: */
    const char *dir;

    int error; /* after end: 0, or what went wrong */
    struct rn_env *env;
    struct rn_task task;
    atomic_bool taken;
};

/* Starts the syncs, each in a task of its own if `beside`.  `syncs` must stay
 * in place until end, which waits for all of them and does those that no task
 * has begun.  Returns the error of the first that failed. */
void rn_syncs_begin(struct rn_env *env, struct rn_sync *syncs, size_t len,
                    bool beside);
int rn_syncs_end(struct rn_sync *syncs, size_t len);

#endif
