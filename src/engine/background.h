/* background.h -- background tasks: bounded work of the engine behind the
 * clients' writes.
 *
 * A task is a table of operations, a priority, and a time at which it is due.
 * At each step the committer asks for due work and gets a slice: an operation
 * that it runs at the end of a group.  There is one slice at a time.  When it
 * is done, the task says when it is due again, and the next slice may go to
 * another task.
 *
 * Of the tasks that are due, the slice goes to the one with the largest product
 * of its priority and its wait, counted in slices since its own last one.  So a
 * task with twice the priority gets about twice as many slices, and none waits
 * for ever behind one that goes on for long.
 *
 * A paced task has slices only together with clients' writes while there are
 * any, and never alone: otherwise clients would wait for its sync.
 *
 * Threads: the committer's, or before there is one; rn_background_start any.
 */
#ifndef RN_ENGINE_BACKGROUND_H
#define RN_ENGINE_BACKGROUND_H

#include "engine/operation.h"

#include <stdatomic.h>

struct rn_engine;

enum rn_background_id {
    RN_BACKGROUND_PURGE,  /* cleanup/delete_partition.c */
    RN_BACKGROUND_EXPIRY, /* cleanup/ttl.c */
    RN_BACKGROUND_DROP,   /* cleanup/drop_container.c */
    RN_BACKGROUND_REHOME, /* range/rehome.c */
    RN_BACKGROUND_INDEX,  /* index/indexer.c */
    RN_BACKGROUND_BLOOM,  /* document/bloom_fill.c */
    RN_BACKGROUND_TASKS
};

struct rn_background_ops {
    unsigned priority; /* from 1 */
    bool is_paced;
    unsigned flags; /* of its operation, besides RN_OPERATION_BACKGROUND */
    uint64_t bytes; /* estimate of a slice's writes */

    /* Chooses what the slice works on, and may add flags.  False: there is no
     * work now, and the task has set when it is due.  NULL: always true. */
    bool (*choose)(struct rn_engine *e, int64_t now, unsigned *flags);
    /* As of struct rn_operation.  `done` sets when the task is due again, or
     * leaves it due. */
    enum rn_code (*run)(struct rn_engine *e, struct rn_txn *txn);
    void (*done)(struct rn_engine *e, enum rn_code rc,
                 const struct rn_err *err);
};

#define RN_NEVER INT64_MAX /* a time: there is no work */

/* Zeroed: every task is due, because an earlier process may have left work. */
struct rn_background {
    struct {
        int64_t due;     /* seconds since 1970; RN_NEVER */
        uint64_t served; /* the number of its last slice */
    } tasks[RN_BACKGROUND_TASKS];
    uint64_t slices; /* given out */
    struct rn_operation slice;
    enum rn_background_id current; /* whose slice it is */
    bool is_queued;
    atomic_bool is_started; /* the engine is open */

    /* Pacing. */
    uint64_t writes;       /* of documents, counted by apply.c */
    uint64_t writes_asked; /* their count when work was last asked for */
    int64_t wrote_ns;      /* about the time of the last write */
};

void rn_background_start(struct rn_engine *e);

/* Sets when a task is due; or lowers that time. */
void rn_background_set(struct rn_engine *e, enum rn_background_id id,
                       int64_t due);
void rn_background_lower(struct rn_engine *e, enum rn_background_id id,
                         int64_t due);

/* For the committer: a slice that is due, or NULL and how long to wait. */
struct rn_operation *rn_background_take(struct rn_engine *e, int64_t *wait_ns);

#endif
