/* loop.c -- see loop.h. */
#include "loop.h"

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What mkfs wants at least; a file takes what is more than asked for. */
enum { XFS_MIB = 320, BTRFS_MIB = 256 };

static bool make(enum loop_fs fs, const char *image, const char *at,
                 unsigned mib)
{
    static const char *const mkfs[] = {
        [LOOP_EXT4] = "mkfs.ext4 -q -m 0 -J size=4",
        [LOOP_XFS] = "mkfs.xfs -q",
        [LOOP_BTRFS] = "mkfs.btrfs -q -m single",
    };
    unsigned size = fs == LOOP_XFS ? XFS_MIB : fs == LOOP_BTRFS ? BTRFS_MIB : 0;
    char command[1024];

    snprintf(command, sizeof(command),
             "PATH=$PATH:/usr/sbin:/sbin; truncate -s %uM '%s' && "
             "%s '%s' >/dev/null 2>&1 && mount -o loop '%s' '%s' 2>/dev/null",
             size > mib ? size : mib, image, mkfs[fs], image, image, at);
    return system(command) == 0;
}

static bool leave(const char *at, uint64_t bytes)
{
    struct statvfs st;
    char path[512];
    uint64_t now;
    int fd, rc = 0;

    if (statvfs(at, &st) != 0)
        return false;
    now = (uint64_t)st.f_bavail * st.f_frsize;
    if (now <= bytes)
        return true;
    snprintf(path, sizeof(path), "%s/rest", at);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    rc = posix_fallocate(fd, 0, (off_t)(now - bytes));
    close(fd);
    return rc == 0;
}

bool loop_mount(enum loop_fs fs, const char *image, const char *at,
                unsigned mib)
{
    char size[32];

    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    snprintf(size, sizeof(size), "size=%uM", mib);
    if (fs == LOOP_TMPFS)
        return mount("none", at, "tmpfs", 0, size) == 0;
    return make(fs, image, at, mib) && leave(at, (uint64_t)mib << 20);
}
