/* env.h -- the operating system as a table of functions: clocks, random bytes,
 * files and tasks.
 *
 * Every source of nondeterminism is reached through an env, so a test can
 * control it.  There are two:
 *
 *   rn_env_real   the machine (env_real.c)
 *   rn_sim        a seeded one with a virtual clock, a disk that forgets what
 *                 was not synced, and tasks stepped by one thread (sim.h)
 *
 * File calls return 0 or an errno value, never -1; rn_fail_errno makes a
 * sentence of it.  Reads and writes are whole or an error: no short counts
 * except a read past the end, which returns how much there was.  EINTR is
 * retried inside.
 *
 * Threads: an env may be used by any thread; a file by one at a time unless the
 * calls are pread, pwrite or sync, which may overlap.
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
    RN_OPEN_FOLLOW, /* the same, and follows a symbolic link, which all others
                       refuse: for paths that an operator names, not for files
                       in the data directory */
    RN_OPEN_WRITE,  /* must exist; reads and writes */
    RN_OPEN_CREATE, /* reads and writes; created (0600) if absent */
    RN_OPEN_NEW,    /* reads and writes; truncated if present */
    /* The same, for a file that is overwritten again and again: a copy-on-write
     * file system writes it in place, if it can, so that this needs no free
     * block. */
    RN_OPEN_IN_PLACE,
};

enum rn_file_lock { RN_LOCK_SHARED, RN_LOCK_EXCLUSIVE, RN_LOCK_NONE };

enum rn_reserve {
    RN_RESERVE_GROW, /* the file's length becomes at least offset + len */
    RN_RESERVE_KEEP, /* blocks only; the length stays */
};

/* Work that runs concurrently: a loop, the committer, the checkpointer.  The
 * real env gives each a thread; the simulated one calls the steps in an order
 * drawn from its seed. */
struct rn_task {
    const char *name;
    /* Does a bounded step and returns when to run again: 0 at once, n in n
     * nanoseconds, RN_TASK_IDLE only when woken. */
    int64_t (*step)(void *context);
    void *context;
    void *running; /* used by the env; NULL while not started */
    /* Its steps are short and others wait for them: schedule it with low
     * latency. */
    bool is_prompt;
};

enum { RN_TASK_NOW = 0 };
#define RN_TASK_IDLE INT64_MAX

typedef void rn_env_list_fn(void *context, const char *name);

struct rn_env_ops {
    const char *name;

    /* Milliseconds since 1970; may jump. */
    int64_t (*wall_ms)(struct rn_env *env);
    /* Nanoseconds since some start; monotonic, and counts while the machine is
     * suspended. */
    int64_t (*mono_ns)(struct rn_env *env);
    void (*sleep)(struct rn_env *env, int64_t ns);
    /* Yields the processor. */
    void (*give_way)(struct rn_env *env);
    void (*random)(struct rn_env *env, void *out, size_t len);

    /* A file or directory that root creates in another user's directory belongs
     * to that user. */
    int (*open)(struct rn_env *env, const char *path, enum rn_open how,
                struct rn_file **out);
    void (*close)(struct rn_file *file); /* NULL is fine */
    /* `*got` is less than `len` only at the end of the file. */
    int (*pread)(struct rn_file *file, void *out, size_t len, uint64_t offset,
                 size_t *got);
    int (*pwrite)(struct rn_file *file, struct rn_view bytes, uint64_t offset);
    /* A hint: from now on whole blocks are written past the page cache, if the
     * file system allows it.  For data that is written in order, synced and not
     * read back; a read, or a write of less than blocks, ends it.  No two calls
     * at once for this file, except sync. */
    void (*direct)(struct rn_file *file);
    int (*sync)(struct rn_file *file); /* fdatasync */
    /* Starts writing back and waits for it; a hint without a guarantee.  But an
     * error counts like a failed sync: it is reported once, and the next sync
     * does not report it. */
    int (*write_back)(struct rn_file *file, uint64_t offset, uint64_t len);
    /* Allocates blocks ahead.  EOPNOTSUPP where the file system cannot. */
    int (*reserve)(struct rn_file *file, uint64_t offset, uint64_t len,
                   enum rn_reserve how);
    int (*truncate)(struct rn_file *file, uint64_t len);
    int (*size)(struct rn_file *file, uint64_t *out);
    /* About how much disk it has, space behind its end included. */
    int (*allocated)(struct rn_file *file, uint64_t *out);
    /* Makes the next read of this part come from the device.  After a failed
     * sync the data is still read back from the cache, but may not be on disk;
     * this shows it.  Data that is not yet synced stays. */
    void (*reread)(struct rn_file *file, uint64_t offset, uint64_t len);
    /* The file's permissions, as in chmod(2). */
    int (*mode)(struct rn_file *file, unsigned *out);
    /* Gives it owner, group and mode of the file at the path, if there is one:
     * the replacement of a file is for the same readers. */
    int (*resemble)(struct rn_file *file, const char *path);
    /* Makes it readable for everybody, and writable for its owner (0644). */
    int (*publish)(struct rn_file *file);
    /* Does not wait: EAGAIN if another open file holds it. */
    int (*lock)(struct rn_file *file, enum rn_file_lock how);
    /* False if the path no longer names this file: it was moved, removed or
     * replaced. */
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
    /* Never lost: a wake during a step causes another step.  Must not be called
     * while another thread stops the same task. */
    void (*task_wake)(struct rn_env *env, struct rn_task *task);
    /* Returns when no step is running and none will be.  Harmless on a task
     * that was never started. */
    void (*task_stop)(struct rn_env *env, struct rn_task *task);
};

/* The machine's env.  Needs no closing. */
struct rn_env *rn_env_real(void);

/* `ns` from now, for pthread_cond_timedwait of a condition whose clock is
 * CLOCK_MONOTONIC: conditions have no clock that counts suspended time. */
struct timespec rn_cond_deadline(int64_t ns);

/* Wrappers, so that callers need not spell the table. */
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
