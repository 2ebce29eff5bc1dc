/* indexer.h -- index maintenance: keeps indexes up to date with document
 * writes, and builds and drops them in background slices.
 *
 * Each container with indexes has a set in memory (index_set.h), which lists
 * what writes maintain.  An operation that changes the rows of the catalog
 * reads the set anew from them, and installs it when the change is durable.
 * Writes that ran before are in the store before the first slice reads, so none
 * is missed; and a slice that removes rows runs when no write adds any.
 *
 * Thread: the committer's, or before there is one, except `used`, `patience`
 * and the members that `lock` guards.
 */
#ifndef RN_ENGINE_INDEX_INDEXER_H
#define RN_ENGINE_INDEX_INDEXER_H

#include "engine/catalog/catalog.h"
#include "engine/index/index.h"
#include "engine/index/index_fill.h"
#include "store/tree.h"
#include "json/json.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    RN_INDEX_USES = 1024,
    RN_INDEX_MISSES = 64,
    RN_INDEX_TEXTS = 256,
};

/* The cost of scans that an index would have saved. */
struct rn_index_miss {
    uint64_t hash; /* of the container and the paths; 0: unused */
    uint64_t documents;
};

struct rn_indexer {
    struct rn_tree by_number; /* pointers to sets */
    struct rn_index_set *sets;
    struct rn_json json; /* the current document, parsed */
    /* Keys of its index rows, which are too large for a stack that is zeroed.
     */
    struct rn_key was[RN_INDEXES_MAX];

    struct rn_index_filling filling;
    uint32_t fill_batch; /* maximum documents added together */
    /* The range that is being read for an index, and its LSN when that began:
     * later writes maintain the index themselves. */
    uint32_t fill_container, fill_range;
    uint8_t fill_number;
    uint64_t fill_lsn;          /* 0: not known */
    uint64_t writes_seen;       /* the count of writes at the last slice */
    int64_t sliced_ns;          /* the last slice that added documents */
    int64_t cost_ns[2];         /* of adding a document; of reading one */
    int64_t then;               /* when the current set is due again */
    struct rn_index_set *fresh; /* the set that the slice changed */
    uint32_t working;           /* the slice's container */
    bool is_gone;               /* the container was deleted */
    bool has_learnt;            /* a policy changed since the slice ran */

    /* Indexes used since the last check: container << 8 | number, by hash. */
    atomic_ullong used[RN_INDEX_USES];

    /* Hashes of query texts, with the patience in the last two bits. */
    atomic_ullong patience[RN_INDEX_TEXTS];

    pthread_mutex_t lock; /* guards `misses` */
    struct rn_index_miss misses[RN_INDEX_MISSES];
};

/* Due with the first set. */
extern const struct rn_background_ops rn_index_background;

/* A slice of work on one container. */
struct rn_index_work {
    struct rn_engine *engine;
    struct rn_txn *txn;
    struct rn_index_set *set; /* as in the catalog's rows */
    uint32_t number;          /* the container's */
};

/* Writes the new state of an index; memory follows when it is durable. */
enum rn_code rn_index_move_on(struct rn_index_work *w, struct rn_index *x,
                              enum rn_index_state state) RN_CHECK;

#endif
