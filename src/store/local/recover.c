/* recover.c -- recovery: opens a data directory, always the same way.
 *
 * After a clean stop, a kill or a power cut alike:
 *
 *   1  take the lock                        another process: refuse
 *   2  read `format`, `checkpoint`          damaged, newer, foreign: refuse
 *   3  follow the WAL to its end            damaged in the middle: refuse
 *   4  sync the directory: the checkpoint's name may be in the cache only, and
 *      from here on the one before it is not kept
 *   5  put the checkpoint's meta pages back into the map, open it, pin T
 *   6  sync the WAL: its tail may be in the page cache only; and read its last
 *      record again, from the device: a failed sync may have lost it there
 *   7  replay what follows T into the memtable
 *
 * Up to 3 nothing is changed.  T stays pinned, and the WAL after it kept,
 * until the next checkpoint is durable, so a crash at any later moment, in here
 * or after, finds T and the WAL whole again.  (Without the pin of step 5 a
 * second crash before that would find a T whose pages had been reused.)
 *
 * Creation makes the files first, syncs them and the directory, and writes the
 * first checkpoint last: as long as it is missing nothing was acknowledged, and
 * creation starts over.  A first start waits mostly for syncs, so syncs whose
 * order does not matter run in parallel.
 */
#include "store/local/recover.h"

#include "store/bug.h"
#include "store/local/maintenance.h"
#include "store/wal/replay.h"
#include "store/wal/wal_read.h"

#include <errno.h>
#include <stdio.h>

enum {
    FIRST_GENERATION = 1,
    /* The first WAL segment: the largest group, and room for others until the
     * maintenance thread has made the next segment. */
    FIRST_SEGMENT = RN_TXN_REDO_MAX + (4 << 20),
};

/* ---- locks --------------------------------------------------------------- */

static enum rn_code take_lock(struct rn_local *l, struct rn_err *err)
{
    char path[RN_PATH_MAX];
    enum rn_code rc = rn_directory_lock(l->env, l->dir, RN_LOCK_EXCLUSIVE,
                                        &l->lock_file, err);
    int error;

    if (rc)
        return rc;
    rn_local_path(l, "backup", path);
    error = rn_file_open(l->env, path, RN_OPEN_CREATE, &l->backup_file);
    return error ? rn_fail_errno(err, error, "%s", path) : RN_OK;
}

/* Opens the file for its lock, which a copy of the WAL takes. */
static enum rn_code open_format(struct rn_local *l, struct rn_err *err)
{
    char path[RN_PATH_MAX];
    int error;

    rn_local_path(l, "format", path);
    error = rn_file_open(l->env, path, RN_OPEN_READ, &l->format_file);
    return error ? rn_fail_errno(err, error, "%s", path) : RN_OK;
}

static struct rn_wal_opts wal_opts(const struct rn_local *l)
{
    uint64_t segment = l->opts.segment_bytes;

    return (struct rn_wal_opts){
        .env = l->env,
        .dir = l->dir,
        .segment_bytes = segment,
        .first_bytes = segment < FIRST_SEGMENT ? segment : FIRST_SEGMENT,
        .bytes_max = l->opts.wal_bytes,
    };
}

static enum rn_code open_map(struct rn_local *l, struct rn_view image,
                             struct rn_err *err)
{
    char path[RN_PATH_MAX];
    struct rn_map_opts opts = {
        .env = l->env,
        .path = path,
        .map_bytes = l->opts.map_bytes,
        .ahead_bytes = l->opts.ahead_bytes,
        .reserve_bytes = l->opts.reserve_bytes,
        .readers_max = l->opts.readers_max,
        .image = image,
        .pause = rn_local_give_way,
        .context = l,
    };

    rn_local_map_path(l->dir, l->generation, path);
    return l->map_ops->open(&opts, &l->map, &l->pin, err);
}

static enum rn_code sync_names(struct rn_local *l, struct rn_err *err)
{
    int error =
        RN_BUG(NO_DIR_SYNC_AT_OPEN) ? 0 : l->env->ops->sync_dir(l->env, l->dir);

    return error ? rn_fail_errno(err, error, "%s", l->dir) : RN_OK;
}

/* ---- creation ------------------------------------------------------------ */

static enum rn_code create_files(struct rn_local *l, struct rn_err *err)
{
    struct rn_wal_opts opts = wal_opts(l);
    bool found = false;
    enum rn_code rc = rn_wal_find(&opts, &found, err);

    if (rc)
        return rc;
    if (found) {
        return rn_fail(err, RN_CORRUPT,
                       "%s/checkpoint: missing, but the WAL has records",
                       l->dir);
    }
    l->generation = FIRST_GENERATION;
    rc = rn_wal_create(&opts, &l->wal, err);
    if (!rc)
        l->flush.flushed = rn_wal_end(l->wal);
    if (!rc)
        rc = open_map(l, (struct rn_view){ 0 }, err);
    return rc;
}

