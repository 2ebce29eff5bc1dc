/* lay.c -- the disk of disk.h and the real directory: making one look like the
 * other, and comparing them.  Calls go past the recorder.
 */
#include "disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNK = 1 << 16, LARGE = 8 << 20, LOCK_BYTES = 66048 };

static void must_do(long rc, const char *what)
{
    if (rc >= 0)
        return;
    perror(what);
    _exit(3);
}

/* Removes the files that `wanted` does not name; all of them if it is NULL. */
static bool clear_dir(const char *dir, const struct names *wanted)
{
    DIR *listing = opendir(dir);
    struct dirent *entry;

    if (!listing)
        return false;
    while ((entry = readdir(listing)) != NULL) {
        int name = record_find_name(entry->d_name);
        if (!wanted || name < 0 || wanted->file[name] == RECORD_NO_FILE)
            syscall(SYS_unlinkat, dirfd(listing), entry->d_name, 0);
    }
    closedir(listing);
    return true;
}

void disk_remove(const char *dir)
{
    if (clear_dir(dir, NULL))
        must_do(syscall(SYS_rmdir, dir), dir);
}

static int open_raw(const char *dir, const char *name, int flags)
{
    char path[PATH_MAX];
    long fd;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    must_do(fd, path);
    return (int)fd;
}

static void write_raw(int fd, const char *bytes, uint64_t len, uint64_t at)
{
    while (len) {
        long n = syscall(SYS_pwrite64, fd, bytes, len, at);
        must_do(n, "pwrite");
        bytes += n;
        at += (uint64_t)n;
        len -= (uint64_t)n;
    }
}

/* A large file is mostly zeros: those are left to the file system. */
static void lay_bytes(const struct disk_file *f, int fd)
{
    static const char zeros[CHUNK];

    if (f->len > LARGE)
        must_do(syscall(SYS_ftruncate, fd, 0), "ftruncate");
    for (uint64_t at = 0; at < f->len; at += CHUNK) {
        uint64_t len = f->len - at < CHUNK ? f->len - at : CHUNK;
        if (f->len <= LARGE || memcmp(f->bytes + at, zeros, len) != 0)
            write_raw(fd, f->bytes + at, len, at);
    }
    must_do(syscall(SYS_ftruncate, fd, f->len), "ftruncate");
}

static void lay_file(const struct disk_file *f, int fd)
{
    uint64_t len = f->len;

    lay_bytes(f, fd);
    for (size_t i = 0; i < f->pending_len; i++) {
        const struct event *e = f->pending[i];
        if (e->kind == EVENT_WRITE) {
            write_raw(fd, e->bytes, e->len, e->at);
            if (e->at + e->len > len)
                len = e->at + e->len;
        } else if (e->kind == EVENT_TRUNCATE || e->at > len) {
            must_do(syscall(SYS_ftruncate, fd, e->at), "ftruncate");
            len = e->at;
        }
    }
}

static void lay_lock(const char *dir, struct dice *dice)
{
    int fd;

    if (dice_below(dice, 3))
        return;
    fd = open_raw(dir, "map-1-lock", O_RDWR | O_CREAT);
    for (uint64_t at = 0; at < LOCK_BYTES; at += 1 + dice_below(dice, 128)) {
        char noise = (char)dice_next(dice);
        write_raw(fd, &noise, 1, at);
    }
    syscall(SYS_close, fd);
}

void disk_lay(const struct disk *d, const char *dir, struct dice *dice)
{
    record_set(&d->now, d->files_len);
    if (!d->now.there) {
        disk_remove(dir);
        return;
    }
    /* Files of the same name are written over, which is faster. */
    if (!clear_dir(dir, &d->now))
        must_do(syscall(SYS_mkdir, dir, 0700), dir);
    for (int i = 0; i < RECORD_NAMES_MAX; i++) {
        int fd;
        if (d->now.file[i] == RECORD_NO_FILE)
            continue;
        fd = open_raw(dir, record_name_text(i), O_RDWR | O_CREAT);
        lay_file(&d->file[d->now.file[i]], fd);
        syscall(SYS_close, fd);
    }
    if (d->now.file[record_name("map-1")] != RECORD_NO_FILE)
        lay_lock(dir, dice);
}

static bool is_same(const struct disk_file *f, int fd)
{
    static char block[1 << 16];
    struct stat st;
    uint64_t at = 0;

    if (fstat(fd, &st) != 0 || (uint64_t)st.st_size != f->len)
        return false;
    while (at < f->len) {
        long n = syscall(SYS_pread64, fd, block, sizeof(block), at);
        if (n <= 0 || memcmp(block, f->bytes + at, (size_t)n) != 0)
            return false;
        at += (uint64_t)n;
    }
    return true;
}

/* NULL if the directory has no names but those of `n` and LMDB's lock. */
static const char *find_stranger(const struct names *n, const char *dir)
{
    DIR *listing = opendir(dir);
    struct dirent *entry;
    bool strange = false;

    while (listing && !strange && (entry = readdir(listing)) != NULL) {
        int name = record_find_name(entry->d_name);
        strange = entry->d_name[0] != '.' && !strstr(entry->d_name, "-lock") &&
                  (name < 0 || n->file[name] == RECORD_NO_FILE);
    }
    if (listing)
        closedir(listing);
    return strange ? "a name" : NULL;
}

const char *disk_compare(const struct disk *d, const char *dir)
{
    struct disk_file whole = { 0 };
    const char *bad = find_stranger(&d->now, dir);

    for (int i = 0; !bad && i < RECORD_NAMES_MAX; i++) {
        int fd;
        if (d->now.file[i] == RECORD_NO_FILE)
            continue;
        disk_file_now(&d->file[d->now.file[i]], &whole);
        fd = open_raw(dir, record_name_text(i), O_RDONLY);
        if (!is_same(&whole, fd))
            bad = record_name_text(i);
        syscall(SYS_close, fd);
    }
    free(whole.bytes);
    return bad;
}
