/* record.c -- see record.h. */
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    FDS_MAX = 1024,
    EVENTS_MAX = 1 << 17,
    FD_UNKNOWN = 0, /* so that zeroed is right; others are shifted by one */
    FD_DIR = -1,
    FD_PARENT = -2,
};

#define BYTES_MAX ((size_t)1 << 30) /* of address space; little is used */

static struct {
    char parent[PATH_MAX], dir[PATH_MAX];
    size_t dir_len;
    bool on;

    char text[RECORD_NAMES_MAX][RECORD_NAME_BYTES];
    int names_len;
    struct names now;
    int next_file;
    int name_of[RECORD_FILES_MAX]; /* the last one it had */
    int fd[FDS_MAX];               /* file + 1, or FD_* */

    struct event events[EVENTS_MAX];
    size_t events_len;
    char *bytes;
    size_t bytes_len;

    void (*peek)(void *context);
    void *peek_context;
    bool peeking;

    char fail_prefix[RECORD_NAME_BYTES];
    uint64_t fail_nth, changes;
    int fail_error;
    bool fail_stays, failed;
} rec;

/* A fault of the harness itself, not of what it tests. */
static void give_up(const char *why)
{
    fprintf(stderr, "recorder: %s\n", why);
    _exit(3);
}

int record_find_name(const char *text)
{
    for (int i = 0; i < rec.names_len; i++) {
        if (strcmp(rec.text[i], text) == 0)
            return i;
    }
    return -1;
}

int record_name(const char *text)
{
    int found = record_find_name(text);

    if (found >= 0)
        return found;
    if (rec.names_len == RECORD_NAMES_MAX || strlen(text) >= RECORD_NAME_BYTES)
        give_up("too many names, or too long a name");
    snprintf(rec.text[rec.names_len], RECORD_NAME_BYTES, "%s", text);
    rec.now.file[rec.names_len] = RECORD_NO_FILE;
    return rec.names_len++;
}

const char *record_name_text(int name)
{
    return rec.text[name];
}

int record_name_of(int file)
{
    return rec.name_of[file];
}