static enum rn_code create_seed(struct rn_local *l, struct rn_file **out,
                                struct rn_err *err)
{
    char path[RN_PATH_MAX];
    int error;

    if (!l->opts.seed_name)
        return RN_OK;
    rn_local_path(l, l->opts.seed_name, path);
    error = rn_file_open(l->env, path, RN_OPEN_NEW, out);
    if (!error)
        error = rn_file_write(*out, l->opts.seed, 0);
    return error ? rn_fail_errno(err, error, "%s", path) : RN_OK;
}

/* Syncs the files, their names, and what the checkpoint needs: in any order,
 * but all before the checkpoint gets its name. */
static enum rn_code sync_created(struct rn_local *l, struct rn_file *seed,
                                 struct rn_err *err)
{
    struct rn_sync syncs[3] = { { .file = rn_wal_created(l->wal) } };
    size_t len = 1;
    enum rn_code rc;
    int error;

    if (seed)
        syncs[len++].file = seed;
    if (!RN_BUG(NO_DIR_SYNC))
        syncs[len++].dir = l->dir;
    rn_syncs_begin(l->env, syncs, len, !l->opts.manual);
    rc = rn_local_checkpoint_begin(l, err);
    error = rn_syncs_end(syncs, len);
    if (!rc && error)
        rc = rn_fail_errno(err, error, "%s: syncing", l->dir);
    return rc;
}

/* If an earlier attempt ended after the format file was named, that name may be
 * in the cache only.  Without it, a power cut would leave files in a directory
 * that is not recognised as ours. */
static enum rn_code create(struct rn_local *l, bool fresh, struct rn_err *err)
{
    enum rn_code rc = fresh ? RN_OK : sync_names(l, err);
    struct rn_file *seed = NULL;

    if (!rc)
        rc = create_files(l, err);
    if (!rc)
        rc = create_seed(l, &seed, err);
    if (!rc)
        rc = sync_created(l, seed, err);
    rn_file_close(seed);
    return rc ? rc : rn_local_checkpoint(l, err);
}

/* ---- opening ------------------------------------------------------------- */

/* S2: the restored state must be the one that the checkpoint names. */
static enum rn_code check_seq(struct rn_local *l, struct rn_err *err)
{
    struct rn_map_txn *txn = NULL;
    uint64_t seq = 0;
    enum rn_code rc = l->map->ops->begin(l->map, RN_TXN_READ, &txn, err);

    if (rc)
        return rc;
    rc = l->map->ops->seq(txn, &seq);
    l->map->ops->abort(txn);
    if (rc || seq != l->durable.seq) {
        return rn_fail(err, RN_CORRUPT,
                       "%s: the map is at group %llu, the checkpoint at %llu",
                       l->dir, (unsigned long long)seq,
                       (unsigned long long)l->durable.seq);
    }
    return RN_OK;
}

static enum rn_code reopen(struct rn_local *l, struct rn_err *err)
{
    struct rn_wal_opts opts = wal_opts(l);
    enum rn_code rc;

    l->generation = l->checkpoint.generation;
    l->durable = l->checkpoint.place;
    rc = rn_wal_open(&opts, l->durable, &l->wal, err);
    if (!rc)
        rc = sync_names(l, err);
    if (!rc)
        rc = open_map(l, rn_buf_view(&l->checkpoint.image), err);
    if (!rc)
        rc = check_seq(l, err);
    if (!rc && (RN_BUG(NO_PIN_AFTER_OPEN) || RN_BUG(NO_PIN))) {
        l->map->ops->release(l->map, l->pin);
        l->pin = NULL;
    }
    if (!rc && !RN_BUG(NO_LOG_SYNC_AT_OPEN))
        rc = rn_wal_secure_end(l->wal, err);
    if (!rc)
        rc = rn_replay(l, err);
    return rc;
}

/* ---- leftovers ----------------------------------------------------------- */

struct sweep {
    struct rn_env *env;
    const char *dir;
    char keep[64]; /* the map's name; its lock file begins with it */
};

static void sweep_name(void *context, const char *name)
{
    struct sweep *s = context;
    size_t len = strlen(s->keep);
    char path[RN_PATH_MAX];

    if (strncmp(name, "map-", 4) != 0)
        return;
    if (strncmp(name, s->keep, len) == 0 &&
        (name[len] == '\0' || name[len] == '-'))
        return;
    snprintf(path, sizeof(path), "%s/%s", s->dir, name);
    (void)s->env->ops->remove(s->env, path);
}

enum rn_code rn_local_sweep(struct rn_env *env, const char *dir,
                            struct rn_err *err)
{
    struct sweep s = { .env = env, .dir = dir };
    struct rn_checkpoint c;
    enum rn_code rc;
    int error;

