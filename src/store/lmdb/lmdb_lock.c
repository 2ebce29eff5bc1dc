/* lmdb_lock.c -- LMDB's reader table, in anonymous memory instead of on disk.
 *
 * LMDB keeps its table of readers in a file beside the map, `map-N-lock`, and
 * writes to it through a shared mapping whenever a read begins or ends.  A
 * copy-on-write file system needs a free block for such a write, and without
 * one the write is a SIGBUS.  The same happens when the file is cut short.  The
 * table is only of use to the process that has the map open, so it needs no
 * disk: `map-N-lock` is a symbolic link to /proc/self/fd/N, and N is, while
 * LMDB opens it, an anonymous file in memory.
 *
 * LMDB's own locking stays as it is (M4).  Another process that follows the
 * link finds a descriptor of its own, or nothing; it never finds this table, so
 * it cannot reset the pins (M5).
 *
 * The link stays in the directory and nearly always has the same number: then
 * the next open writes nothing, and needs no free block.
 */
#include "store/lmdb/lmdb_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U /* since Linux 6.3 */
#endif

enum {
    LOCK_FD = 200, /* beyond what a process has open when it opens a store */
    TARGET_MAX = 64,
};

static int make_table(uint64_t bytes, int *out)
{
    int fd = memfd_create("runnel-readers", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    int error = 0;

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("runnel-readers", MFD_CLOEXEC);
    if (fd < 0)
        return errno;
    if (ftruncate(fd, (off_t)bytes) != 0)
        error = errno;
    if (error)
        close(fd);
    else
        *out = fd;
    return error;
}

/* Moves the descriptor to a number that the next process can use as well. */
static int raise_number(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, LOCK_FD);

    if (high < 0)
        return fd; /* the process may not have so many */
    close(fd);
    return high;
}

static int put_link(const char *path, const char *target)
{
    char found[TARGET_MAX];
    ssize_t len = readlink(path, found, sizeof(found));

    if (len == (ssize_t)strlen(target) &&
        memcmp(found, target, (size_t)len) == 0)
        return 0;
    /* Another number, or the lock file of an older version. */
    if (unlink(path) != 0 && errno != ENOENT)
        return errno;
    return symlink(target, path) == 0 ? 0 : errno;
}

/* If root creates the link in another user's directory, that user owns it, like
 * the map. */
static void give_link(const struct lmdb *m, const char *path)
{
    struct stat st;

    if (geteuid() == 0 && stat(m->path, &st) == 0)
        (void)!lchown(path, st.st_uid, st.st_gid);
}

enum rn_code rn_lmdb_lock_begin(struct lmdb *m, uint64_t bytes, int *fd,
                                struct rn_err *err)
{
    char path[RN_LMDB_PATH_MAX + 8], target[TARGET_MAX];
    int error = make_table(bytes, fd);

    snprintf(path, sizeof(path), "%s-lock", m->path);
    if (error)
        return rn_fail_errno(err, error, "%s", path);
    *fd = raise_number(*fd);
    snprintf(target, sizeof(target), "/proc/self/fd/%d", *fd);
    error = put_link(path, target);
    if (error) {
        rn_lmdb_lock_end(*fd);
        return rn_fail_errno(err, error, "%s", path);
    }
    give_link(m, path);
    return RN_OK;
}

void rn_lmdb_lock_end(int fd)
{
    close(fd);
}