void record_watch(const char *parent, const char *dir)
{
    snprintf(rec.parent, sizeof(rec.parent), "%s", parent);
    snprintf(rec.dir, sizeof(rec.dir), "%s", dir);
    rec.dir_len = strlen(dir);
    rec.names_len = 0;
    if (rec.bytes)
        return;
    rec.bytes = mmap(NULL, BYTES_MAX, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (rec.bytes == MAP_FAILED)
        give_up("no address space");
}

void record_set(const struct names *names, int next_file)
{
    rec.now = *names;
    rec.next_file = next_file;
    for (int i = 0; i < rec.names_len; i++) {
        if (names->file[i] != RECORD_NO_FILE)
            rec.name_of[names->file[i]] = i;
    }
}

int record_next_file(void)
{
    return rec.next_file;
}

void record_on(bool on)
{
    rec.on = on;
}

size_t record_mark(void)
{
    return rec.events_len;
}

void record_rewind(size_t mark)
{
    /* The bytes of the first event dropped, and of all after it, are free. */
    for (size_t i = mark; i < rec.events_len; i++) {
        if (rec.events[i].bytes) {
            rec.bytes_len = (size_t)(rec.events[i].bytes - rec.bytes);
            break;
        }
    }
    rec.events_len = mark;
}

const struct event *record_event(size_t index)
{
    return &rec.events[index];
}

void record_before_sync(void (*peek)(void *context), void *context)
{
    rec.peek = peek;
    rec.peek_context = context;
}

void record_fail(uint64_t nth, const char *prefix, int error, bool stay)
{
    snprintf(rec.fail_prefix, sizeof(rec.fail_prefix), "%s", prefix);
    rec.fail_nth = nth;
    rec.fail_error = error;
    rec.fail_stays = stay;
    rec.changes = 0;
    rec.failed = false;
}

uint64_t record_changes(void)
{
    return rec.changes;
}

bool record_has_failed(void)
{
    return rec.failed;
}

/* ---- events -------------------------------------------------------------- */

static struct event *append(enum event_kind kind)
{
    static struct event ignored;
    struct event *e = &ignored;

    if (rec.on) {
        if (rec.events_len == EVENTS_MAX)
            give_up("too many events");
        e = &rec.events[rec.events_len++];
    }
    *e = (struct event){ .kind = kind, .file = RECORD_NO_FILE };
    return e;
}

void record_note(enum event_kind kind, uint64_t at, uint64_t generation)
{
    struct event *e = append(kind);

    e->at = at;
    e->len = generation;
}

static void note_write(int file, uint64_t at, const void *bytes, size_t len)
{
    struct event *e;

    if (!rec.on)
        return;
    if (rec.bytes_len + len > BYTES_MAX)
        give_up("too many bytes");
    e = append(EVENT_WRITE);
    e->file = file;
    e->at = at;
    e->len = len;
    e->bytes = memcpy(rec.bytes + rec.bytes_len, bytes, len);
    rec.bytes_len += len;
}

static void note_length(enum event_kind kind, int file, uint64_t length)
{
    struct event *e = append(kind);

    e->file = file;
    e->at = length;
}

/* Counts a change of `name`; true if it is one that shall fail. */
static bool must_fail(const char *name)
{
    bool hit;

    if (rec.fail_nth == 0 ||
        strncmp(name, rec.fail_prefix, strlen(rec.fail_prefix)) != 0)
        return false;
    rec.changes++;
    hit = rec.changes == rec.fail_nth ||
          (rec.fail_stays && rec.changes > rec.fail_nth);
    if (!hit)
        return false;
    rec.failed = true;
    errno = rec.fail_error;
    return true;
}

/* ---- descriptors --------------------------------------------------------- */

/* The file behind `fd`, RECORD_NO_FILE if it is none of ours. */
static int file_of(int fd)
{
    if (fd < 0 || fd >= FDS_MAX || rec.fd[fd] <= FD_UNKNOWN)
        return RECORD_NO_FILE;
    return rec.fd[fd] - 1;
}

static bool file_must_fail(int file)
{
    return must_fail(rec.text[rec.name_of[file]]);
}

/* The name within the watched directory, or NULL if `path` is not in it. */
static const char *name_in(const char *path)
{
    const char *name = path + rec.dir_len + 1;
    size_t len;

    if (rec.dir_len == 0 || strncmp(path, rec.dir, rec.dir_len) != 0 ||
        path[rec.dir_len] != '/')
        return NULL;
    len = strlen(name);
    if (strchr(name, '/') || strcmp(name, "..") == 0 ||
        (len > 5 && strcmp(name + len - 5, "-lock") == 0))
        return NULL;
    return name;
}

static void track(int fd, int what)
{
    if (fd >= FDS_MAX)
        give_up("too many descriptors");
    rec.fd[fd] = what;
}

static int file_new(int name)
{
    struct event *e = append(EVENT_CREATE);

    if (rec.next_file == RECORD_FILES_MAX)
        give_up("too many files");
    e->name = name;
    e->file = rec.next_file;
    rec.now.file[name] = rec.next_file;
    rec.name_of[rec.next_file] = name;
    return rec.next_file++;
}

static void track_open(int fd, const char *path, int flags)
{
    const char *text = name_in(path);
    int name, file;

    if (strcmp(path, rec.dir) == 0)
        track(fd, FD_DIR);
    else if (rec.dir_len && (strcmp(path, rec.parent) == 0 ||
                             (strncmp(path, rec.dir, rec.dir_len) == 0 &&
                              strcmp(path + rec.dir_len, "/..") == 0)))
        track(fd, FD_PARENT);
    if (!text)
        return;
    name = record_name(text);
    file = rec.now.file[name];
    if (file == RECORD_NO_FILE)
        file = file_new(name);
    else if (flags & O_TRUNC)
        note_length(EVENT_TRUNCATE, file, 0);
    track(fd, file + 1);
}

/* ---- the calls replaced -------------------------------------------------- */

#pragma GCC visibility push(default)

int open(const char *path, int flags, ...)
{
    const char *text = name_in(path);
    mode_t mode = 0;
    va_list rest;
    int fd;

    if (flags & O_CREAT) {
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    if (text && (flags & (O_CREAT | O_TRUNC)) && must_fail(text))
        return -1;
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fd >= 0)
        track_open(fd, path, flags);
    return fd;
}

int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    va_list rest;

    if (flags & O_CREAT) {
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    return open(path, flags, mode);
}

int close(int fd)
{
    if (fd >= 0 && fd < FDS_MAX)
        rec.fd[fd] = FD_UNKNOWN;
    return (int)syscall(SYS_close, fd);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    int file = file_of(fd);
    ssize_t n;

    if (file != RECORD_NO_FILE && file_must_fail(file))
        return -1;
    n = syscall(SYS_pwrite64, fd, bytes, len, at);
    if (n > 0 && file != RECORD_NO_FILE)
        note_write(file, (uint64_t)at, bytes, (size_t)n);
    return n;
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    return pwrite(fd, bytes, len, at);
}

ssize_t pwritev(int fd, const struct iovec *v, int count, off_t at)
{
    ssize_t done = 0;

    for (int i = 0; i < count; i++) {
        ssize_t n = pwrite(fd, v[i].iov_base, v[i].iov_len, at + done);
        if (n < 0)
            return done ? done : n;
        done += n;
        if ((size_t)n < v[i].iov_len)
            break;
    }
    return done;
}

ssize_t pwritev64(int fd, const struct iovec *v, int count, off64_t at)
{
    return pwritev(fd, v, count, at);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    int file = file_of(fd);
    off_t at = 0;
    ssize_t n;

    if (file != RECORD_NO_FILE) {
        if (file_must_fail(file))
            return -1;
        at = lseek(fd, 0, SEEK_CUR);
    }
    n = syscall(SYS_write, fd, bytes, len);
    if (n > 0 && file != RECORD_NO_FILE)
        note_write(file, (uint64_t)at, bytes, (size_t)n);
    return n;
}

ssize_t writev(int fd, const struct iovec *v, int count)
{
    ssize_t done = 0;

    if (file_of(fd) == RECORD_NO_FILE)
        return syscall(SYS_writev, fd, v, count);
    for (int i = 0; i < count; i++) {
        ssize_t n = write(fd, v[i].iov_base, v[i].iov_len);
        if (n < 0)
            return done ? done : n;
        done += n;
        if ((size_t)n < v[i].iov_len)
            break;
    }
    return done;
}

int ftruncate(int fd, off_t len)
{
    int file = file_of(fd), rc;

    if (file != RECORD_NO_FILE && file_must_fail(file))
        return -1;
    rc = (int)syscall(SYS_ftruncate, fd, len);
    if (rc == 0 && file != RECORD_NO_FILE)
        note_length(EVENT_TRUNCATE, file, (uint64_t)len);
    return rc;
}

int ftruncate64(int fd, off64_t len)
{
    return ftruncate(fd, len);
}

/* Blocks that do not change the length cannot be seen after a cut. */
int fallocate(int fd, int mode, off_t at, off_t len)
{
    int file = file_of(fd), rc;

    if (file == RECORD_NO_FILE)
        return (int)syscall(SYS_fallocate, fd, mode, at, len);
    if (file_must_fail(file))
        return -1;
    if (mode & FALLOC_FL_KEEP_SIZE)
        return 0;
    rc = (int)syscall(SYS_fallocate, fd, mode, at, len);
    if (rc == 0)
        note_length(EVENT_GROW, file, (uint64_t)(at + len));
    return rc;
}

int fallocate64(int fd, int mode, off64_t at, off64_t len)
{
    return fallocate(fd, mode, at, len);
}

static int sync_fd(int fd)
{
    int what = fd >= 0 && fd < FDS_MAX ? rec.fd[fd] : FD_UNKNOWN;

    if (what == FD_UNKNOWN)
        return (int)syscall(SYS_fsync, fd);
    if (what > 0 ? file_must_fail(what - 1) : must_fail("."))
        return -1;
    if (rec.peek && rec.on && !rec.peeking) {
        rec.peeking = true;
        rec.peek(rec.peek_context);
        rec.peeking = false;
    }
    if (what == FD_DIR)
        append(EVENT_SYNC_DIR);
    else if (what == FD_PARENT)
        append(EVENT_SYNC_PARENT);
    else
        append(EVENT_SYNC)->file = what - 1;
    return 0;
}

int fdatasync(int fd)
{
    return sync_fd(fd);
}

int fsync(int fd)
{
    return sync_fd(fd);
}

int sync_file_range(int fd, off64_t at, off64_t len, unsigned flags)
{
    int file = file_of(fd);

    if (file == RECORD_NO_FILE)
        return (int)syscall(SYS_sync_file_range, fd, at, len, flags);
    return file_must_fail(file) ? -1 : 0;
}

int rename(const char *from, const char *to)
{
    const char *old = name_in(from), *new = name_in(to);
    struct event *e;
    int rc, a, b;

    if (old && must_fail(old))
        return -1;
    rc = (int)syscall(SYS_rename, from, to);
    if (rc != 0 || !old || !new)
        return rc;
    a = record_name(old);
    b = record_name(new);
    e = append(EVENT_RENAME);
    e->name = a;
    e->to = b;
    rec.name_of[rec.now.file[a]] = b;
    rec.now.file[b] = rec.now.file[a];
    rec.now.file[a] = RECORD_NO_FILE;
    return 0;
}

int unlink(const char *path)
{
    const char *text = name_in(path);
    int rc;

    if (text && must_fail(text))
        return -1;
    rc = (int)syscall(SYS_unlink, path);
    if (rc == 0 && text) {
        int name = record_name(text);
        append(EVENT_REMOVE)->name = name;
        rec.now.file[name] = RECORD_NO_FILE;
    }
    return rc;
}

int remove(const char *path)
{
    return unlink(path);
}

int mkdir(const char *path, mode_t mode)
{
    int rc = (int)syscall(SYS_mkdir, path, mode);

    if (rc == 0 && strcmp(path, rec.dir) == 0) {
        rec.now.there = true;
        append(EVENT_MAKE_DIR);
    }
    return rc;
}

#pragma GCC visibility pop
