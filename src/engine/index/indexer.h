/* indexer.h -- the engine's own side of indexes: who keeps them, and the work
 * behind them, in slices.
 *
 * What writers keep is in memory, a set for each container that has indexes.
 * It is read anew from the rows by whoever changes them, and put in place when
 * that is durable.  Writes that ran before are in the store before the first
 * slice looks, so none is missed; and a slice that takes rows away runs when
 * nobody adds any.
 *
 * Thread: the committer's, or before there is one, but for `used`,
 * `patience` and what `lock` guards.
 */
#ifndef RN_ENGINE_INDEX_INDEXER_H
#define RN_ENGINE_INDEX_INDEXER_H

#include "engine/catalog/catalog.h"
#include "engine/index/index.h"
#include "engine/row.h"
#include "store/tree.h"
#include "json/json.h"

#include <pthread.h>
#include <stdatomic.h>

#define RN_INDEX_NEVER INT64_MAX /* when something is due */

enum {
    RN_INDEX_USES = 1024,
    RN_INDEX_MISSES = 64,
    RN_INDEX_TEXTS = 256,
    RN_INDEX_CHANGED = 1 << 16,
    RN_FEED_PLACE = 16, /* bytes of a feed key behind its tag */
};

struct rn_index_set {
    uint32_t number; /* the container's */
    struct rn_arena arena;
    struct rn_indexes indexes;
    struct rn_json_wanted wanted; /* members that they look at; */
    bool wants_all;               /* or any */
    int64_t due;                  /* when there is work to do on it */
    bool is_checked;              /* against the policy */
    struct rn_index_set *next;
};

/* What scans have cost that an index would have saved. */
struct rn_index_miss {
    uint64_t hash; /* of the container and the paths; 0: free */
    uint64_t documents;
};

/* Documents on their way into an index that is built: read, then sorted, then
 * added.  What a slice did counts when it is durable. */
struct rn_index_filling {
    uint32_t container; /* 0: none */
    uint8_t number;
    struct rn_buf entries, offsets, sorted; /* the latter into the first */
    bool is_full;                           /* to be added now */
    bool is_end;                            /* there are no more */
    size_t added;
    char at[RN_FEED_PLACE];                     /* the last that was read */
    size_t at_len;                              /* 0: none yet */
    size_t entries_len, offsets_len, was_added; /* durably */
    size_t was_at_len;
    char was_at[RN_FEED_PLACE];
    bool was_full;
    /* Bits, by hash of rid, of documents that may have changed since. */
    uint64_t changed[RN_INDEX_CHANGED / 64];
    uint64_t resets, seen; /* by the slice */
};

struct rn_indexer {
    struct rn_tree by_number; /* pointers to sets */
    struct rn_index_set *sets;
    struct rn_json json; /* of the document at hand */
    /* Keys of its rows, which are too many for a stack that is zeroed. */
    struct rn_key was[RN_INDEXES_MAX];

    struct rn_index_filling filling;
    uint32_t fill_batch; /* documents that are added together, at most */
    /* The range that is read for an index, up to the LSN it had then: what is
     * written later is kept by its writers. */
    uint32_t fill_container, fill_range;
    uint8_t fill_number;
    uint64_t fill_lsn;          /* 0: not known */
    uint64_t turns, turns_seen; /* writes; as many at the last slice */
    uint64_t turns_asked;       /* and when it was last asked what is due */
    int64_t wrote_ns;           /* the last write, about */
    int64_t sliced_ns;          /* the last slice that filled */
    int64_t cost_ns[2];         /* of adding a document to one; of reading */
    int64_t due;                /* of the first set */
    int64_t then;               /* when to look again at the one at hand */
    struct rn_operation slice;
    struct rn_index_set *fresh; /* its set, if the slice changed it */
    uint32_t working;           /* the container that the slice is about */
    bool is_gone;               /* which is no more */
    bool is_queued;
    bool has_learnt;      /* of a policy that the slice has not seen */
    atomic_bool is_ready; /* the engine is open */

    /* Indexes used since somebody looked: container << 8 | number, by hash. */
    atomic_ullong used[RN_INDEX_USES];

    /* Hashes of texts of queries, with the patience in the last two bits. */
    atomic_ullong patience[RN_INDEX_TEXTS];

    pthread_mutex_t lock; /* of `misses` */
    struct rn_index_miss misses[RN_INDEX_MISSES];
};

