/* indexer.h -- index maintenance: keeps indexes up to date with document
 * writes, and builds and drops them in background slices.
 *
 * Each container with indexes has a set in memory, which lists what writes
 * maintain.  An operation that changes the rows of the catalog reads the set
 * anew from them, and installs it when the change is durable.  Writes that ran
 * before are in the store before the first slice reads, so none is missed; and
 * a slice that removes rows runs when no write adds any.
 *
 * Thread: the committer's, or before there is one, except `used`, `patience`
 * and the members that `lock` guards.
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

enum {
    RN_INDEX_USES = 1024,
    RN_INDEX_MISSES = 64,
    RN_INDEX_TEXTS = 256,
    RN_INDEX_CHANGED = 1 << 16,
    RN_FEED_PLACE = 16, /* bytes of a feed key after its tag */
};

struct rn_index_set {
    uint32_t number; /* the container's */
    struct rn_arena arena;
    struct rn_indexes indexes;
    struct rn_json_wanted wanted; /* members that the indexes read; */
    bool wants_all;               /* or all members */
    int64_t due;                  /* when it has work */
    bool is_checked;              /* against the policy */
    struct rn_index_set *next;
};

/* The cost of scans that an index would have saved. */
struct rn_index_miss {
    uint64_t hash; /* of the container and the paths; 0: unused */
    uint64_t documents;
};

/* The documents of an index build in progress: they are read, then sorted, then
 * added.  The progress of a slice counts when it is durable. */
struct rn_index_filling {
    uint32_t container; /* 0: none */
    uint8_t number;
    struct rn_buf entries, offsets, sorted; /* both into `entries` */
    bool is_full;                           /* ready to be added */
    bool is_end;                            /* all documents have been read */
    size_t added;
    char at[RN_FEED_PLACE];                     /* the last position read */
    size_t at_len;                              /* 0: none yet */
    size_t entries_len, offsets_len, was_added; /* durable values */
    size_t was_at_len;
    char was_at[RN_FEED_PLACE];
    bool was_full;
    /* Bits, by hash of rid, of documents that may have changed since they were
     * read. */
    uint64_t changed[RN_INDEX_CHANGED / 64];
    uint64_t resets, seen; /* as the slice saw it */
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

void rn_indexer_init(struct rn_engine *e);
void rn_indexer_release(struct rn_engine *e);
enum rn_code rn_indexer_load(struct rn_engine *e, struct rn_err *err) RN_CHECK;
/* Due with the first set. */
extern const struct rn_background_ops rn_index_background;

/* A container's definition was changed; a container was deleted. */
void rn_indexer_learn(struct rn_engine *e, const struct rn_object *o);
void rn_indexer_forget(struct rn_engine *e, uint32_t number);

/* NULL if the container has no indexes. */
struct rn_index_set *rn_indexer_find(struct rn_engine *e, uint32_t number);

/* Reads a set from the catalog's rows. */
enum rn_code rn_index_set_read(struct rn_txn *txn, uint32_t number,
                               struct rn_index_set **out) RN_CHECK;
void rn_index_set_free(struct rn_index_set *s);
/* Parses the members of a stored document that the set needs. */
enum rn_code rn_index_set_parse(const struct rn_index_set *s, struct rn_json *j,
                                struct rn_view json) RN_CHECK;
/* Installs a set in place of the container's old one, and takes ownership. */
enum rn_code rn_indexer_place(struct rn_engine *e,
                              struct rn_index_set *s) RN_CHECK;

/* ---- for apply.c ----------------------------------------------------------
 */

/* Maintains the index rows while a version replaces another, or none. */
struct rn_index_rows {
    const struct rn_index_set *set; /* NULL: nothing to do */
    bool had_rows;                  /* the indexer's `was` has them */
};

/* Called before `old`, unless NULL, is removed.  No other document may be
 * removed before rn_index_rows_end. */
enum rn_code rn_index_rows_begin(struct rn_index_rows *r, struct rn_engine *e,
                                 struct rn_txn *txn,
                                 const struct rn_container *c,
                                 const struct rn_row_document *old) RN_CHECK;
/* Called after the new version was put: its JSON, empty after a delete, and its
 * 'd' key. */
enum rn_code rn_index_rows_end(struct rn_index_rows *r, struct rn_engine *e,
                               struct rn_txn *txn, struct rn_view json,
                               uint64_t rid, const struct rn_key *at) RN_CHECK;

/* ---- for index_fill.c ---------------------------------------------------- */

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

/* Continues the build of an index. */
enum rn_code rn_index_fill(struct rn_index_work *w,
                           struct rn_index *x) RN_CHECK;
/* The slice is durable; or it was undone. */
void rn_index_filling_done(struct rn_index_filling *f);
void rn_index_filling_cut(struct rn_index_filling *f);
void rn_index_filling_reset(struct rn_index_filling *f);
/* A document is changed or deleted. */
void rn_index_filling_note(struct rn_index_filling *f, uint32_t container,
                           uint64_t rid);
void rn_index_filling_release(struct rn_index_filling *f);

/* ---- use ------------------------------------------------------------------
 */

/* Drops indexes that have not been used for long; `then` is lowered to the time
 * of the next check. */
enum rn_code rn_index_look_at_uses(struct rn_index_work *w,
                                   int64_t *then) RN_CHECK;
/* Clears the uses that are recorded now, so that later uses are noted
 * again. */
void rn_index_clear_uses(struct rn_engine *e, const struct rn_index_set *was,
                         const struct rn_index_set *is);

/* ---- rows ---------------------------------------------------------------- */

void rn_index_row_key(uint32_t container, uint8_t number, struct rn_key *out);
enum rn_code rn_index_put(struct rn_txn *txn, uint32_t container,
                          const struct rn_index *x) RN_CHECK;
/* Removes the catalog's rows of a container's indexes, when it is deleted. */
enum rn_code rn_indexes_remove(struct rn_txn *txn, uint32_t container) RN_CHECK;
/* The key of a document's row in an index. */
enum rn_code rn_index_key_of(uint32_t container, const struct rn_index *x,
                             const struct rn_json *j, uint64_t rid,
                             struct rn_key *out) RN_CHECK;

#endif
