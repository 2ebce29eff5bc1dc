/* backup.c -- see backup.h. */
#include "store/admin/backup.h"

#include "base/bytes.h"
#include "base/file.h"
#include "store/integrity/fault_guard.h"
#include "store/integrity/page_checksums.h"
#include "store/lmdb/image.h"
#include "store/local/checkpoint.h"
#include "store/local/format.h"
#include "store/local/local.h"
#include "store/wal/wal_copy.h"

#include <errno.h>
#include <stdio.h>

enum {
    CHUNK = 1 << 20,
    LOCK_TRIES = 100, /* the maintenance thread holds it only briefly */
    LOCK_PAUSE_NS = 1000000,
    COPY_TRIES = 3,
    KEYS_MAX = 64 << 10,
    WRITE_BACK = 16 << 20, /* so that the final sync is short */
};

#define TELL_NS INT64_C(1000000000) /* between two updates of the progress */

/* A copy in progress. */
struct copying {
    struct rn_env *env;
    const char *from, *to;
    struct rn_checkpoint checkpoint; /* that is being copied */
    struct rn_image image;           /* of it */
    struct rn_file *sign; /* where progress is written; NULL: nowhere */
    int64_t told_ns;
    struct rn_copied copied;
};

static void on_progress(void *copying)
{
    struct copying *b = copying;
    int64_t now = rn_mono_ns(b->env);
    char bytes[8];

    if (!b->sign || (b->told_ns && now - b->told_ns < TELL_NS))
        return;
    b->told_ns = now;
    rn_put_u64(bytes, (uint64_t)now);
    (void)rn_file_write(b->sign, rn_view_of(bytes, sizeof(bytes)),
                        RN_BACKUP_PROGRESS); /* not with read-only access */
}

/* Restores the file's length. */
static void end_progress(struct copying *b, uint64_t size)
{
    if (b->sign)
        (void)b->env->ops->truncate(
            b->sign, size < RN_BACKUP_NOTE_MAX ? size : RN_BACKUP_NOTE_MAX);
}

static int hold(struct rn_env *env, const char *path, enum rn_open how,
                struct rn_file **out)
{
    int error = rn_file_open(env, path, how, out);

    for (int i = 0; !error; i++) {
        error = env->ops->lock(*out, RN_LOCK_SHARED);
        if (error != EAGAIN || i == LOCK_TRIES)
            break;
        error = 0;
        env->ops->sleep(env, LOCK_PAUSE_NS);
    }
    return error;
}

static enum rn_code hold_log(struct rn_env *env, const char *dir,
                             struct rn_file **out, struct rn_err *err)
{
    char path[RN_PATH_MAX];
    int error;

    snprintf(path, sizeof(path), "%s/format", dir);
    error = hold(env, path, RN_OPEN_READ, out);
    return error ? rn_fail_errno(err, error, "%s", path) : RN_OK;
}

/* A restore leaves its source unchanged, and so must a backup with read-only
 * access.  Every store that was ever opened has the file, so without it no
 * store needs to be held off.  If one is opened for the first time right now,
 * the checks below notice. */
static enum rn_code hold_map(struct rn_env *env, const char *dir, bool restore,
                             struct rn_file **out, struct rn_err *err)
{
    char path[RN_PATH_MAX];
    int error;

    snprintf(path, sizeof(path), "%s/backup", dir);
    error = hold(env, path, restore ? RN_OPEN_READ : RN_OPEN_CREATE, out);
    if (error == EROFS)
        error = hold(env, path, RN_OPEN_READ, out);
    return error && error != ENOENT ? rn_fail_errno(err, error, "%s", path)
                                    : RN_OK;
}

static enum rn_code make_target(struct rn_env *env, const char *dir,
                                struct rn_err *err)
{
    struct rn_format found;
    enum rn_code rc = rn_format_read(env, dir, &found, err);
    int error;

