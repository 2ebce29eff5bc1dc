/* own.h -- the state of an engine, for the files of this module. */
#ifndef RN_ENGINE_OWN_H
#define RN_ENGINE_OWN_H

#include "base/queue.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/catalog_remove.h"
#include "engine/cleanup/delete_partition.h"
#include "engine/cleanup/ttl.h"
#include "engine/document/bloom.h"
#include "engine/fixture/fixture.h"
#include "engine/index/indexer.h"
#include "engine/key.h"
#include "engine/range/container.h"
#include "engine/range/rehome.h"
#include "engine/row.h"
#include "store/tree.h"
#include "waiters/waiters.h"

#include <pthread.h>

enum { RN_MOVED_MAX = 256 };

struct rn_engine {
    struct rn_engine_opts opts;
    struct rn_env *env;
    struct rn_store *store;
    struct rn_committer *committer;

    /* The catalog in memory; values are pointers to objects that it shares. */
    pthread_mutex_t lock;
    struct rn_tree by_name; /* kind, owner, id */
    struct rn_tree by_rid;  /* kind, owner, rid */
    uint32_t dropped;       /* deleted databases that have left objects */

    /* Ranges that were written to since the last publish.  Thread:
     * committer. */
    struct {
        uint32_t container;
        int64_t range;
        struct rn_stretch stretch;
    } moved[RN_MOVED_MAX];
    size_t moved_count;
    struct rn_waiters *waiters;

    struct rn_operation sweep; /* drop_container.c */
    atomic_bool sweeping;      /* it is queued */
    struct rn_removed removed; /* by it; the committer's, */
    struct rn_removal removal; /* and this: how far it has committed */
    struct rn_rehome home;     /* rehome.c */
    bool was_home;             /* it had the last turn; the committer's */

    /* Slices of removal that found something they could not remove. */
    _Atomic uint64_t removals_failed;
    struct rn_expiry expiry;     /* the committer's, */
    struct rn_purger purger;     /* and this, */
    struct rn_indexer indexer;   /* and this, */
    struct rn_blooms sieves;     /* and this */
    struct rn_fixtures fixtures; /* `is_busy` is guarded by `lock` */
};

/* Those who wait for this stretch of a range, or (RN_RANGE_ANY) for
 * any of the container, are to look again once it is committed.  Thread:
 * committer. */
void rn_engine_note_move(struct rn_engine *e, uint32_t container, int64_t range,
                         struct rn_stretch stretch);
/* EPKs as numbers: those of an interval, or of one. */
struct rn_stretch rn_stretch_of(struct rn_view min, struct rn_view max);

#endif
