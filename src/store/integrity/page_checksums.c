/* page_checksums.c -- see page_checksums.h.
 *
 * Blocks are written through the env's file and read through a mapping of it,
 * because a signal handler reads them too.  `slots` has a bit for each block:
 * the slot to read.  There are two such rows; save prepares the one that is not
 * current, and adopt makes it current.
 */
#include "store/integrity/page_checksums.h"

#include "base/bytes.h"
#include "base/file.h"
#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEADER = 16, PATH_BYTES = 4096, SLOTS_HEADER = 8 };

struct row {
    uint64_t blocks;
    unsigned char *slots;   /* a bit each: the slot */
    unsigned char *trusted; /* a byte each: its checksum was verified */
};

struct rn_page_checksums {
    struct rn_env *env;
    struct rn_file *file;
    char *map;
    size_t map_bytes;
    uint64_t blocks_max;
    struct row rows[2];
    struct row *current; /* atomic */
    uint64_t version;    /* atomic */
    char path[PATH_BYTES];
};

uint64_t rn_page_checksums_of(struct rn_view page, uint64_t number)
{
    uint64_t checksum = rn_hash64(page, number);

    return checksum ? checksum : 1;
}

static bool slot_of(const struct row *r, uint64_t block)
{
    return r->slots[block / 8] >> block % 8 & 1;
}

static void set_slot(struct row *r, uint64_t block, bool slot)
{
    unsigned char bit = (unsigned char)(1u << block % 8);

    if (slot)
        r->slots[block / 8] |= bit;
    else
        r->slots[block / 8] &= (unsigned char)~bit;
}

static uint64_t offset_of(uint64_t block, bool slot)
{
    return (2 * block + slot) * RN_CHECKSUMS_BLOCK;
}

static uint64_t block_checksum(const char *at, uint64_t block)
{
    return rn_hash64(rn_view_of(at + 8, RN_CHECKSUMS_BLOCK - 8), block);
}

/* ---- opening ------------------------------------------------------------- */

static enum rn_code rows_init(struct rn_page_checksums *s, struct rn_view slots)
{
    struct row *first = &s->rows[0];

    for (size_t i = 0; i < 2; i++) {
        s->rows[i].slots = rn_new((size_t)(s->blocks_max / 8 + 1));
        s->rows[i].trusted = rn_new((size_t)s->blocks_max);
        if (!s->rows[i].slots || !s->rows[i].trusted)
            return RN_NOMEM;
    }
    s->current = first;
    if (!slots.len)
        return RN_OK;
    if (slots.len < SLOTS_HEADER)
        return RN_CORRUPT;
    first->blocks = rn_get_u64(slots.at);
    if (first->blocks > s->blocks_max ||
        slots.len - SLOTS_HEADER != first->blocks / 8 + 1)
        return RN_CORRUPT;
    memcpy(first->slots, slots.at + SLOTS_HEADER, slots.len - SLOTS_HEADER);
    return RN_OK;
}

/* The current slot of the last block is within the file. */
static uint64_t least_length(const struct rn_page_checksums *s)
{
    uint64_t blocks = s->current->blocks;

    return blocks ? offset_of(blocks - 1, slot_of(s->current, blocks - 1)) +
                        RN_CHECKSUMS_BLOCK
                  : 0;
}

bool rn_page_checksums_is_whole(struct rn_page_checksums *s)
{
    return rn_file_is_whole(s->file, s->path, least_length(s));
}

static enum rn_code check_length(struct rn_page_checksums *s,
                                 struct rn_err *err)
{
    uint64_t size = 0, want = least_length(s);
    int error = rn_file_size(s->file, &size);

    if (error)
        return rn_fail_errno(err, error, "%s", s->path);
    if (size < want) {
        return rn_fail(err, RN_CORRUPT,
                       "%s: cut short: %llu bytes instead of %llu", s->path,
                       (unsigned long long)size, (unsigned long long)want);
    }
    return RN_OK;
}

static int map_file(struct rn_page_checksums *s)
{
    int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    void *map;
    int error;

    if (fd < 0)
        return errno;
    map = mmap(NULL, s->map_bytes, PROT_READ, MAP_SHARED, fd, 0);
    error = map == MAP_FAILED ? errno : 0;
    close(fd);
    if (!error)
        s->map = map;
    return error;
}

