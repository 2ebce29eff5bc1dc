/* faults.c -- see faults.h. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

const char *const fault_names[FAULT_CALLS] = {
    "pwrite", "writev", "pread", "fdatasync", "fsync",  "fallocate",
    "open",   "rename", "mmap",  "mprotect",  "malloc", "pthread_create",
};

static struct {
    bool armed, fired, lost;
    struct fault fault;
    uint64_t nth, count;
} now;

void fault_arm(const struct fault *f, uint64_t nth)
{
    now.fault = *f;
    now.nth = nth;
    now.count = 0;
    now.fired = now.lost = false;
    __atomic_store_n(&now.armed, true, __ATOMIC_SEQ_CST);
}

void fault_disarm(void)
{
    __atomic_store_n(&now.armed, false, __ATOMIC_SEQ_CST);
}

bool fault_has_fired(void)
{
    return now.fired;
}

bool fault_has_lost_data(void)
{
    return now.lost;
}

void fault_forget_lost_data(void)
{
    now.lost = false;
}

/* True if this call is to fail, with errno set. */
static bool strikes(enum fault_call call)
{
    uint64_t n;

    if (!__atomic_load_n(&now.armed, __ATOMIC_SEQ_CST) ||
        now.fault.call != call)
        return false;
    n = __atomic_add_fetch(&now.count, 1, __ATOMIC_SEQ_CST);
    if (n != now.nth && !(now.fault.stays && n > now.nth))
        return false;
    now.fired = true;
    if (now.fault.error > 0)
        errno = now.fault.error;
    return true;
}

/* ---- files --------------------------------------------------------------- */

REPLACES ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
    if (strikes(FAULT_PWRITE)) {
        if (now.fault.error != FAULT_SHORT)
            return -1;
        len = len / 2;
        if (!len)
            return 0;
    }
    return syscall(SYS_pwrite64, fd, bytes, len, offset);
}

REPLACES ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (strikes(FAULT_WRITEV)) {
        if (now.fault.error != FAULT_SHORT)
            return -1;
        count = 1;
    }
    return syscall(SYS_writev, fd, parts, count);
}

REPLACES ssize_t pread(int fd, void *out, size_t len, off_t offset)
{
    if (strikes(FAULT_PREAD)) {
        if (now.fault.error != FAULT_SHORT)
            return -1;
        len = len > 1 ? len / 2 : len;
    }
    return syscall(SYS_pread64, fd, out, len, offset);
}

/* The map, its checksums, and segments of the WAL that are in the row; not what
 * is still in the making and can be made again. */
static bool holds_data(int fd)
{
    char link[64], path[512];
    const char *name;
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof(path) - 1);
    if (n < 0)
        return false;
    path[n] = '\0';
    name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (strncmp(name, "log-", 4) == 0)
        return strcmp(name, "log-0000000000") != 0;
    return strncmp(name, "map-", 4) == 0;
}

REPLACES int fdatasync(int fd)
{
    if (strikes(FAULT_FDATASYNC)) {
        if (now.fault.error != EINTR && holds_data(fd))
            now.lost = true;
        if (now.fault.error > 0)
            errno = now.fault.error;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

REPLACES int fsync(int fd)
{
    return strikes(FAULT_FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

REPLACES int fallocate(int fd, int mode, off_t offset, off_t len)
{
    if (strikes(FAULT_FALLOCATE))
        return -1;
    return (int)syscall(SYS_fallocate, fd, mode, offset, len);
}

REPLACES int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list args;

    va_start(args, flags);
    if (flags & O_CREAT)
        mode = va_arg(args, mode_t); /* NOLINT(clang-analyzer-valist*) */
    va_end(args);
    if (strikes(FAULT_OPEN))
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

REPLACES int rename(const char *from, const char *to)
{
    return strikes(FAULT_RENAME) ? -1 : (int)syscall(SYS_rename, from, to);
}

/* ---- memory and threads -------------------------------------------------- */

REPLACES void *mmap(void *at, size_t len, int prot, int flags, int fd,
                    off_t offset)
{
    if (strikes(FAULT_MMAP))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
}

REPLACES int mprotect(void *at, size_t len, int prot)
{
    return strikes(FAULT_MPROTECT) ? -1
                                   : (int)syscall(SYS_mprotect, at, len, prot);
}

/* The allocator behind the one that is replaced here: the sanitizer's, so that
 * it still sees leaks, or the C library's.  (This file is compiled without
 * sanitizers, because it is called before they are ready, and must know.) */
#ifdef FAULTS_SANITIZED
#define BEHIND(name) __interceptor_##name
#else
#define BEHIND(name) __libc_##name
#endif

void *BEHIND(malloc)(size_t size);
void *BEHIND(calloc)(size_t count, size_t size);
void *BEHIND(realloc)(void *old, size_t size);
void *BEHIND(memalign)(size_t alignment, size_t size);

REPLACES void *malloc(size_t size)
{
    return strikes(FAULT_MALLOC) ? NULL : BEHIND(malloc)(size);
}

REPLACES void *calloc(size_t count, size_t size)
{
    return strikes(FAULT_MALLOC) ? NULL : BEHIND(calloc)(count, size);
}

REPLACES void *realloc(void *old, size_t size)
{
    return strikes(FAULT_MALLOC) ? NULL : BEHIND(realloc)(old, size);
}

REPLACES int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *at = strikes(FAULT_MALLOC) ? NULL : BEHIND(memalign)(alignment, size);

    if (!at)
        return ENOMEM;
    *out = at;
    return 0;
}

/* Only env_real starts threads; it reports the error that it gets.  The
 * names are the linker's.  NOLINTBEGIN(bugprone-reserved-identifier) */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *argument)
{
    if (strikes(FAULT_THREAD))
        return EAGAIN;
    return __real_pthread_create(thread, attr, run, argument);
}
/* NOLINTEND(bugprone-reserved-identifier) */
