/* sim_calls.c -- the disk calls of a simulation: faults, power, trace.
 *
 * Every call goes the same way: admit() counts it and decides whether it
 * happens (injected faults and power cuts are decided there and nowhere else),
 * sim_disk does it, leave() writes the trace.
 */
#include "base/sim_calls.h"

#include "base/hash.h"
#include "base/sim_names.h"
#include "base/sim_state.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- faults and power ---------------------------------------------------- */

/* The fate of a call.  A call that is cut off may have reached the disk, so it
 * is done, but it syncs nothing and its caller never sees the result. */
enum verdict { GO, FAIL, CUT_OFF, NO_POWER };

struct pass {
    enum verdict verdict;
    int error; /* 0 for GO */
};

static bool changes_disk(enum rn_sim_call call)
{
    return call != RN_SIM_PREAD && call != RN_SIM_SIZE && call != RN_SIM_LOCK &&
           call != RN_SIM_LIST && call != RN_SIM_SPACE;
}

static bool strikes(struct rn_sim_fault *fault)
{
    if (fault->nth == 0)
        return false;
    if (fault->nth > 1) {
        fault->nth--;
        return false;
    }
    if (fault->times == RN_SIM_ONCE)
        fault->nth = 0;
    return true;
}

static struct pass admit(struct rn_sim *sim, enum rn_sim_call call)
{
    struct rn_sim_fault *fault = &sim->faults[call];

    if (sim->is_cut)
        return (struct pass){ NO_POWER, EIO };
    sim->calls[call]++;
    if (sim->cut_in > 0 && changes_disk(call) && --sim->cut_in == 0) {
        rn_sim_note(sim, "power cut");
        sim->is_cut = true;
        return (struct pass){ CUT_OFF, EIO };
    }
    if (strikes(fault))
        return (struct pass){ FAIL, fault->error };
    return (struct pass){ GO, 0 };
}

static bool happens(struct pass pass)
{
    return pass.verdict == GO || pass.verdict == CUT_OFF;
}

/* Ends a call: writes the trace and returns the result. */
static int leave(struct rn_sim *sim, int error, const char *fmt, ...)
    RN_PRINTF(3, 4);

static int leave(struct rn_sim *sim, int error, const char *fmt, ...)
{
    char what[400];
    va_list args;

    if (!sim->trace)
        return error;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    rn_sim_note(sim, "%s = %d", what, error);
    return error;
}

static unsigned long long llu(uint64_t n)
{
    return n; /* for %llu, which a trace prints often */
}

/* ---- open files ---------------------------------------------------------- */

static struct rn_disk_file *disk_file(struct rn_file *file)
{
    return (struct rn_disk_file *)file;
}

/* Like admit; but a file from before a crash is dead. */
static struct pass admit_file(struct rn_file *file, enum rn_sim_call call)
{
    if (!disk_file(file)->node)
        return (struct pass){ NO_POWER, EIO };
    return admit(rn_sim_of(file->env), call);
}

static int find_or_create(struct rn_disk *disk, const char *path,
                          enum rn_open how, struct rn_node **out)
{
    bool is_new = how == RN_OPEN_NEW || how == RN_OPEN_IN_PLACE;
    int error = rn_disk_find(disk, path, out);

    if (!error && (*out)->is_dir)
        return EISDIR;
    if (!error && is_new)
        return rn_disk_truncate(disk, *out, 0);
    if (error == ENOENT && (how == RN_OPEN_CREATE || is_new))
        return rn_disk_create(disk, path, false, out);
    return error;
}

static struct rn_file *new_file(struct rn_sim *sim, const char *path,
                                struct rn_node *node, enum rn_open how)
{
    struct rn_disk_file *file = rn_new(sizeof(*file));
    size_t len = strlen(path), skip;