    rn_checkpoint_init(&c);
    rc = rn_checkpoint_read(env, dir, &c, err);
    snprintf(s.keep, sizeof(s.keep), "map-%llu",
             (unsigned long long)c.generation);
    rn_checkpoint_release(&c);
    if (rc)
        return rc;
    error = env->ops->list(env, dir, sweep_name, &s);
    return error ? rn_fail_errno(err, error, "%s", dir) : RN_OK;
}

/* ---- the directory ------------------------------------------------------- */

static void parent_of(const char *dir, char out[RN_PATH_MAX])
{
    size_t len;

    snprintf(out, RN_PATH_MAX, "%s", dir);
    len = strlen(out);
    while (len > 1 && out[len - 1] == '/')
        len--;
    while (len > 0 && out[len - 1] != '/')
        len--;
    while (len > 1 && out[len - 1] == '/')
        len--;
    if (len == 0)
        out[len++] = '.';
    out[len] = '\0';
}

static enum rn_code make_directory(struct rn_local *l, bool *made,
                                   struct rn_err *err)
{
    int error = l->env->ops->make_dir(l->env, l->dir);

    *made = !error;
    return error && error != EEXIST ? rn_fail_errno(err, error, "%s", l->dir)
                                    : RN_OK;
}

/* The directory's own name must last as long as the data acknowledged in it,
 * whether we, a restore or an administrator made it.  An administrator may have
 * made it where we may not look; then its durability is up to the
 * administrator. */
static enum rn_code check_parent(const char *parent, int error, bool made,
                                 struct rn_err *err)
{
    if (error && (made || error != EACCES))
        return rn_fail_errno(err, error, "%s", parent);
    return RN_OK;
}

static enum rn_code sync_own_name(struct rn_local *l, struct rn_err *err)
{
    char parent[RN_PATH_MAX];
    int error;

    parent_of(l->dir, parent);
    error = RN_BUG(NO_DIR_SYNC) ? 0 : l->env->ops->sync_dir(l->env, parent);
    return check_parent(parent, error, false, err);
}

/* Gives a new directory its identity first.  A directory in which an earlier
 * attempt ended before the first checkpoint has one already. */
static enum rn_code identify(struct rn_local *l, bool *fresh, bool *made,
                             struct rn_err *err)
{
    enum rn_code rc = rn_format_read(l->env, l->dir, &l->format, err);

    *fresh = rc == RN_NOT_FOUND;
    if (*fresh && l->opts.must_exist)
        return rn_fail(err, RN_NOT_FOUND, "%s: no data directory", l->dir);
    if (*fresh)
        return make_directory(l, made, err);
    return rc ? rc : sync_own_name(l, err);
}

/* Called with the lock held: another process may have come and gone meanwhile.
 */
static enum rn_code look_again(struct rn_local *l, bool *fresh,
                               struct rn_err *err)
{
    enum rn_code rc = rn_format_read(l->env, l->dir, &l->format, err);

    *fresh = rc == RN_NOT_FOUND;
    return *fresh ? RN_OK : rc;
}

/* The identity and its names are durable before there is anything else. */
static enum rn_code put_identity(struct rn_local *l, bool made,
                                 struct rn_err *err)
{
    char parent[RN_PATH_MAX];
    struct rn_sync own_name = { .dir = parent };
    size_t len = RN_BUG(NO_DIR_SYNC) ? 0 : 1;
    enum rn_code rc;
    int error;

    parent_of(l->dir, parent);
    l->format.version = RN_FORMAT_VERSION;
    rn_format_draw_id(l->env, &l->format);
    rn_syncs_begin(l->env, &own_name, len, !l->opts.manual);
    rc = rn_format_write(l->env, l->dir, &l->format, err);
    error = rn_syncs_end(&own_name, len);
    if (!rc)
        rc = check_parent(parent, error, made, err);
    return rc ? rc : open_format(l, err);
}

enum rn_code rn_local_recover(struct rn_local *l, struct rn_err *err)
{
    bool fresh = false, made = false;
    enum rn_code rc;

    l->opened_ns = rn_mono_ns(l->env);
    rc = identify(l, &fresh, &made, err);
    if (!rc)
        rc = take_lock(l, err);
    if (!rc && fresh)
        rc = look_again(l, &fresh, err);
    if (!rc)
        rc = fresh ? put_identity(l, made, err) : open_format(l, err);
    if (rc)
        return rc;
    rc = rn_checkpoint_read(l->env, l->dir, &l->checkpoint, err);
    if (!rc)
        rc = reopen(l, err);
    else if (rc == RN_NOT_FOUND)
        rc = create(l, fresh, err);
    if (!rc)
        rc = rn_local_sweep(l->env, l->dir, err);
    l->captured_ns = rn_mono_ns(l->env);
    l->counts.recovery_ms = (l->captured_ns - l->opened_ns) / 1000000;
    return rc;
}