    if (!rc)
        return rn_fail(err, RN_CONFLICT, "%s: holds a store already", dir);
    if (rc != RN_NOT_FOUND)
        return rc;
    error = env->ops->make_dir(env, dir);
    return error && error != EEXIST ? rn_fail_errno(err, error, "%s", dir)
                                    : RN_OK;
}

/* ---- the map ------------------------------------------------------------- */

/* A file that is being copied, and the checks of its bytes. */
struct copy {
    struct copying *of;
    struct rn_file *in, *out;
    const char *path; /* of `in` */
    char *chunk;
    struct rn_page_checksums *checksums; /* NULL: no checks */
    size_t page_bytes;
};

/* Compares each whole page in the chunk, read at `at`, with its checksum, if
 * the checkpoint has one. */
static enum rn_code check_pages(struct copy *c, uint64_t at, size_t len,
                                struct rn_err *err)
{
    uint64_t first = at / c->page_bytes, count = len / c->page_bytes, checksum;
    uint64_t place;
    struct rn_fault_guard guard;
    volatile uint64_t i = 0;

    if (sigsetjmp(guard.back, 0)) {
        rn_fault_guard_caught(&guard);
        return rn_fail(err, RN_CORRUPT, "%s-sums: cannot be read", c->path);
    }
    rn_fault_guard_enter(&guard, NULL);
    for (; i < count; i++) {
        struct rn_view page =
            rn_view_of(c->chunk + i * c->page_bytes, c->page_bytes);
        if (!rn_page_checksums_get(c->checksums, first + i, &checksum) ||
            (checksum && checksum != rn_page_checksums_of(page, first + i)))
            break;
    }
    rn_fault_guard_leave(&guard);
    if (i == count)
        return RN_OK;
    place = (first + i) * c->page_bytes;
    return rn_fail(err, RN_CORRUPT, "%s: damaged at offset %llu", c->path,
                   (unsigned long long)place);
}

/* Copies to the end of the file; `*total` is where that was. */
static enum rn_code copy_bytes(struct copy *c, uint64_t *total,
                               struct rn_err *err)
{
    size_t got = CHUNK;
    enum rn_code rc = RN_OK;
    int error = 0;

    for (*total = 0; !rc && !error && got == CHUNK; *total += got) {
        on_progress(c->of);
        error = rn_file_read(c->in, c->chunk, CHUNK, *total, &got);
        if (!error && c->checksums)
            rc = check_pages(c, *total, got, err);
        if (!error && !rc && got)
            error = rn_file_write(c->out, rn_view_of(c->chunk, got), *total);
        if (!error && *total % WRITE_BACK == WRITE_BACK - CHUNK)
            error = c->of->env->ops->write_back(
                c->out, *total + CHUNK - WRITE_BACK, WRITE_BACK);
    }
    if (!error && !rc)
        error = rn_file_sync(c->out);
    return error ? rn_fail_errno(err, error, "copying %s", c->path) : rc;
}

/* Copies the map's file, or with `suffix` a file that belongs to it. */
static enum rn_code copy_file(struct copying *b, const char *suffix,
                              struct rn_page_checksums *checksums,
                              uint64_t *total, struct rn_err *err)
{
    char source[RN_PATH_MAX], target[RN_PATH_MAX];
    struct copy c = { .of = b,
                      .path = source,
                      .checksums = checksums,
                      .page_bytes = b->image.page_bytes,
                      .chunk = rn_new(CHUNK) };
    enum rn_code rc = RN_OK;
    int error;

    rn_local_map_path(b->from, b->checkpoint.generation, source);
    rn_local_map_path(b->to, b->checkpoint.generation, target);
    strncat(source, suffix, RN_PATH_MAX - strlen(source) - 1);
    strncat(target, suffix, RN_PATH_MAX - strlen(target) - 1);
    error =
        c.chunk ? rn_file_open(b->env, source, RN_OPEN_READ, &c.in) : ENOMEM;
    if (error) {
        rc = rn_fail_errno(err, error, "%s", source);
    } else {
        error = rn_file_open(b->env, target, RN_OPEN_IN_PLACE, &c.out);
        if (error)
            rc = rn_fail_errno(err, error, "%s", target);
    }
    if (!rc)
        rc = copy_bytes(&c, total, err);
    rn_file_close(c.in);
    rn_file_close(c.out);
    rn_free(c.chunk);
    return rc;
}