    if (!file)
        abort();
    skip = len < sizeof(file->path) ? 0 : len - sizeof(file->path) + 1;
    memcpy(file->path, path + skip, len - skip);
    file->base.env = &sim->env;
    file->node = node;
    file->writes = how != RN_OPEN_READ && how != RN_OPEN_FOLLOW;
    file->lock = RN_LOCK_NONE;
    file->next = sim->disk.files;
    sim->disk.files = file;
    node->opens++;
    return &file->base;
}

static int sim_open(struct rn_env *env, const char *path, enum rn_open how,
                    struct rn_file **out)
{
    struct rn_sim *sim = rn_sim_of(env);
    struct pass pass = admit(sim, RN_SIM_OPEN);
    struct rn_node *node = NULL;
    int done = happens(pass) ? find_or_create(&sim->disk, path, how, &node) : 0;
    int error = pass.error ? pass.error : done;

    if (!error) {
        assert(node);
        *out = new_file(sim, path, node, how);
    }
    return leave(sim, error, "open %s %d", path, (int)how);
}

static void sim_close(struct rn_file *file)
{
    struct rn_disk_file *f = disk_file(file);
    struct rn_sim *sim;
    struct rn_disk_file **at;

    if (!file)
        return;
    sim = rn_sim_of(file->env);
    at = &sim->disk.files;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    if (f->node)
        f->node->opens--;
    rn_sim_note(sim, "close %s", f->path);
    rn_free(f);
}

/* ---- contents ------------------------------------------------------------ */

static int sim_pread(struct rn_file *file, void *out, size_t len,
                     uint64_t offset, size_t *got)
{
    struct rn_disk_file *f = disk_file(file);
    struct pass pass = admit_file(file, RN_SIM_PREAD);

    *got = 0;
    if (happens(pass) && offset < f->node->now.len) {
        size_t left = f->node->now.len - (size_t)offset;
        *got = len < left ? len : left;
        memcpy(out, f->node->now.at + offset, *got);
    }
    return leave(rn_sim_of(file->env), pass.error, "pread %s %llu+%zu %zu",
                 f->path, llu(offset), len, *got);
}

/* A failed write may have written its beginning, drawn at random. */
static struct rn_view part_written(struct rn_sim *sim, struct pass pass,
                                   struct rn_view bytes)
{
    if (pass.verdict == FAIL)
        bytes.len = (size_t)rn_prng_below(&sim->prng, bytes.len + 1);
    return bytes;
}

static int sim_pwrite(struct rn_file *file, struct rn_view bytes,
                      uint64_t offset)
{
    struct rn_sim *sim = rn_sim_of(file->env);
    struct rn_disk_file *f = disk_file(file);
    struct pass pass;
    int done = 0;

    if (!f->writes && bytes.len > 0)
        return EBADF;
    pass = admit_file(file, RN_SIM_PWRITE);
    if (pass.verdict != NO_POWER) {
        done = rn_disk_write(&sim->disk, f->node,
                             part_written(sim, pass, bytes), offset);
    }
    return leave(sim, pass.error ? pass.error : done,
                 "pwrite %s %llu+%zu %016llx", f->path, llu(offset), bytes.len,
                 llu(sim->trace ? rn_hash64(bytes, 0) : 0));
}

static int sim_sync(struct rn_file *file)
{
    struct rn_sim *sim = rn_sim_of(file->env);
    struct rn_disk_file *f = disk_file(file);
    struct pass pass = admit_file(file, RN_SIM_SYNC);

    if (pass.verdict == GO)
        rn_disk_sync(f->node);
    if (pass.verdict == FAIL)
        rn_disk_sync_lose(&sim->disk, f->node);
    return leave(sim, pass.error, "sync %s", f->path);
}

/* Unsynced data may be on disk in any case, so the hint adds nothing.  Its
 * failure is a failed sync: the kernel reports such an error only once. */
static int sim_write_back(struct rn_file *file, uint64_t offset, uint64_t len)
{
    struct rn_sim *sim = rn_sim_of(file->env);
    struct rn_disk_file *f = disk_file(file);
    struct pass pass = admit_file(file, RN_SIM_WRITE_BACK);

    if (pass.verdict == FAIL)
        rn_disk_sync_lose(&sim->disk, f->node);
    return leave(sim, pass.error, "write_back %s %llu+%llu", f->path,
                 llu(offset), llu(len));
}

