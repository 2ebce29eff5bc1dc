/* engine.h -- the database engine: catalog, documents and change feed on top of
 * a key-value store.
 *
 * One engine per open store.  It knows no HTTP, no SQL text, no sockets.
 *
 *   catalog.h    databases, containers ...: named objects
 *   container.h  a container's definition and its partition key ranges
 *   document.h   writes of documents; snapshot.h reads them
 *
 * Reads are answered at once, by any thread, from a snapshot.  Writes are
 * prepared by any thread and decided in the committer, one after another; they
 * finish on the committer's thread, when they are durable and visible.
 */
#ifndef RN_ENGINE_ENGINE_H
#define RN_ENGINE_ENGINE_H

#include "engine/commit.h"
#include "store/store.h"

struct rn_engine;
struct rn_epk_prefixes; /* waiters/waiters.h */
struct rn_waiters;

struct rn_engine_opts {
    struct rn_env *env;      /* NULL: the real one */
    struct rn_store *store;  /* borrowed; outlives the engine */
    uint32_t ranges_default; /* of a new container; 0: by its throughput */
    bool is_strict; /* new containers begin as in the service: more ranges, and
                       LSN 1 is the creation */
    uint32_t queue_max;    /* writes in flight; 0: 4,096 */
    uint32_t home_entries; /* re-homed in a slice (rehome.c); 0: as fits */
};

/* Loads the catalog and starts the committer. */
enum rn_code rn_engine_open(const struct rn_engine_opts *opts,
                            struct rn_engine **out,
                            struct rn_err *err) RN_CHECK;
/* Finishes all queued writes.  NULL is fine. */
void rn_engine_close(struct rn_engine *e);

struct rn_env *rn_engine_env(struct rn_engine *e);
struct rn_store *rn_engine_store(struct rn_engine *e);
/* The parked feed readers. */
struct rn_waiters *rn_engine_waiters(struct rn_engine *e);
void rn_engine_commit_status(struct rn_engine *e,
                             struct rn_committer_status *out);
/* How often an expired document, or a document of a deleted key, could not be
 * removed. */
uint64_t rn_engine_removals_failed(struct rn_engine *e);

/* Call this when the clock was put forward, so that documents that expired by
 * that are removed at once. */
void rn_engine_clock_turned(struct rn_engine *e);

/* Seconds since 1970, for _ts and expiry. */
int64_t rn_engine_now(struct rn_engine *e);
/* The same clock in microseconds, for queries. */
int64_t rn_engine_now_us(struct rn_engine *e);

/* The completion of a write.  Embedded in the caller's own struct; `call` may
 * release it.  Thread: committer; must not block. */
struct rn_done {
    void (*call)(struct rn_done *done, enum rn_code rc,
                 const struct rn_err *err);
};

/* Notes that this part of a range has changed, or any range of the container
 * (RN_RANGE_ANY).  Its waiters are woken after the commit.  Thread: committer.
 */
void rn_engine_note_move(struct rn_engine *e, uint32_t container, int64_t range,
                         struct rn_epk_prefixes prefixes);

#endif