static enum rn_code read_checkpoint(struct copying *b, struct rn_err *err)
{
    enum rn_code rc = rn_checkpoint_read(b->env, b->from, &b->checkpoint, err);

    if (!rc && !rn_image_decode(rn_buf_view(&b->checkpoint.image), &b->image))
        rc = rn_fail(err, RN_CORRUPT, "%s/checkpoint: damaged", b->from);
    return rc;
}

/* Each checkpoint writes the page checksums to the slots that the last one did
 * not use (page_checksums.h).  So they are valid if this checkpoint was still
 * the durable one after they were copied. */
static enum rn_code copy_checksums(struct copying *b, struct rn_err *err)
{
    enum rn_code rc = read_checkpoint(b, err);

    for (int i = 0; !rc && i < LOCK_TRIES; i++) {
        uint64_t number = b->checkpoint.number;

        rc = copy_file(b, "-sums", NULL, &b->copied.map_bytes, err);
        if (!rc)
            rc = read_checkpoint(b, err);
        if (!rc && b->checkpoint.number == number)
            return RN_OK;
    }
    return rc ? rc
              : rn_fail(err, RN_BUSY,
                        "%s: checkpoints come faster than they can be copied",
                        b->from);
}

static enum rn_code copy_map(struct copying *b, struct rn_err *err)
{
    char path[RN_PATH_MAX];
    struct rn_page_checksums_opts opts = {
        .env = b->env,
        .path = path,
        .pages_max = b->image.meta.last + 1,
        .slots = b->image.slots,
        .read_only = true,
    };
    struct rn_page_checksums *checksums = NULL;
    uint64_t total = 0;
    enum rn_code rc;

    rn_local_map_path(b->to, b->checkpoint.generation, path);
    strncat(path, "-sums", RN_PATH_MAX - strlen(path) - 1);
    rc = rn_page_checksums_open(&opts, &checksums, err);
    if (!rc)
        rc = copy_file(b, "", checksums, &total, err);
    rn_page_checksums_close(checksums);
    b->copied.map_bytes += total;
    if (rc || total >= b->image.length)
        return rc;
    rn_local_map_path(b->from, b->checkpoint.generation, path);
    return rn_fail(
        err, RN_CORRUPT, "%s: cut short: %llu bytes, the checkpoint has %llu",
        path, (unsigned long long)total, (unsigned long long)b->image.length);
}

/* ---- the directory ------------------------------------------------------- */

static enum rn_code copy_state(struct copying *b, struct rn_err *err)
{
    struct rn_wal_opts wal = {
        .env = b->env, .dir = b->from, .progress = on_progress, .progress_of = b
    };
    struct rn_file *held = NULL; /* the WAL */
    enum rn_code rc = hold_log(b->env, b->from, &held, err);

    if (!rc)
        rc = copy_checksums(b, err);
    if (!rc)
        rc = rn_wal_copy(&wal, b->checkpoint.place, b->to, &b->copied.wal_bytes,
                         err);
    rn_file_close(held); /* and with it the lock */
    if (!rc)
        rc = copy_map(b, err);
    if (!rc)
        rc = rn_checkpoint_write(&b->checkpoint, b->env, b->to, err);
    return rc;
}

/* Removes what `copy_state` has left there. */
static void remove_part(void *context, const char *name)
{
    const struct copying *b = context;
    char path[RN_PATH_MAX];

    if (strncmp(name, "map-", 4) != 0 && strncmp(name, "log-", 4) != 0)
        return;
    snprintf(path, sizeof(path), "%s/%s", b->to, name);
    (void)b->env->ops->remove(b->env, path);
}