static int sim_reserve(struct rn_file *file, uint64_t offset, uint64_t len,
                       enum rn_reserve how)
{
    struct rn_sim *sim = rn_sim_of(file->env);
    struct rn_disk_file *f = disk_file(file);
    struct pass pass;
    int done = 0;

    if (!f->writes && len > 0)
        return EBADF;
    if (len > UINT64_MAX - offset)
        return EFBIG;
    pass = admit_file(file, RN_SIM_RESERVE);
    if (happens(pass) && len > 0)
        done = rn_disk_reserve(&sim->disk, f->node, offset + len, how);
    return leave(sim, pass.error ? pass.error : done, "reserve %s %llu+%llu %d",
                 f->path, llu(offset), llu(len), (int)how);
}

static int sim_truncate(struct rn_file *file, uint64_t len)
{
    struct rn_sim *sim = rn_sim_of(file->env);
    struct rn_disk_file *f = disk_file(file);
    struct pass pass;
    int done = 0;

    if (!f->writes)
        return EINVAL;
    pass = admit_file(file, RN_SIM_TRUNCATE);
    if (happens(pass))
        done = rn_disk_truncate(&sim->disk, f->node, len);
    return leave(sim, pass.error ? pass.error : done, "truncate %s %llu",
                 f->path, llu(len));
}

/* The cache shows what was written, the device what was synced.  They differ
 * where a failed sync has lost something. */
static void sim_reread(struct rn_file *file, uint64_t offset, uint64_t len)
{
    struct rn_sim *sim = rn_sim_of(file->env);
    struct rn_disk_file *f = disk_file(file);
    struct rn_node *node = f->node;
    uint64_t end = offset + len;

    if (!node || sim->is_cut || node->change_count)
        return;
    if (end > node->now.len)
        end = node->now.len;
    if (end > node->synced.len)
        end = node->synced.len;
    if (offset < end)
        memcpy(node->now.at + offset, node->synced.at + offset,
               (size_t)(end - offset));
    leave(sim, 0, "reread %s %llu+%llu", f->path, llu(offset), llu(len));
}

static int sim_size(struct rn_file *file, uint64_t *out)
{
    struct pass pass = admit_file(file, RN_SIM_SIZE);

    if (happens(pass))
        *out = disk_file(file)->node->now.len;
    return leave(rn_sim_of(file->env), pass.error, "size %s",
                 disk_file(file)->path);
}

/* ---- locks --------------------------------------------------------------- */

static bool clash(enum rn_file_lock wanted, enum rn_file_lock held)
{
    if (wanted == RN_LOCK_NONE || held == RN_LOCK_NONE)
        return false;
    return wanted == RN_LOCK_EXCLUSIVE || held == RN_LOCK_EXCLUSIVE;
}

/* Like flock: a lock belongs to the open file, and a failed change of it has
 * released the old lock. */
static int take_lock(struct rn_disk *disk, struct rn_disk_file *f,
                     enum rn_file_lock how)
{
    f->lock = RN_LOCK_NONE;
    for (struct rn_disk_file *o = disk->files; o; o = o->next) {
        if (o->node == f->node && clash(how, o->lock))
            return EAGAIN;
    }
    f->lock = how;
    return 0;
}

/* There is one user. */
static int sim_mode(struct rn_file *file, unsigned *out)
{
    (void)file;
    *out = 0600;
    return 0;
}

static int sim_resemble(struct rn_file *file, const char *path)
{
    (void)file;
    (void)path;
    return 0;
}

static int sim_publish(struct rn_file *file)
{
    (void)file;
    return 0;
}

static int sim_lock(struct rn_file *file, enum rn_file_lock how)
{
    struct rn_sim *sim = rn_sim_of(file->env);
    struct rn_disk_file *f = disk_file(file);
    struct pass pass = admit_file(file, RN_SIM_LOCK);
    int done = happens(pass) ? take_lock(&sim->disk, f, how) : 0;

    return leave(sim, pass.error ? pass.error : done, "lock %s %d", f->path,
                 (int)how);
}

