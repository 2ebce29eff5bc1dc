/* append.c -- see append.h. */
#include "tools/transfer/append.h"

#include "tools/common/report.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const struct rn_append *file)
{
    return rn_report(RN_EXIT_FAILED, "%s: %s", file->path, strerror(errno));
}

static int cut(const struct rn_append *file)
{
    struct stat is;

    if (fstat(file->fd, &is))
        return failed(file);
    if ((uint64_t)is.st_size < file->length) {
        return rn_report(RN_EXIT_FAILED,
                         "%s is shorter than the state file says: %llu of %llu "
                         "bytes",
                         file->path, (unsigned long long)is.st_size,
                         (unsigned long long)file->length);
    }
    if (ftruncate(file->fd, (off_t)file->length) ||
        lseek(file->fd, 0, SEEK_END) < 0)
        return failed(file);
    return RN_EXIT_OK;
}

int rn_append_open(struct rn_append *file, const char *path, uint64_t length)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (length ? 0 : O_TRUNC);

    *file = (struct rn_append){ .path = path, .length = length };
    file->fd = open(path, flags, 0666);
    if (file->fd < 0)
        return failed(file);
    file->is_open = true;
    return length ? cut(file) : RN_EXIT_OK;
}

int rn_append_write(struct rn_append *file, struct rn_view bytes)
{
    size_t length = bytes.len;

    while (bytes.len) {
        ssize_t n = write(file->fd, bytes.at, bytes.len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failed(file);
        bytes = rn_view_of(bytes.at + n, bytes.len - (size_t)n);
    }
    file->length += length;
    return RN_EXIT_OK;
}

int rn_append_sync(const struct rn_append *file)
{
    /* What is not a file on a disk, such as a pipe, cannot be synced. */
    if (file->is_open && fdatasync(file->fd) && errno != EINVAL)
        return failed(file);
    return RN_EXIT_OK;
}

int rn_append_end(struct rn_append *file)
{
    bool was_open = file->is_open;

    file->is_open = false;
    return was_open && close(file->fd) ? failed(file) : RN_EXIT_OK;
}

void rn_append_close(struct rn_append *file)
{
    if (file->is_open)
        close(file->fd);
    file->is_open = false;
}
