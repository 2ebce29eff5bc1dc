/* held.c -- keeps the checkpoint and the WAL that a running backup reads.
 *
 * A backup reads the files of the checkpoint that was durable when it began.
 * While it holds the lock on `backup`, the pages of that checkpoint may not be
 * reused; while it holds `format`, the WAL may not be, either.  The second lock
 * is shorter, or a full WAL would stop writers until the whole map was copied.
 *
 * A backup that hangs or was stopped must not hold them for ever.  So while it
 * makes progress it writes a changing number into `backup`, and what it holds
 * is released when that number has stayed the same for PATIENCE_NS.  If the
 * backup goes on after all, its pages or records do not fit together, and it
 * starts over.  A backup with read-only access cannot write there: it keeps the
 * pages, and the WAL for PATIENCE_NS.
 */
#include "store/local/held.h"

#include "base/bytes.h"
#include "store/admin/backup.h"

enum { HELD_NS = 20000000 }; /* between checks whether a backup is over */
#define PATIENCE_NS INT64_C(60000000000)

static uint64_t read_progress(struct rn_local *l)
{
    char bytes[8] = { 0 };
    size_t got = 0;

    if (rn_file_read(l->backup_file, bytes, sizeof(bytes), RN_BACKUP_PROGRESS,
                     &got) ||
        got < sizeof(bytes))
        return 0;
    return rn_get_u64(bytes);
}

static bool is_stalled(struct rn_local *l, const struct rn_file *file)
{
    uint64_t progress = read_progress(l);
    int64_t now = rn_mono_ns(l->env);

    if (!l->copy_moved_ns || progress != l->copy_progress) {
        l->copy_progress = progress;
        l->copy_moved_ns = now;
    }
    return (progress || file == l->format_file) &&
           now - l->copy_moved_ns >= PATIENCE_NS;
}

static bool is_held(struct rn_local *l, struct rn_file *file)
{
    int error = l->env->ops->lock(file, RN_LOCK_EXCLUSIVE);

    if (error)
        return !is_stalled(l, file);
    (void)l->env->ops->lock(file, RN_LOCK_NONE);
    if (file == l->backup_file)
        l->copy_moved_ns = 0;
    return false;
}

struct rn_map_pin *rn_held_keep(struct rn_local *l, struct rn_map_pin *old)
{
    l->log_held = true;
    if (l->held || !is_held(l, l->backup_file))
        return old;
    l->held = old;
    return NULL;
}

int64_t rn_held_let_go(struct rn_local *l)
{
    if (l->held && !is_held(l, l->backup_file)) {
        l->map->ops->release(l->map, l->held);
        l->held = NULL;
    }
    if (l->log_held && !is_held(l, l->format_file)) {
        rn_wal_forget(l->wal, l->durable);
        l->log_held = false;
    }
    return l->held || l->log_held ? HELD_NS : RN_TASK_IDLE;
}
