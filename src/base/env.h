/* env.h -- the outside world as a table: clock, chance, files and tasks.
 *
 * Whatever makes two runs of a program differ is reached through an env, so a
 * test can hold it still.  There are two:
 *
 *   rn_env_real   the machine (env_real.c)
 *   rn_sim        a seeded one with a virtual clock, a disk that forgets what
 *                 was not synced, and tasks stepped by one thread (sim.h)
 *
 * File calls return 0 or an errno value, never -1; rn_fail_errno makes a
 * sentence of it.  Reads and writes are whole or an error: no short counts
 * except a read past the end, which tells how much there was.  EINTR is
 * retried inside.
 *
 * Threads: an env may be used by any thread; a file by one at a time unless
 * the calls are pread, pwrite or sync, which may overlap.
 */
#ifndef RN_BASE_ENV_H
#define RN_BASE_ENV_H

#include "base/mem.h"

#include <stdint.h>
#include <time.h>

struct rn_env {
    const struct rn_env_ops *ops;
};

struct rn_file {
    struct rn_env *env;
};

enum rn_open {
    RN_OPEN_READ,   /* must exist */
    RN_OPEN_FOLLOW, /* the same, and may be a link, which all others refuse: for
                     * what an operator names, not for what lies in the data */
    RN_OPEN_WRITE,  /* must exist; reads and writes */
    RN_OPEN_CREATE, /* reads and writes; made (0600) if absent */
    RN_OPEN_NEW,    /* reads and writes; emptied if present */
    /* The same, for a file that is written over again and again: a
     * copy-on-write file system writes it in place, where it can, so that this
     * needs no free block. */
    RN_OPEN_IN_PLACE,
};

enum rn_file_lock { RN_LOCK_SHARED, RN_LOCK_EXCLUSIVE, RN_LOCK_NONE };

enum rn_reserve {
    RN_RESERVE_GROW, /* the file's length becomes at least offset + len */
    RN_RESERVE_KEEP, /* blocks only; the length stays */
};

/* A piece of work that runs beside others: a loop, the committer, the
 * checkpointer.  The real env gives each a thread; the simulated one calls the
 * steps in an order drawn from its seed. */
struct rn_task {
    const char *name;
    /* Does a bounded bit of work and says when it wants to run again: 0 at
     * once, n in n nanoseconds, RN_TASK_IDLE only when woken. */
    int64_t (*step)(void *context);
    void *context;
    void *running; /* the env's own; NULL while not started */
    /* Others wait for what it does in a moment: it should not wait for them. */
    bool is_prompt;
};

enum { RN_TASK_NOW = 0 };
#define RN_TASK_IDLE INT64_MAX

typedef void rn_env_list_fn(void *context, const char *name);

struct rn_env_ops {
    const char *name;

    /* Milliseconds since 1970; may jump. */
    int64_t (*wall_ms)(struct rn_env *env);
    /* Nanoseconds since some start; never goes back, and goes on while the
     * machine is suspended. */
    int64_t (*mono_ns)(struct rn_env *env);
    void (*sleep)(struct rn_env *env, int64_t ns);
    /* Lets whoever waits for this processor have it first. */
    void (*give_way)(struct rn_env *env);
    void (*random)(struct rn_env *env, void *out, size_t len);