void rn_indexer_init(struct rn_engine *e);
void rn_indexer_release(struct rn_engine *e);
enum rn_code rn_indexer_load(struct rn_engine *e, struct rn_err *err) RN_CHECK;
struct rn_operation *rn_indexer_take_due(struct rn_engine *e, int64_t *wait_ns);
/* While clients write, a slice goes with their groups and never alone: they
 * would wait for its sync.  How long there is nothing to do, else 0. */
int64_t rn_indexer_pause_ns(struct rn_engine *e);

/* A container is not what it was; or it is no more. */
void rn_indexer_learn(struct rn_engine *e, const struct rn_object *o);
void rn_indexer_forget(struct rn_engine *e, uint32_t number);

/* NULL if the container has no indexes. */
struct rn_index_set *rn_indexer_find(struct rn_engine *e, uint32_t number);

/* As the rows say. */
enum rn_code rn_index_set_read(struct rn_txn *txn, uint32_t number,
                               struct rn_index_set **out) RN_CHECK;
void rn_index_set_free(struct rn_index_set *s);
/* Parses a document of ours, as far as the set looks at it. */
enum rn_code rn_index_set_parse(const struct rn_index_set *s, struct rn_json *j,
                                struct rn_view json) RN_CHECK;
/* Takes a set over, in the place of what there was. */
enum rn_code rn_indexer_place(struct rn_engine *e,
                              struct rn_index_set *s) RN_CHECK;

/* ---- for apply.c ----------------------------------------------------------
 */

/* A version takes the place of another, or of none. */
struct rn_index_rows {
    const struct rn_index_set *set; /* NULL: nothing to do */
    bool had_rows;                  /* the indexer's `was` has them */
};

/* Before `old`, unless NULL, is removed; between this and the end no other is;
 */
enum rn_code rn_index_rows_begin(struct rn_index_rows *r, struct rn_engine *e,
                                 struct rn_txn *txn,
                                 const struct rn_container *c,
                                 const struct rn_row_document *old) RN_CHECK;
/* and when the new one is there: its JSON, or nothing after a delete, and its
 * 'd' key. */
enum rn_code rn_index_rows_end(struct rn_index_rows *r, struct rn_engine *e,
                               struct rn_txn *txn, struct rn_view json,
                               uint64_t rid, const struct rn_key *at) RN_CHECK;

/* ---- for index_fill.c ---------------------------------------------------- */

/* A slice of work on one container. */
struct rn_index_work {
    struct rn_engine *engine;
    struct rn_txn *txn;
    struct rn_index_set *set; /* as the rows say */
    uint32_t number;          /* the container's */
};

/* Writes the new state of an index; what is in memory follows. */
enum rn_code rn_index_move_on(struct rn_index_work *w, struct rn_index *x,
                              enum rn_index_state state) RN_CHECK;

/* Goes on building an index. */
enum rn_code rn_index_fill(struct rn_index_work *w,
                           struct rn_index *x) RN_CHECK;
/* What the slice has done is durable; or it was undone. */
void rn_index_filling_done(struct rn_index_filling *f);
void rn_index_filling_cut(struct rn_index_filling *f);
void rn_index_filling_reset(struct rn_index_filling *f);
/* A document changes, or goes. */
void rn_index_filling_note(struct rn_index_filling *f, uint32_t container,
                           uint64_t rid);
void rn_index_filling_release(struct rn_index_filling *f);

/* ---- use ------------------------------------------------------------------
 */

/* Indexes that nobody has used for long are dropped; `then` is when to look
 * again, if that is sooner than it was. */
enum rn_code rn_index_look_at_uses(struct rn_index_work *w,
                                   int64_t *then) RN_CHECK;
/* Who has been used since is noted anew. */
void rn_index_clear_uses(struct rn_engine *e, const struct rn_index_set *was,
                         const struct rn_index_set *is);

/* ---- rows ---------------------------------------------------------------- */

void rn_index_row_key(uint32_t container, uint8_t number, struct rn_key *out);
enum rn_code rn_index_put(struct rn_txn *txn, uint32_t container,
                          const struct rn_index *x) RN_CHECK;
/* The rows of a container's indexes, when it is deleted. */
enum rn_code rn_indexes_remove(struct rn_txn *txn, uint32_t container) RN_CHECK;
/* The key under which a document is in an index. */
enum rn_code rn_index_key_of(uint32_t container, const struct rn_index *x,
                             const struct rn_json *j, uint64_t rid,
                             struct rn_key *out) RN_CHECK;

#endif
