/* engine_state.h -- struct rn_engine: the state of an engine, private to this
 * module. */
#ifndef RN_ENGINE_ENGINE_STATE_H
#define RN_ENGINE_ENGINE_STATE_H

#include "engine/background.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/catalog_remove.h"
#include "engine/cleanup/delete_partition.h"
#include "engine/cleanup/ttl.h"
#include "engine/document/bloom.h"
#include "engine/document/bloom_fill.h"
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

    /* The catalog in memory; values are pointers to reference-counted objects.
     */
    pthread_mutex_t lock;
    struct rn_tree by_name; /* kind, owner, id */
    struct rn_tree by_rid;  /* kind, owner, rid */
    uint32_t dropped;       /* deleted databases whose objects remain */

    /* Ranges that were written to since the last publish.  Thread: committer.
     */
    struct {
        uint32_t container;
        int64_t range;
        struct rn_epk_prefixes prefixes;
    } moved[RN_MOVED_MAX];
    size_t moved_count;
    struct rn_waiters *waiters;

    struct rn_background background; /* but for `is_started`, committer only */
    struct rn_removed removed;       /* a slice's; committer's thread only */
    struct rn_removal removal; /* committed so far; committer's thread only */
    struct rn_rehome rehome;   /* committer's thread only */

    /* Slices of removal that met a row which they could not remove. */
    _Atomic uint64_t removals_failed;
    struct rn_ttl ttl; /* committer's thread only */
    struct rn_delete_partition_state
        delete_partition;            /* committer's thread only */
    struct rn_indexer indexer;       /* likewise, but for what indexer.h says */
    struct rn_blooms blooms;         /* committer's thread only */
    struct rn_bloom_fill bloom_fill; /* likewise */
    struct rn_fixtures fixtures;     /* `is_busy` is guarded by `lock` */
};

#endif
