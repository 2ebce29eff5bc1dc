/* verify.c -- see verify.h. */
#include "store/admin/verify.h"

#include "store/integrity/fault_guard.h"
#include "store/integrity/page_checksums.h"
#include "store/lmdb/image.h"
#include "store/lmdb/record.h"
#include "store/local/checkpoint.h"
#include "store/local/format.h"
#include "store/wal/wal_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { NAME_BYTES = 64 };

struct verify {
    struct rn_env *env;
    const char *dir;
    rn_verify_fn *report;
    void *context;
    struct rn_verify_counts *counts;
    struct rn_err first; /* damage, for callers that want one line */

    struct rn_checkpoint checkpoint;
    struct rn_image image;
    char map_name[NAME_BYTES], checksums_name[NAME_BYTES + 8];
    struct rn_file *map;
    struct rn_page_checksums *checksums;
    struct rn_buf buffers[RN_PAGE_BUFFERS];
    struct rn_buf page;          /* buffer for the page that is checked */
    unsigned char *reached;      /* a byte for each page: enum mark */
    uint64_t bad_checksum_block; /* reported already, + 1 */
    bool incomplete;             /* some pages could not be followed */
    bool seq_seen;
};

enum mark { UNSEEN, REACHED, FREE };

static void damage(struct verify *v, const char *file, uint64_t offset,
                   const char *what)
{
    struct rn_damage d = { .file = file, .offset = offset, .what = what };

    if (!v->counts->damages++)
        rn_fail(&v->first, RN_CORRUPT, "%s/%s: offset %" PRIu64 ": %s", v->dir,
                file, offset, what);
    if (v->report)
        v->report(v->context, &d);
}

/* ---- the map ------------------------------------------------------------- */

static void page_damage(void *context, uint64_t number, const char *what)
{
    struct verify *v = context;

    v->incomplete = true;
    damage(v, v->map_name, number * v->image.page_bytes, what);
}

static const char *read_into(struct verify *v, struct rn_buf *out,
                             uint64_t number, uint64_t count)
{
    size_t page_bytes = v->image.page_bytes, got = 0;

    rn_buf_clear(out);
    if (count > SIZE_MAX / page_bytes ||
        rn_buf_reserve(out, (size_t)count * page_bytes) ||
        rn_file_read(v->map, out->at, (size_t)count * page_bytes,
                     number * page_bytes, &got) ||
        got < count * page_bytes)
        return NULL;
    return out->at;
}

static const char *walk_read(void *context, unsigned buffer, uint64_t number,
                             uint64_t count)
{
    struct verify *v = context;

    return read_into(v, &v->buffers[buffer], number, count);
}

static bool checksum_read(struct verify *v, uint64_t number, uint64_t *checksum)
{
    struct rn_fault_guard guard;
    bool good;

    if (sigsetjmp(guard.back, 0)) {
        rn_fault_guard_caught(&guard);
        return false;
    }
    rn_fault_guard_enter(&guard, NULL);
    good = rn_page_checksums_get(v->checksums, number, checksum);
    rn_fault_guard_leave(&guard);
    return good;
}

/* Gets the checksum of a page.  False if it cannot be read, which is reported
 * once. */
static bool checksum_get(struct verify *v, uint64_t number, uint64_t *checksum)
{
    uint64_t block = number / RN_CHECKSUMS_PER_BLOCK + 1;

    if (checksum_read(v, number, checksum))
        return true;
    if (block != v->bad_checksum_block) {
        v->bad_checksum_block = block;
        damage(v, v->checksums_name,
               rn_page_checksums_place(v->checksums, number),
               "checksum mismatch");
    }
    return false;
}

static bool verify_checksum(struct verify *v, uint64_t number)
{
    uint64_t checksum = 0;
    const char *at;

    if (!checksum_get(v, number, &checksum))
        return true; /* the damage is in the checksum itself */
    at = read_into(v, &v->page, number, 1);
    if (!at) {
        page_damage(v, number, "it cannot be read");
        return false;
    }
    if (checksum ==
        rn_page_checksums_of(rn_view_of(at, v->image.page_bytes), number))
        return true;
    if (checksum) {
        page_damage(v, number, "checksum mismatch");
        return false;
    }
    damage(v, v->checksums_name, rn_page_checksums_place(v->checksums, number),
           "it has no checksum for a page in use");
    return true;
}

static bool walk_reach(void *context, uint64_t number, uint64_t count)
{
    struct verify *v = context;
    bool good = true;

    for (uint64_t n = number; n < number + count; n++) {
        if (v->reached[n] != UNSEEN) {
            page_damage(v, n, "it is in use twice");
            return false;
        }
        v->reached[n] = REACHED;
        v->counts->pages++;
        good = verify_checksum(v, n) && good;
    }
    return good;
}

