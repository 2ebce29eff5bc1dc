/* verify_on_touch.c -- see verify_on_touch.h. */
#include "store/integrity/verify_on_touch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    STEP_MIN = 128 << 10, /* the kernel reads as much ahead anyway */
    /* Each may become a mapping of its own, and a process may have 65,530. */
    STEPS_MAX = 16384,
    BATCH = 32 << 10, /* read at once; LMDB's largest page */
    PAGE_BYTES_MIN = 512,
};

/* Not on the stack: a handler may run on a small one. */
static _Thread_local char pages[BATCH];

/* A file that ends early leaves zeros. */
static bool read_pages(const struct rn_verify_on_touch *w, size_t len,
                       uint64_t offset)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n =
            pread(w->fd, pages + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno != EINTR)
            return false;
        if (n == 0)
            break;
        if (n > 0)
            done += (size_t)n;
    }
    memset(pages + done, 0, len - done);
    return true;
}

static bool note_damage(struct rn_verify_on_touch *w, uint64_t at,
                        bool is_checksum)
{
    __atomic_store_n(&w->damaged_at, at, __ATOMIC_RELAXED);
    __atomic_store_n(&w->damaged_is_checksum, is_checksum, __ATOMIC_RELAXED);
    return false;
}

/* The checksums of the pages from `offset` on; `*any`: at least one is in use.
 */
static bool read_checksums(struct rn_verify_on_touch *w, uint64_t offset,
                           size_t count, uint64_t *out, bool *any)
{
    uint64_t number = offset / w->page_bytes;

    *any = false;
    for (size_t i = 0; i < count; i++) {
        if (!rn_page_checksums_get(w->checksums, number + i, &out[i]))
            return note_damage(
                w, rn_page_checksums_place(w->checksums, number + i), true);
        *any = *any || out[i];
    }
    return true;
}

/* True if the `len` bytes of pages at `offset` match their checksums.  If none
 * is in use there is nothing to read. */
static bool check_batch(struct rn_verify_on_touch *w, size_t len,
                        uint64_t offset)
{
    uint64_t checksums[BATCH / PAGE_BYTES_MIN];
    size_t page = w->page_bytes;
    bool any = false, readable;

    if (!read_checksums(w, offset, len / page, checksums, &any))
        return false;
    if (!any)
        return true;
    readable = read_pages(w, len, offset);
    for (size_t i = 0; i < len / page; i++) {
        uint64_t number = offset / page + i;
        if (checksums[i] &&
            (!readable ||
             checksums[i] != rn_page_checksums_of(
                                 rn_view_of(pages + i * page, page), number)))
            return note_damage(w, offset + i * page, false);
    }
    return true;
}

static bool check_span(struct rn_verify_on_touch *w, uint64_t from, uint64_t to)
{
    size_t batch = BATCH / w->page_bytes * w->page_bytes;

    for (uint64_t at = from; at < to; at += batch) {
        size_t len = to - at < batch ? (size_t)(to - at) : batch;
        if (!check_batch(w, len, at))
            return false;
    }
    return true;
}

/* While a page is being checked, a checkpoint may be adopted that frees it, and
 * LMDB may overwrite it: then only a second check counts. */
static bool check_range(struct rn_verify_on_touch *w, uint64_t from,
                        uint64_t to)
{
    uint64_t version;
    bool good;

    do {
        version = rn_page_checksums_version(w->checksums);
        good = check_span(w, from, to);
    } while (version != rn_page_checksums_version(w->checksums));
    return good;
}

bool rn_verify_on_touch_check(struct rn_verify_on_touch *w, uint64_t number)
{
    uint64_t at = number * w->page_bytes;

    return at >= w->bytes || check_range(w, at, at + w->page_bytes);
}

static bool open_step(struct rn_verify_on_touch *w, uint64_t offset)
{
    uint64_t from = offset / w->step * w->step, to = from + w->step;

    if (to > w->bytes)
        to = w->bytes;
    return check_range(w, from, to) &&
           mprotect(w->base + from, (size_t)(to - from), PROT_READ) == 0;
}

static bool watch_mend(struct rn_fault_guard_remedy *remedy,
                       const void *address)
{
    struct rn_verify_on_touch *w = (struct rn_verify_on_touch *)remedy;
    uintptr_t at = (uintptr_t)address, base = (uintptr_t)w->base;

    if (!base || at < base || at - base >= w->bytes)
        return false;
    return open_step(w, at - base);
}

enum rn_code rn_verify_on_touch_fail(const struct rn_verify_on_touch *w,
                                     const char *path, struct rn_err *err)
{
    return rn_fail(err, RN_CORRUPT, "%s%s: damaged at offset %llu", path,
                   w->damaged_is_checksum ? "-sums" : "",
                   (unsigned long long)w->damaged_at);
}

static uint64_t first_step(const struct rn_verify_on_touch *w)
{
    return w->bytes < w->step ? w->bytes : w->step;
}

enum rn_code rn_verify_on_touch_open(struct rn_verify_on_touch *w,
                                     const char *path,
                                     struct rn_page_checksums *checksums,
                                     size_t page_bytes, uint64_t bytes,
                                     struct rn_err *err)
{
    uint64_t want = bytes / STEPS_MAX;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return rn_fail_errno(err, errno, "%s", path);
    *w = (struct rn_verify_on_touch){
        .remedy.mend = watch_mend,
        .checksums = checksums,
        .fd = fd,
        .page_bytes = page_bytes,
        .bytes = bytes / page_bytes * page_bytes,
        .step = STEP_MIN,
    };
    while (w->step < want)
        w->step *= 2;
    return check_range(w, 0, first_step(w))
               ? RN_OK
               : rn_verify_on_touch_fail(w, path, err);
}

void rn_verify_on_touch_close(struct rn_verify_on_touch *w)
{
    if (w->remedy.mend)
        close(w->fd);
    *w = (struct rn_verify_on_touch){ 0 };
}

enum rn_code rn_verify_on_touch_begin(struct rn_verify_on_touch *w, void *base,
                                      const char *path, struct rn_err *err)
{
    uint64_t first = first_step(w);

    w->base = base;
    if (mprotect(w->base + first, (size_t)(w->bytes - first), PROT_NONE) != 0)
        return rn_fail_errno(err, errno, "%s: watching", path);
    return RN_OK;
}