static bool sim_is_at(struct rn_file *file, const char *path)
{
    struct rn_node *node = NULL;

    return rn_disk_find(&rn_sim_of(file->env)->disk, path, &node) == 0 &&
           node == disk_file(file)->node;
}

/* ---- names --------------------------------------------------------------- */

static int sim_rename(struct rn_env *env, const char *from, const char *to)
{
    struct rn_sim *sim = rn_sim_of(env);
    struct pass pass = admit(sim, RN_SIM_RENAME);
    int done = happens(pass) ? rn_disk_rename(&sim->disk, from, to) : 0;

    return leave(sim, pass.error ? pass.error : done, "rename %s %s", from, to);
}

static int sim_remove(struct rn_env *env, const char *path)
{
    struct rn_sim *sim = rn_sim_of(env);
    struct pass pass = admit(sim, RN_SIM_REMOVE);
    int done = happens(pass) ? rn_disk_remove(&sim->disk, path) : 0;

    return leave(sim, pass.error ? pass.error : done, "remove %s", path);
}

static int sim_make_dir(struct rn_env *env, const char *path)
{
    struct rn_sim *sim = rn_sim_of(env);
    struct pass pass = admit(sim, RN_SIM_MAKE_DIR);
    struct rn_node *node;
    int done =
        happens(pass) ? rn_disk_create(&sim->disk, path, true, &node) : 0;

    return leave(sim, pass.error ? pass.error : done, "make_dir %s", path);
}

static int sim_sync_dir(struct rn_env *env, const char *path)
{
    struct rn_sim *sim = rn_sim_of(env);
    struct pass pass = admit(sim, RN_SIM_SYNC_DIR);
    int done = pass.error ? pass.error : rn_disk_sync_dir(&sim->disk, path);

    return leave(sim, done, "sync_dir %s", path);
}

static int sim_list(struct rn_env *env, const char *path, rn_env_list_fn *each,
                    void *context)
{
    struct rn_sim *sim = rn_sim_of(env);
    struct pass pass = admit(sim, RN_SIM_LIST);
    int done = pass.error;

    if (!done)
        done = rn_disk_list(&sim->disk, path, each, context);
    return leave(sim, done, "list %s", path);
}

static int sim_space(struct rn_env *env, const char *path, uint64_t *free_bytes)
{
    struct rn_sim *sim = rn_sim_of(env);
    struct pass pass = admit(sim, RN_SIM_SPACE);
    struct rn_node *node;
    int done = pass.error ? pass.error : rn_disk_find(&sim->disk, path, &node);

    if (!done)
        *free_bytes = rn_disk_free_bytes(&sim->disk);
    return leave(sim, done, "space %s", path);
}

/* There is no page cache except the unsynced data. */
static void sim_direct(struct rn_file *file)
{
    (void)file;
}

void rn_sim_fill_disk_ops(struct rn_env_ops *ops)
{
    ops->open = sim_open;
    ops->close = sim_close;
    ops->pread = sim_pread;
    ops->pwrite = sim_pwrite;
    ops->direct = sim_direct;
    ops->sync = sim_sync;
    ops->write_back = sim_write_back;
    ops->reserve = sim_reserve;
    ops->truncate = sim_truncate;
    ops->size = sim_size;
    ops->allocated = sim_size; /* nothing is allocated behind the end */
    ops->reread = sim_reread;
    ops->mode = sim_mode;
    ops->resemble = sim_resemble;
    ops->publish = sim_publish;
    ops->lock = sim_lock;
    ops->is_at = sim_is_at;
    ops->rename = sim_rename;
    ops->remove = sim_remove;
    ops->make_dir = sim_make_dir;
    ops->sync_dir = sim_sync_dir;
    ops->list = sim_list;
    ops->space = sim_space;
}