static enum rn_code open_file(struct rn_page_checksums *s,
                              const struct rn_page_checksums_opts *opts,
                              struct rn_err *err)
{
    enum rn_open how = opts->slots.len ? RN_OPEN_WRITE : RN_OPEN_IN_PLACE;
    enum rn_code rc;
    int error;

    if (opts->read_only)
        how = RN_OPEN_READ;
    error = rn_file_open(s->env, s->path, how, &s->file);
    if (error == ENOENT)
        return rn_fail(err, RN_CORRUPT, "%s: missing", s->path);
    if (error)
        return rn_fail_errno(err, error, "%s", s->path);
    rc = check_length(s, err);
    if (rc)
        return rc;
    error = map_file(s);
    return error ? rn_fail_errno(err, error, "%s: mapping", s->path) : RN_OK;
}

enum rn_code rn_page_checksums_open(const struct rn_page_checksums_opts *opts,
                                    struct rn_page_checksums **out,
                                    struct rn_err *err)
{
    struct rn_page_checksums *s = rn_new(sizeof(*s));
    enum rn_code rc;

    if (!s)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", opts->path);
    s->env = opts->env;
    s->blocks_max = opts->pages_max / RN_CHECKSUMS_PER_BLOCK + 1;
    s->map_bytes = (size_t)offset_of(s->blocks_max, false);
    snprintf(s->path, sizeof(s->path), "%s", opts->path);
    rc = rows_init(s, opts->slots);
    if (rc) {
        rn_fail(err, rc, "%s: %s", s->path,
                rc == RN_CORRUPT ? "the checkpoint does not fit"
                                 : "out of memory");
    } else {
        rc = open_file(s, opts, err);
    }
    if (rc) {
        rn_page_checksums_close(s);
        return rc;
    }
    *out = s;
    return RN_OK;
}

void rn_page_checksums_close(struct rn_page_checksums *s)
{
    if (!s)
        return;
    if (s->map)
        munmap(s->map, s->map_bytes);
    rn_file_close(s->file);
    for (size_t i = 0; i < 2; i++) {
        rn_free(s->rows[i].slots);
        rn_free(s->rows[i].trusted);
    }
    rn_free(s);
}

/* ---- reading ------------------------------------------------------------- */

static struct row *current_of(struct rn_page_checksums *s)
{
    return __atomic_load_n(&s->current, __ATOMIC_ACQUIRE);
}

uint64_t rn_page_checksums_version(struct rn_page_checksums *s)
{
    return __atomic_load_n(&s->version, __ATOMIC_ACQUIRE);
}

uint64_t rn_page_checksums_place(struct rn_page_checksums *s, uint64_t number)
{
    const struct row *r = current_of(s);
    uint64_t block = number / RN_CHECKSUMS_PER_BLOCK;

    return offset_of(block, block < r->blocks && slot_of(r, block));
}

/* The block in its current slot, or NULL if it is damaged. */
static const char *block_get(struct rn_page_checksums *s, struct row *r,
                             uint64_t block)
{
    const char *at = s->map + offset_of(block, slot_of(r, block));

    if (__atomic_load_n(&r->trusted[block], __ATOMIC_RELAXED))
        return at;
    if (rn_get_u64(at) != block_checksum(at, block))
        return NULL;
    __atomic_store_n(&r->trusted[block], 1, __ATOMIC_RELAXED);
    return at;
}

bool rn_page_checksums_get(struct rn_page_checksums *s, uint64_t number,
                           uint64_t *out)
{
    uint64_t block = number / RN_CHECKSUMS_PER_BLOCK;
    struct row *r = current_of(s);
    const char *at;

    *out = 0;
    if (block >= r->blocks)
        return true;
    at = block_get(s, r, block);
    if (at)
        *out = rn_get_u64(at + HEADER + number % RN_CHECKSUMS_PER_BLOCK * 8);
    return at;
}

/* ---- writing ------------------------------------------------------------- */

static int by_page(const void *a, const void *b)
{
    const struct rn_page_checksums_change *x = a, *y = b;

    return (x->page > y->page) - (x->page < y->page);
}

/* A save in progress. */
struct save {
    struct rn_page_checksums *checksums;
    struct row *next;
    uint64_t txnid;
    const struct rn_page_checksums_change *at,
        *end; /* the changes still to be made */
};

