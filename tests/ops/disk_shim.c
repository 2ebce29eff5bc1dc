/* disk_shim.c -- a disk and a wall clock that fail on order; preloaded by
 * disk.py.
 *
 * Which way is said by files in the directory $RUNNEL_DISK:
 *
 *   broken   syncs fail
 *   meta     the meta pages of the map cannot be written
 *   held     syncs wait until the file is gone
 *   full     no space is left but for crumbs
 *   tight    half of the reserve is left
 *   quota    there is space, and none of it may be had but crumbs
 *   ahead    the wall clock is an hour ahead
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CRUMB = 1 << 20, TIGHT = 32 << 20, METAS = 8192 };

static int is_ordered(const char *what)
{
    const char *dir = getenv("RUNNEL_DISK");
    char path[4096];

    if (!dir)
        return 0;
    snprintf(path, sizeof(path), "%s/%s", dir, what);
    return access(path, F_OK) == 0;
}

static int sync_by(const char *name, int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);

    while (is_ordered("held"))
        usleep(1000);
    if (is_ordered("broken")) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

int fdatasync(int fd)
{
    return sync_by("fdatasync", fd);
}

int fsync(int fd)
{
    return sync_by("fsync", fd);
}

/* Whether the descriptor is the map's. */
static int is_map(int fd)
{
    char name[64], path[4096];
    ssize_t len;

    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    len = readlink(name, path, sizeof(path));
    return len > 6 && memcmp(path + len - 6, "/map-1", 6) == 0;
}

static ssize_t write_by(const char *name, int fd, const void *at, size_t len,
                        off_t offset)
{
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t(*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);

    if (offset < METAS && is_ordered("meta") && is_map(fd)) {
        errno = EIO;
        return -1;
    }
    return real(fd, at, len, offset);
}

ssize_t pwrite(int fd, const void *at, size_t len, off_t offset)
{
    return write_by("pwrite", fd, at, len, offset);
}

ssize_t pwrite64(int fd, const void *at, size_t len, off_t offset)
{
    return write_by("pwrite64", fd, at, len, offset);
}

int statvfs(const char *path, struct statvfs *out)
{
    int (*real)(const char *, struct statvfs *) =
        (int (*)(const char *, struct statvfs *))dlsym(RTLD_NEXT, "statvfs");
    int rc = real(path, out);

    if (!rc && is_ordered("full"))
        out->f_bavail = out->f_bfree = 0;
    if (!rc && is_ordered("tight"))
        out->f_bavail = out->f_bfree = TIGHT / out->f_frsize;
    return rc;
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
    int (*real)(int, int, off_t, off_t) =
        (int (*)(int, int, off_t, off_t))dlsym(RTLD_NEXT, "fallocate");

    if ((is_ordered("full") || is_ordered("quota")) && len > CRUMB) {
        errno = is_ordered("full") ? ENOSPC : EDQUOT;
        return -1;
    }
    return real(fd, mode, offset, len);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    int rc = (int)syscall(SYS_clock_gettime, clock, out);

    if (!rc && clock == CLOCK_REALTIME && is_ordered("ahead"))
        out->tv_sec += 3600;
    return rc;
}
