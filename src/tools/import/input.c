/* input.c -- reads a file through a buffer. */
#include "tools/import/input.h"

#include "tools/common/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ_BYTES = 1 << 20,
    BUFFER_MAX = 64 << 20, /* a record is refused long before */
    POLL_MS = 100,
};

enum rn_code rn_input_open(struct rn_input *in, const char *name,
                           struct rn_err *err)
{
    bool is_stdin = strcmp(name, "-") == 0;
    struct stat is;

    *in = (struct rn_input){ .name = name,
                             .place = { 0, 1 },
                             .bytes = RN_BUF_INIT(BUFFER_MAX) };
    in->fd = is_stdin ? dup(STDIN_FILENO) : open(name, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        return rn_fail_errno(err, errno, "%s", name);
    in->is_open = true;
    if (fstat(in->fd, &is))
        return rn_fail_errno(err, errno, "%s", name);
    if (S_ISDIR(is.st_mode))
        return rn_fail_errno(err, EISDIR, "%s", name);
    if (S_ISREG(is.st_mode))
        in->size = (uint64_t)is.st_size;
    return RN_OK;
}

void rn_input_close(struct rn_input *in)
{
    if (in->is_open)
        close(in->fd);
    rn_buf_release(&in->bytes);
    *in = (struct rn_input){ 0 };
}

/* Until there is something to read, or a signal came. */
static bool wait_readable(const struct rn_input *in)
{
    struct pollfd fd = { .fd = in->fd, .events = POLLIN };

    while (!rn_interrupted()) {
        if (poll(&fd, 1, POLL_MS) != 0)
            return true; /* read reports an error */
    }
    return false;
}

enum rn_code rn_input_more(struct rn_input *in, struct rn_err *err)
{
    enum rn_code rc;
    ssize_t n;

    if (in->at) {
        in->bytes.len -= in->at;
        memmove(in->bytes.at, in->bytes.at + in->at, in->bytes.len);
        in->at = 0;
    }
    rc = rn_buf_reserve(&in->bytes, READ_BYTES);
    if (rc)
        return rn_fail(err, rc, "%s: %s", in->name, rn_code_name(rc));
    do {
        if (!wait_readable(in))
            return rn_fail(err, RN_BUSY, "interrupted");
        n = read(in->fd, in->bytes.at + in->bytes.len, READ_BYTES);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return rn_fail_errno(err, errno, "%s", in->name);
    in->is_end = n == 0;
    in->bytes.len += (size_t)n;
    return RN_OK;
}

void rn_input_consume(struct rn_input *in, size_t count)
{
    struct rn_view bytes = rn_view_of(in->bytes.at + in->at, count);
    const char *newline;

    in->at += count;
    in->place.offset += count;
    while (bytes.len && (newline = memchr(bytes.at, '\n', bytes.len))) {
        in->place.line++;
        bytes.len -= (size_t)(newline + 1 - bytes.at);
        bytes.at = newline + 1;
    }
}

enum rn_code rn_input_skip(struct rn_input *in, struct rn_place to,
                           struct rn_err *err)
{
    while (in->place.offset < to.offset) {
        uint64_t left = to.offset - in->place.offset;
        struct rn_view bytes = rn_input_view(in);
        enum rn_code rc = RN_OK;

        if (bytes.len)
            rn_input_consume(in, left < bytes.len ? (size_t)left : bytes.len);
        else if (in->is_end) {
            return rn_fail(err, RN_IO, "%s is shorter than the state file says",
                           in->name);
        } else {
            rc = rn_input_more(in, err);
        }
        if (rc)
            return rc;
    }
    in->place = to;
    return RN_OK;
}