/* The lock holds what a running store needs for its checkpoint.  A store that
 * is closed meanwhile, and opened again or compacted, ignores it: then the copy
 * does not fit together, which is detected, and the copy starts over.  Without
 * another checkpoint an inconsistent copy is an error. */
static enum rn_code copy_until_whole(struct copying *b, struct rn_err *err)
{
    struct rn_err ignored;
    enum rn_code rc = RN_OK;

    for (int i = 0; i < COPY_TRIES; i++) {
        uint64_t number;

        rc = copy_state(b, err);
        number = b->checkpoint.number;
        if (!rc || rc == RN_NOMEM || rc == RN_FULL ||
            read_checkpoint(b, &ignored) || b->checkpoint.number == number)
            return rc;
        (void)b->env->ops->list(b->env, b->to, remove_part, b);
    }
    return rc;
}

/* Copies the account's keys as well: without them a copy would be unusable. */
static enum rn_code copy_keys(struct copying *b, struct rn_err *err)
{
    struct rn_buf keys = RN_BUF_INIT(KEYS_MAX);
    char path[RN_PATH_MAX];
    enum rn_code rc;

    snprintf(path, sizeof(path), "%s/keys", b->from);
    rc = rn_file_read_all(b->env, path, RN_OPEN_READ, &keys, err);
    if (!rc)
        rc = rn_file_replace(b->env, b->to, "keys", rn_buf_view(&keys), err);
    else if (rc == RN_NOT_FOUND)
        rc = RN_OK;
    rn_buf_release(&keys);
    return rc;
}

/* The format file comes last: an interrupted copy is no data directory. */
static enum rn_code copy_store(struct rn_env *env, const char *from,
                               const char *to, bool restore,
                               struct rn_copied *out, struct rn_err *err)
{
    struct copying b = { .env = env, .from = from, .to = to };
    struct rn_format format = { 0 };
    struct rn_file *held = NULL;
    uint64_t size = 0;
    enum rn_code rc = rn_format_read(env, from, &format, err);

    rn_fault_guard_install();
    rn_checkpoint_init(&b.checkpoint);
    if (!rc)
        rc = make_target(env, to, err);
    if (!rc)
        rc = hold_map(env, from, restore, &held, err);
    if (!rc && held && !restore && !rn_file_size(held, &size))
        b.sign = held;
    if (!rc)
        rc = copy_until_whole(&b, err);
    if (!rc)
        rc = copy_keys(&b, err);
    end_progress(&b, size);
    rn_file_close(held); /* and with it the lock */
    rn_checkpoint_release(&b.checkpoint);
    if (rc)
        return rc;
    if (out)
        *out = b.copied;
    if (restore) {
        rn_format_draw_id(env, &format);
        format.restored++;
    }
    return rn_format_write(env, to, &format, err);
}

/* Records in the source when this copy began.  A copy is good without it. */
static void note_copy(struct rn_env *env, const char *dir, int64_t begun_s)
{
    char path[RN_PATH_MAX], text[RN_BACKUP_NOTE_MAX + 1];
    struct rn_file *file = NULL;
    int len = snprintf(text, sizeof(text), "%-19lld\n", (long long)begun_s);

    snprintf(path, sizeof(path), "%s/backup", dir);
    if (!rn_file_open(env, path, RN_OPEN_WRITE, &file))
        (void)rn_file_write(file, rn_view_of(text, (size_t)len), 0);
    rn_file_close(file);
}

enum rn_code rn_backup(struct rn_env *env, const char *from, const char *to,
                       struct rn_copied *out, struct rn_err *err)
{
    int64_t begun_s = rn_wall_ms(env) / 1000;
    enum rn_code rc = copy_store(env, from, to, false, out, err);

    if (!rc)
        note_copy(env, from, begun_s);
    return rc;
}

enum rn_code rn_restore(struct rn_env *env, const char *from, const char *to,
                        struct rn_copied *out, struct rn_err *err)
{
    return copy_store(env, from, to, true, out, err);
}