static void free_list(struct verify *v, uint64_t page, struct rn_view list)
{
    uint64_t count = 0, number, before = UINT64_MAX;

    if (list.len >= sizeof(count))
        memcpy(&count, list.at, sizeof(count));
    if (list.len < sizeof(count) || count > list.len / sizeof(count) - 1) {
        page_damage(v, page, "a list of free pages has an impossible length");
        return;
    }
    for (uint64_t i = 1; i <= count; i++) {
        memcpy(&number, list.at + i * sizeof(number), sizeof(number));
        if (number < RN_PAGE_METAS || number > v->image.meta.last ||
            number >= before || v->reached[number] != UNSEEN) {
            page_damage(v, page, "a list of free pages is wrong");
            return;
        }
        v->reached[number] = FREE;
        v->counts->free_pages++;
        before = number;
    }
}

static void main_record(struct verify *v, uint64_t page, struct rn_view key,
                        struct rn_view value)
{
    if (!rn_view_eq(key, RN_LIT("seq")) || value.len != 8)
        page_damage(v, page, "it holds an unknown row");
    else if (rn_get_u64(value.at) != v->checkpoint.place.seq)
        page_damage(v, page, "its seq is not the checkpoint's");
    v->seq_seen = true;
}

static void walk_record(void *context, enum rn_page_table table, uint64_t page,
                        struct rn_view key, struct rn_view value)
{
    struct verify *v = context;
    struct rn_view ignored;

    if (!value.at)
        return; /* reported already */
    if (table == RN_TABLE_FREE) {
        free_list(v, page, value);
    } else if (table == RN_TABLE_MAIN) {
        main_record(v, page, key, value);
    } else {
        v->counts->records++;
        if (!key.len || key.len > RN_KEY_MAX ||
            rn_record_open(key, value, &ignored))
            page_damage(v, page, "checksum mismatch of a record");
    }
}

/* Pages that are neither reached nor free, and checksums of pages that are not
 * in use. */
static void check_rest(struct verify *v)
{
    uint64_t checksum = 0;

    if (v->incomplete)
        return;
    if (!v->seq_seen)
        page_damage(v, v->image.meta.main.root, "the seq row is missing");
    for (uint64_t n = RN_PAGE_METAS; n <= v->image.meta.last; n++) {
        if (v->reached[n] == UNSEEN) {
            page_damage(v, n, "it is neither in use nor free");
        } else if (v->reached[n] == FREE && checksum_get(v, n, &checksum) &&
                   checksum) {
            damage(v, v->checksums_name,
                   rn_page_checksums_place(v->checksums, n),
                   "it has a checksum for a free page");
        }
    }
}

static enum rn_code open_map(struct verify *v, struct rn_err *err)
{
    char path[RN_PATH_MAX];
    uint64_t size = 0;
    int error;

    snprintf(v->map_name, sizeof(v->map_name), "map-%" PRIu64,
             v->checkpoint.generation);
    snprintf(v->checksums_name, sizeof(v->checksums_name), "%s-sums",
             v->map_name);
    snprintf(path, sizeof(path), "%s/%s", v->dir, v->map_name);
    error = rn_file_open(v->env, path, RN_OPEN_READ, &v->map);
    if (!error)
        error = rn_file_size(v->map, &size);
    if (error && error != ENOENT)
        return rn_fail_errno(err, error, "%s", path);
    if (error)
        damage(v, v->map_name, 0, "missing");
    else if (size < v->image.length)
        damage(v, v->map_name, size, "cut short");
    return RN_OK;
}

static enum rn_code open_checksums(struct verify *v, struct rn_err *err)
{
    char path[RN_PATH_MAX];
    struct rn_page_checksums_opts opts = {
        .env = v->env,
        .path = path,
        .pages_max = v->image.meta.last + 1,
        .slots = v->image.slots,
        .read_only = true,
    };
    enum rn_code rc;

    snprintf(path, sizeof(path), "%s/%s", v->dir, v->checksums_name);
    rc = rn_page_checksums_open(&opts, &v->checksums, err);
    if (rc != RN_CORRUPT)
        return rc;
    damage(v, v->checksums_name, 0, "missing or cut short");
    return RN_OK;
}

static enum rn_code verify_map(struct verify *v, struct rn_err *err)
{
    struct rn_page_walk walk = {
        .context = v,
        .page_bytes = v->image.page_bytes,
        .last = v->image.meta.last,
        .read = walk_read,
        .reach = walk_reach,
        .record = walk_record,
        .bad = page_damage,
    };
    enum rn_code rc = open_map(v, err);

