/* env_real.c -- the real env: the machine, behind the table of env.h.
 *
 * Linux only.  Everything that other systems spell differently (fallocate,
 * sync_file_range, getrandom, thread names) is in this file and nowhere else.
 */
#include "base/env.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

enum {
    PROMPT_SLICE_NS = 100000, /* the shortest that there is */
    DIRECT_BLOCK = 4 << 10, /* the block size of devices, or a multiple of it */
    DIRECT_BYTES = 256 << 10, /* written at once */
};

/* A block-aligned buffer, as O_DIRECT requires. */
struct direct {
    char *at;
    char memory[DIRECT_BYTES + DIRECT_BLOCK];
};

struct real_file {
    struct rn_file base;
    int fd;
    struct direct *direct; /* NULL: through the page cache */
};

static int fd_of(struct rn_file *file)
{
    return ((struct real_file *)file)->fd;
}

/* ---- clocks and random bytes --------------------------------------------- */

static int64_t read_clock(clockid_t which)
{
    struct timespec now;

    clock_gettime(which, &now); /* cannot fail for those we ask */
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t real_wall_ms(struct rn_env *env)
{
    (void)env;
    return read_clock(CLOCK_REALTIME) / 1000000;
}

static int64_t real_mono_ns(struct rn_env *env)
{
    (void)env;
#ifdef CLOCK_BOOTTIME
    return read_clock(CLOCK_BOOTTIME);
#else
    return read_clock(CLOCK_MONOTONIC);
#endif
}

/* Saturates: a deadline past the end of time is the end of time. */
struct timespec rn_cond_deadline(int64_t ns)
{
    int64_t now = read_clock(CLOCK_MONOTONIC);
    int64_t then = ns > INT64_MAX - now ? INT64_MAX : now + ns;

    return (struct timespec){ .tv_sec = then / NS_PER_S,
                              .tv_nsec = then % NS_PER_S };
}

static void real_sleep(struct rn_env *env, int64_t ns)
{
    struct timespec until;

    (void)env;
    if (ns <= 0)
        return;
    until = rn_cond_deadline(ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) ==
           EINTR)
        ;
}

static void real_give_way(struct rn_env *env)
{
    (void)env;
    sched_yield();
}

/* Aborts instead of failing: keys and ids are made of these bytes, so a machine
 * that has none must not go on. */
static void real_random(struct rn_env *env, void *out, size_t len)
{
    char *at = out;

    (void)env;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        if (got < 0 && errno != EINTR)
            abort();
        if (got > 0) {
            at += got;
            len -= (size_t)got;
        }
    }
}

/* ---- files --------------------------------------------------------------- */

static const int open_flags[] = {
    [RN_OPEN_READ] = O_RDONLY | O_NOFOLLOW,
    [RN_OPEN_FOLLOW] = O_RDONLY,
    [RN_OPEN_WRITE] = O_RDWR | O_NOFOLLOW,
    [RN_OPEN_CREATE] = O_RDWR | O_NOFOLLOW | O_CREAT,
    [RN_OPEN_NEW] = O_RDWR | O_NOFOLLOW | O_CREAT | O_TRUNC,
    [RN_OPEN_IN_PLACE] = O_RDWR | O_NOFOLLOW | O_CREAT | O_TRUNC,
};

static int open_fd(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, 0600);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Zero if `fd` is a regular file.  A directory opens for reading like one, and
 * only its reads would fail. */
static int check_regular(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return S_ISREG(st.st_mode) ? 0 : EINVAL;
}

/* Gives a file that root created in another user's directory to that user:
 * otherwise the user could not use it.  Zero, or the error of the chown. */
static int give_to_owner(int fd, const char *path)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX] = ".";
    struct stat own, above;

    if (geteuid() != 0)
        return 0;
    if (slash)
        snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path) + 1, path);
    if (fstat(fd, &own) || stat(dir, &above) || own.st_uid != 0 ||
        above.st_uid == 0 || (above.st_mode & S_ISVTX))
        return 0;
    return fchown(fd, above.st_uid, above.st_gid) ? errno : 0;
}