/* Writes block `block`, with the next changes as far as they belong to it, to
 * the slot that is not current. */
static enum rn_code save_block(struct save *v, uint64_t block,
                               struct rn_err *err)
{
    struct rn_page_checksums *s = v->checksums;
    char bytes[RN_CHECKSUMS_BLOCK] = { 0 };
    bool known = block < s->current->blocks;
    bool slot = known && !slot_of(s->current, block);
    int error;

    if (known) {
        const char *at = block_get(s, s->current, block);
        uint64_t place = offset_of(block, !slot);
        if (!at)
            return rn_fail(err, RN_CORRUPT, "%s: damaged at offset %llu",
                           s->path, (unsigned long long)place);
        memcpy(bytes, at, sizeof(bytes));
    }
    for (; v->at < v->end && v->at->page / RN_CHECKSUMS_PER_BLOCK == block;
         v->at++)
        rn_put_u64(bytes + HEADER + v->at->page % RN_CHECKSUMS_PER_BLOCK * 8,
                   v->at->checksum);
    rn_put_u64(bytes + 8, v->txnid);
    rn_put_u64(bytes, block_checksum(bytes, block));
    set_slot(v->next, block, slot);
    error = rn_file_write(s->file, rn_view_of(bytes, sizeof(bytes)),
                          offset_of(block, slot));
    return error ? rn_fail_errno(err, error, "%s: writing", s->path) : RN_OK;
}

static enum rn_code add_slots(const struct row *r, struct rn_buf *out)
{
    char header[SLOTS_HEADER];
    enum rn_code rc;

    rn_put_u64(header, r->blocks);
    rc = rn_buf_add(out, rn_view_of(header, sizeof(header)));
    if (!rc)
        rc = rn_buf_add(out, rn_view_of(r->slots, (size_t)(r->blocks / 8 + 1)));
    return rc;
}

/* The changes to known blocks first; then every block behind them, so that the
 * file has no holes. */
static enum rn_code save_blocks(struct save *v, struct rn_err *err)
{
    uint64_t known = v->checksums->current->blocks;
    enum rn_code rc = RN_OK;

    while (!rc && v->at < v->end &&
           v->at->page / RN_CHECKSUMS_PER_BLOCK < known)
        rc = save_block(v, v->at->page / RN_CHECKSUMS_PER_BLOCK, err);
    for (uint64_t b = known; !rc && b < v->next->blocks; b++)
        rc = save_block(v, b, err);
    return rc;
}

enum rn_code rn_page_checksums_save(struct rn_page_checksums *s, uint64_t txnid,
                                    struct rn_page_checksums_change *changes,
                                    size_t len, struct rn_buf *slots,
                                    struct rn_err *err)
{
    struct row *now = s->current, *next = &s->rows[now == s->rows];
    struct save v = { s, next, txnid, changes, changes + len };
    uint64_t blocks = 0;
    enum rn_code rc;

    if (len) {
        qsort(changes, len, sizeof(*changes), by_page);
        blocks = changes[len - 1].page / RN_CHECKSUMS_PER_BLOCK + 1;
    }
    next->blocks = blocks > now->blocks ? blocks : now->blocks;
    assert(next->blocks <= s->blocks_max);
    memcpy(next->slots, now->slots, (size_t)(now->blocks / 8 + 1));
    memset(next->trusted, 0, (size_t)next->blocks);
    rc = save_blocks(&v, err);
    if (rc)
        return rc;
    rc = add_slots(next, slots);
    return rc ? rn_fail(err, rc, "%s: %s", s->path, rn_code_name(rc)) : RN_OK;
}

enum rn_code rn_page_checksums_sync(struct rn_page_checksums *s,
                                    struct rn_err *err)
{
    int error = rn_file_sync(s->file);

    /* Not RN_FULL, whatever the reason: blocks may be lost. */
    return error ? rn_fail(err, RN_IO, "%s: syncing: %s", s->path,
                           strerror(error))
                 : RN_OK;
}

void rn_page_checksums_adopt(struct rn_page_checksums *s)
{
    struct row *next = &s->rows[s->current == s->rows];

    __atomic_store_n(&s->current, next, __ATOMIC_RELEASE);
    __atomic_add_fetch(&s->version, 1, __ATOMIC_RELEASE);
}