    if (!rc)
        rc = open_checksums(v, err);
    if (rc || !v->map || !v->checksums)
        return rc;
    v->reached = rn_new((size_t)v->image.meta.last + 1);
    if (!v->reached)
        return rn_fail(err, RN_NOMEM, "%s: out of memory", v->dir);
    rn_page_walk(&walk, &v->image.meta);
    check_rest(v);
    return RN_OK;
}

/* ---- the WAL ------------------------------------------------------------- */

static enum rn_code count_record(void *context, uint64_t seq,
                                 struct rn_view payload)
{
    struct verify *v = context;

    (void)seq;
    (void)payload;
    v->counts->wal_records++;
    return RN_OK;
}

static enum rn_code verify_wal(struct verify *v, struct rn_err *err)
{
    struct rn_wal_place damaged = { 0 };
    struct rn_wal_opts opts = {
        .env = v->env, .dir = v->dir, .read_only = true, .damaged = &damaged
    };
    struct rn_wal *wal = NULL;
    char name[NAME_BYTES];
    enum rn_code rc = rn_wal_open(&opts, v->checkpoint.place, &wal, err);

    if (rc == RN_CORRUPT) {
        snprintf(name, sizeof(name), "log-%010" PRIu64, damaged.segment);
        damage(v, name, damaged.offset, "missing, cut short or damaged");
        return RN_OK;
    }
    if (!rc)
        rc = rn_wal_replay(wal, v->checkpoint.place, count_record, v, err);
    rn_wal_close(wal);
    return rc;
}

/* ---- the directory ------------------------------------------------------- */

/* No checkpoint: that is fine only if nothing was ever committed. */
static enum rn_code verify_empty(struct verify *v, struct rn_err *err)
{
    struct rn_wal_opts opts = { .env = v->env,
                                .dir = v->dir,
                                .read_only = true };
    bool found = false;
    enum rn_code rc = rn_wal_find(&opts, &found, err);

    if (!rc && found)
        damage(v, "checkpoint", 0, "missing");
    return rc;
}

static enum rn_code verify_all(struct verify *v, struct rn_err *err)
{
    enum rn_code rc = rn_checkpoint_read(v->env, v->dir, &v->checkpoint, err);

    if (rc == RN_NOT_FOUND)
        return verify_empty(v, err);
    if (rc == RN_CORRUPT ||
        (!rc &&
         !rn_image_decode(rn_buf_view(&v->checkpoint.image), &v->image))) {
        damage(v, "checkpoint", 0, "damaged");
        return RN_OK;
    }
    if (!rc)
        rc = verify_wal(v, err);
    return rc ? rc : verify_map(v, err);
}

/* Takes a shared lock, so that several checks may run at once; a server holds
 * it exclusively.  If there is no lock file no server can be running. */
static enum rn_code lock_out(struct rn_env *env, const char *dir,
                             struct rn_file **out, struct rn_err *err)
{
    enum rn_code rc = rn_directory_lock(env, dir, RN_LOCK_SHARED, out, err);

    return rc == RN_NOT_FOUND ? RN_OK : rc;
}

static void verify_release(struct verify *v)
{
    for (size_t i = 0; i < RN_PAGE_BUFFERS; i++)
        rn_buf_release(&v->buffers[i]);
    rn_buf_release(&v->page);
    rn_free(v->reached);
    rn_page_checksums_close(v->checksums);
    rn_file_close(v->map);
    rn_checkpoint_release(&v->checkpoint);
}

enum rn_code rn_verify(struct rn_env *env, const char *dir,
                       rn_verify_fn *report, void *context,
                       struct rn_verify_counts *counts, struct rn_err *err)
{
    struct verify v = { .env = env,
                        .dir = dir,
                        .report = report,
                        .context = context,
                        .counts = counts,
                        .page = RN_BUF_INIT(SIZE_MAX / 2) };
    struct rn_file *lock = NULL;
    struct rn_format format;
    enum rn_code rc = rn_format_read(env, dir, &format, err);

    *counts = (struct rn_verify_counts){ 0 };
    rn_fault_guard_install();
    rn_checkpoint_init(&v.checkpoint);
    for (size_t i = 0; i < RN_PAGE_BUFFERS; i++)
        v.buffers[i] = RN_BUF_INIT(SIZE_MAX / 2);
    if (rc == RN_CORRUPT)
        damage(&v, "format", 0, "damaged");
    else if (!rc)
        rc = lock_out(env, dir, &lock, err);
    if (!rc)
        rc = verify_all(&v, err);
    if (!rc && counts->damages)
        rc = rn_fail(err, RN_CORRUPT, "%s", v.first.text);
    verify_release(&v);
    rn_file_close(lock);
    return rc;
}