/* Must be called while the file is empty.  File systems other than btrfs do not
 * know the flag; they write in place, or cannot. */
static void write_in_place(int fd)
{
    int flags = 0;

    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0)
        return;
    flags |= FS_NOCOW_FL;
    (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int real_open(struct rn_env *env, const char *path, enum rn_open how,
                     struct rn_file **out)
{
    struct real_file *file;
    int fd, error;

    /* O_NONBLOCK has no effect on a file, but a FIFO in its place would
     * otherwise block here for ever. */
    fd = open_fd(path, open_flags[how] | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return errno;
    error = check_regular(fd);
    if (!error && (open_flags[how] & O_CREAT))
        error = give_to_owner(fd, path);
    if (!error && how == RN_OPEN_IN_PLACE)
        write_in_place(fd);
    file = error ? NULL : rn_new(sizeof(*file));
    if (!file) {
        close(fd);
        return error ? error : ENOMEM;
    }
    file->base.env = env;
    file->fd = fd;
    *out = &file->base;
    return 0;
}

static void real_close(struct rn_file *file)
{
    if (!file)
        return;
    close(fd_of(file)); /* not retried: Linux frees the number first */
    rn_free(((struct real_file *)file)->direct);
    rn_free(file);
}

static void real_direct(struct rn_file *file)
{
    struct real_file *f = (struct real_file *)file;
    int flags = fcntl(f->fd, F_GETFL);
    struct direct *d;

    if (f->direct || flags < 0)
        return;
    d = rn_new(sizeof(*d));
    if (!d || fcntl(f->fd, F_SETFL, flags | O_DIRECT)) {
        rn_free(d);
        return;
    }
    d->at = d->memory + DIRECT_BLOCK - (uintptr_t)d->memory % DIRECT_BLOCK;
    f->direct = d;
}

static void end_direct(struct real_file *f)
{
    (void)fcntl(f->fd, F_SETFL, fcntl(f->fd, F_GETFL) & ~O_DIRECT);
    rn_free(f->direct);
    f->direct = NULL;
}

/* Like pwrite. */
static ssize_t write_direct(struct real_file *f, struct rn_view bytes,
                            uint64_t offset)
{
    size_t len = bytes.len < DIRECT_BYTES ? bytes.len : DIRECT_BYTES;

    if ((offset | len) % DIRECT_BLOCK) {
        errno = EINVAL;
        return -1;
    }
    memcpy(f->direct->at, bytes.at, len);
    return pwrite(f->fd, f->direct->at, len, (off_t)offset);
}

/* Like pwrite; the page cache takes what the device does not. */
static ssize_t write_some(struct real_file *f, struct rn_view bytes,
                          uint64_t offset)
{
    ssize_t n;

    if (f->direct) {
        n = write_direct(f, bytes, offset);
        if (n >= 0 || errno != EINVAL)
            return n;
        end_direct(f);
    }
    return pwrite(f->fd, bytes.at, bytes.len, (off_t)offset);
}

/* off_t is signed; past its end the kernel would see a negative offset. */
static bool fits_off_t(uint64_t offset, uint64_t len)
{
    return offset <= INT64_MAX && len <= INT64_MAX - offset;
}

static int real_pread(struct rn_file *file, void *out, size_t len,
                      uint64_t offset, size_t *got)
{
    size_t done = 0;

    *got = 0;
    if (!fits_off_t(offset, len))
        return EINVAL;
    if (((struct real_file *)file)->direct)
        end_direct((struct real_file *)file);
    while (done < len) {
        ssize_t n = pread(fd_of(file), (char *)out + done, len - done,
                          (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    *got = done;
    return 0;
}

static int real_pwrite(struct rn_file *file, struct rn_view bytes,
                       uint64_t offset)
{
    size_t done = 0;

    if (!fits_off_t(offset, bytes.len))
        return EFBIG;
    while (done < bytes.len) {
        ssize_t n = write_some((struct real_file *)file,
                               rn_view_of(bytes.at + done, bytes.len - done),
                               offset + done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            return EIO; /* undefined; a retry might never end */
        done += (size_t)n;
    }
    return 0;
}

static int real_sync(struct rn_file *file)
{
    int rc;

    do
        rc = fdatasync(fd_of(file));
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

/* Reports a write-back error although this is a hint: the kernel reports each
 * error once per open file, so the next sync would no longer see it. */
static int real_write_back(struct rn_file *file, uint64_t offset, uint64_t len)
{
    const unsigned how = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                         SYNC_FILE_RANGE_WAIT_AFTER;
    int rc;

    if (len == 0 || !fits_off_t(offset, len))
        return 0; /* to the kernel a length of 0 is "to the end" */
    do
        rc = sync_file_range(fd_of(file), (off_t)offset, (off_t)len, how);
    while (rc != 0 && errno == EINTR);
    if (rc == 0 || errno == EINVAL || errno == ENOSYS)
        return 0;
    return errno;
}

static int real_reserve(struct rn_file *file, uint64_t offset, uint64_t len,
                        enum rn_reserve how)
{
    int mode = how == RN_RESERVE_KEEP ? FALLOC_FL_KEEP_SIZE : 0;
    int rc;

    if (!fits_off_t(offset, len))
        return EFBIG;
    if (len == 0)
        return 0;
    do
        rc = fallocate(fd_of(file), mode, (off_t)offset, (off_t)len);
    while (rc != 0 && errno == EINTR);
    if (rc == 0)
        return 0;
    return errno == ENOSYS ? EOPNOTSUPP : errno;
}

static int real_truncate(struct rn_file *file, uint64_t len)
{
    int rc;

    if (!fits_off_t(len, 0))
        return EFBIG;
    do
        rc = ftruncate(fd_of(file), (off_t)len);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

static int real_size(struct rn_file *file, uint64_t *out)
{
    struct stat st;

    if (fstat(fd_of(file), &st) != 0)
        return errno;
    *out = (uint64_t)st.st_size;
    return 0;
}

enum { STAT_BLOCK = 512 }; /* whatever the file system's is */

static int real_allocated(struct rn_file *file, uint64_t *out)
{
    struct stat st;

    if (fstat(fd_of(file), &st) != 0)
        return errno;
    *out = (uint64_t)st.st_blocks * STAT_BLOCK;
    return 0;
}

/* Only advice, but the kernel follows it for pages that are clean and not
 * mapped; pages that a failed sync left behind look clean. */
static void real_reread(struct rn_file *file, uint64_t offset, uint64_t len)
{
    if (len > 0 && fits_off_t(offset, len))
        (void)posix_fadvise(fd_of(file), (off_t)offset, (off_t)len,
                            POSIX_FADV_DONTNEED);
}

static int real_mode(struct rn_file *file, unsigned *out)
{
    struct stat st;

    if (fstat(fd_of(file), &st) != 0)
        return errno;
    *out = st.st_mode & 07777;
    return 0;
}

static int real_resemble(struct rn_file *file, const char *path)
{
    int fd = fd_of(file);
    struct stat now, then;

    if (lstat(path, &then))
        return errno == ENOENT ? 0 : errno;
    if (!S_ISREG(then.st_mode))
        return 0; /* a link is replaced, not followed */
    if (fstat(fd, &now))
        return errno;
    if ((now.st_uid != then.st_uid || now.st_gid != then.st_gid) &&
        fchown(fd, then.st_uid, then.st_gid) && geteuid() == 0)
        return errno; /* only root can, so only root must */
    return fchmod(fd, then.st_mode & 0640) ? errno : 0;
}

static int real_publish(struct rn_file *file)
{
    return fchmod(fd_of(file), 0644) ? errno : 0;
}

static int real_lock(struct rn_file *file, enum rn_file_lock how)
{
    static const int operations[] = {
        [RN_LOCK_SHARED] = LOCK_SH | LOCK_NB,
        [RN_LOCK_EXCLUSIVE] = LOCK_EX | LOCK_NB,
        [RN_LOCK_NONE] = LOCK_UN,
    };
    int rc;

    do
        rc = flock(fd_of(file), operations[how]);
    while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

/* A path that cannot be reached for now still counts as this file's. */
static bool real_is_at(struct rn_file *file, const char *path)
{
    struct stat own, there;

    if (lstat(path, &there) != 0)
        return errno != ENOENT && errno != ENOTDIR;
    return fstat(fd_of(file), &own) != 0 ||
           (own.st_dev == there.st_dev && own.st_ino == there.st_ino);
}

/* ---- names --------------------------------------------------------------- */

static int real_rename(struct rn_env *env, const char *from, const char *to)
{
    (void)env;
    return rename(from, to) == 0 ? 0 : errno;
}

static int real_remove(struct rn_env *env, const char *path)
{
    (void)env;
    return remove(path) == 0 ? 0 : errno;
}

static int real_make_dir(struct rn_env *env, const char *path)
{
    int fd, error;

    (void)env;
    if (mkdir(path, 0700))
        return errno;
    fd = open_fd(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        return errno;
    error = give_to_owner(fd, path);
    close(fd);
    return error;
}

static int real_sync_dir(struct rn_env *env, const char *path)
{
    int fd = open_fd(path, O_RDONLY | O_DIRECTORY);
    int rc, error;

    (void)env;
    if (fd < 0)
        return errno;
    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    error = rc == 0 ? 0 : errno;
    close(fd);
    return error;
}

static int real_list(struct rn_env *env, const char *path, rn_env_list_fn *each,
                     void *context)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int error;

    (void)env;
    if (!dir)
        return errno;
    /* readdir distinguishes an error from the end by errno alone. */
    while (errno = 0, entry = readdir(dir), entry) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        each(context, entry->d_name);
    }
    error = errno;
    closedir(dir);
    return error;
}

/* The space that this user may still write, which is less than the free space.
 */
static int real_space(struct rn_env *env, const char *path,
                      uint64_t *free_bytes)
{
    struct statvfs st;

    (void)env;
    if (statvfs(path, &st) != 0)
        return errno;
    *free_bytes = (uint64_t)st.f_bavail * st.f_frsize;
    return 0;
}

/* ---- tasks --------------------------------------------------------------- */

/* One thread per task.  `lock` guards the two flags; steps run without it. */
struct real_task {
    struct rn_task *task;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken;    /* since the last step began; so no wake is lost */
    bool stopping; /* never cleared */
};

/* Sleeps until the task is to run again; false if it is stopping. */
static bool wait_for_turn(struct real_task *t, int64_t ns)
{
    struct timespec until = rn_cond_deadline(ns > 0 ? ns : 0);
    bool go_on;
    int rc = ns > 0 ? 0 : ETIMEDOUT;

    pthread_mutex_lock(&t->lock);
    while (!t->woken && !t->stopping && rc != ETIMEDOUT) {
        if (ns == RN_TASK_IDLE)
            pthread_cond_wait(&t->changed, &t->lock);
        else
            rc = pthread_cond_timedwait(&t->changed, &t->lock, &until);
    }
    t->woken = false;
    go_on = !t->stopping;
    pthread_mutex_unlock(&t->lock);
    return go_on;
}

/* The kernel's struct (sched_setattr(2)); not every C library has it. */
struct sched_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t slice_ns, deadline_ns, period_ns;
};

/* A thread with a short time slice runs sooner when it wakes, and gets no more
 * of the processor than others.  On a kernel without such slices (before 6.12),
 * or if the scheduling policy was set from outside, nothing changes. */
static void be_prompt(void)
{
    struct sched_attributes how = { 0 };

    if (syscall(SYS_sched_getattr, 0, &how, sizeof(how), 0) ||
        how.policy != SCHED_OTHER)
        return;
    how.slice_ns = PROMPT_SLICE_NS;
    (void)syscall(SYS_sched_setattr, 0, &how, 0);
}

static void *run_task(void *context)
{
    struct real_task *t = context;
    char name[16]; /* what the kernel keeps, NUL included */

    if (t->task->is_prompt)
        be_prompt();
    snprintf(name, sizeof(name), "%s", t->task->name);
    pthread_setname_np(pthread_self(), name);
    while (wait_for_turn(t, t->task->step(t->task->context)))
        ;
    return NULL;
}

/* Signals are for the main thread.  Only the signals that a thread's own fault
 * raises stay unblocked, because blocked they would kill the process silently.
 */
static int start_thread(struct real_task *t)
{
    sigset_t blocked, before;
    int error;

    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGILL);
    error = pthread_sigmask(SIG_SETMASK, &blocked, &before);
    if (error)
        return error;
    error = pthread_create(&t->thread, NULL, run_task, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static int init_task(struct real_task *t)
{
    pthread_condattr_t attr;
    int error;

    error = pthread_condattr_init(&attr);
    if (error)
        return error;
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    error = pthread_cond_init(&t->changed, &attr);
    pthread_condattr_destroy(&attr);
    if (error)
        return error;
    error = pthread_mutex_init(&t->lock, NULL);
    if (error)
        pthread_cond_destroy(&t->changed);
    return error;
}

static void free_task(struct real_task *t)
{
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->changed);
    rn_free(t);
}

static int real_task_start(struct rn_env *env, struct rn_task *task)
{
    struct real_task *t;
    int error;

    (void)env;
    assert(!task->running);
    t = rn_new(sizeof(*t));
    if (!t)
        return ENOMEM;
    t->task = task;
    error = init_task(t);
    if (error) {
        rn_free(t);
        return error;
    }
    task->running = t; /* before the first step, which may wake its own task */
    error = start_thread(t);
    if (error) {
        task->running = NULL;
        free_task(t);
    }
    return error;
}

static void real_task_wake(struct rn_env *env, struct rn_task *task)
{
    struct real_task *t = task->running;
    bool was_woken;

    (void)env;
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    was_woken = t->woken;
    t->woken = true;
    pthread_mutex_unlock(&t->lock);
    /* After the unlock: a thread woken before would find the lock taken, and
     * sleep. */
    if (!was_woken)
        pthread_cond_signal(&t->changed);
}

static void real_task_stop(struct rn_env *env, struct rn_task *task)
{
    struct real_task *t = task->running;

    (void)env;
    if (!t)
        return;
    assert(!pthread_equal(t->thread, pthread_self()));
    pthread_mutex_lock(&t->lock);
    t->stopping = true;
    pthread_cond_signal(&t->changed);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    task->running = NULL;
    free_task(t);
}

/* ---- the table ----------------------------------------------------------- */

static const struct rn_env_ops real_ops = {
    .name = "real",
    .wall_ms = real_wall_ms,
    .mono_ns = real_mono_ns,
    .sleep = real_sleep,
    .give_way = real_give_way,
    .random = real_random,
    .open = real_open,
    .close = real_close,
    .pread = real_pread,
    .pwrite = real_pwrite,
    .direct = real_direct,
    .sync = real_sync,
    .write_back = real_write_back,
    .reserve = real_reserve,
    .truncate = real_truncate,
    .size = real_size,
    .allocated = real_allocated,
    .reread = real_reread,
    .mode = real_mode,
    .resemble = real_resemble,
    .publish = real_publish,
    .lock = real_lock,
    .is_at = real_is_at,
    .rename = real_rename,
    .remove = real_remove,
    .make_dir = real_make_dir,
    .sync_dir = real_sync_dir,
    .list = real_list,
    .space = real_space,
    .task_start = real_task_start,
    .task_wake = real_task_wake,
    .task_stop = real_task_stop,
};

struct rn_env *rn_env_real(void)
{
    static struct rn_env machine = { &real_ops };

    return &machine;
}