    /* What root makes in another's directory, a directory too, is the
     * other's. */
    int (*open)(struct rn_env *env, const char *path, enum rn_open how,
                struct rn_file **out);
    void (*close)(struct rn_file *file); /* NULL is fine */
    /* `*got` is less than `len` only at the end of the file. */
    int (*pread)(struct rn_file *file, void *out, size_t len, uint64_t offset,
                 size_t *got);
    int (*pwrite)(struct rn_file *file, struct rn_view bytes, uint64_t offset);
    /* A hint: from now on whole blocks are written past the page cache, if the
     * file system lets them.  For what is written in order, synced and not read
     * back; a read, or a write of less than blocks, ends it.  No two calls at
     * once for this file, but sync. */
    void (*direct)(struct rn_file *file);
    int (*sync)(struct rn_file *file); /* fdatasync */
    /* Starts writing back and waits for it; a hint that promises nothing.  But
     * an error is the sync's: it is told once, and the next sync is silent. */
    int (*write_back)(struct rn_file *file, uint64_t offset, uint64_t len);
    /* Allocates blocks ahead.  EOPNOTSUPP where the file system cannot. */
    int (*reserve)(struct rn_file *file, uint64_t offset, uint64_t len,
                   enum rn_reserve how);
    int (*truncate)(struct rn_file *file, uint64_t len);
    int (*size)(struct rn_file *file, uint64_t *out);
    /* How much of the disk it has, about; behind its end, too. */
    int (*allocated)(struct rn_file *file, uint64_t *out);
    /* Makes the next read of a stretch come from the device.  After a failed
     * sync what was written is still read back, but may not be there; this
     * tells.  What is not yet synced stays. */
    void (*reread)(struct rn_file *file, uint64_t offset, uint64_t len);
    /* Who may do what with it, as chmod(2) has it. */
    int (*mode)(struct rn_file *file, unsigned *out);
    /* Gives it owner, group and mode of what is at the path, if there is
     * anything: what is to take its place is for the same readers. */
    int (*resemble)(struct rn_file *file, const char *path);
    /* Lets everybody read it, and its owner write (0644). */
    int (*publish)(struct rn_file *file);
    /* Does not wait: EAGAIN if another open file holds it. */
    int (*lock)(struct rn_file *file, enum rn_file_lock how);
    /* False if it is there no longer: it was moved or removed, and another may
     * have been put in its place. */
    bool (*is_at)(struct rn_file *file, const char *path);

    int (*rename)(struct rn_env *env, const char *from, const char *to);
    int (*remove)(struct rn_env *env, const char *path);
    int (*make_dir)(struct rn_env *env, const char *path); /* 0700 */
    int (*sync_dir)(struct rn_env *env, const char *path);
    int (*list)(struct rn_env *env, const char *path, rn_env_list_fn *each,
                void *context);
    int (*space)(struct rn_env *env, const char *path, uint64_t *free_bytes);

    /* The first step is due at once. */
    int (*task_start)(struct rn_env *env, struct rn_task *task);
    /* Never lost: a wake during a step brings another.  Not to be called while
     * another thread stops the same task. */
    void (*task_wake)(struct rn_env *env, struct rn_task *task);
    /* Returns when no step is running and none will be.  Harmless on a task
     * that was never started. */
    void (*task_stop)(struct rn_env *env, struct rn_task *task);
};

/* The machine.  Needs no closing. */
struct rn_env *rn_env_real(void);

/* `ns` from now, for pthread_cond_timedwait of a condition whose clock is
 * CLOCK_MONOTONIC: conditions have no clock that counts suspended time. */
struct timespec rn_cond_deadline(int64_t ns);

/* The calls, so that callers need not spell the table. */
static inline int64_t rn_wall_ms(struct rn_env *env)
{
    return env->ops->wall_ms(env);
}

static inline int64_t rn_mono_ns(struct rn_env *env)
{
    return env->ops->mono_ns(env);
}

static inline void rn_random(struct rn_env *env, void *out, size_t len)
{
    env->ops->random(env, out, len);
}

static inline int rn_file_open(struct rn_env *env, const char *path,
                               enum rn_open how, struct rn_file **out)
{
    return env->ops->open(env, path, how, out);
}

static inline void rn_file_close(struct rn_file *file)
{
    if (file)
        file->env->ops->close(file);
}

static inline int rn_file_read(struct rn_file *file, void *out, size_t len,
                               uint64_t offset, size_t *got)
{
    return file->env->ops->pread(file, out, len, offset, got);
}

static inline int rn_file_write(struct rn_file *file, struct rn_view bytes,
                                uint64_t offset)
{
    return file->env->ops->pwrite(file, bytes, offset);
}

static inline int rn_file_sync(struct rn_file *file)
{
    return file->env->ops->sync(file);
}

static inline int rn_file_size(struct rn_file *file, uint64_t *out)
{
    return file->env->ops->size(file, out);
}

#endif
