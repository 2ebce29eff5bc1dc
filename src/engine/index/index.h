/* index.h -- secondary indexes: documents in the order of values they hold.
 *
 * An index is over one path, or over several in given directions.  It has a row
 * for every document, also for documents without such a value:
 *
 *   c | 'x' | number 1 | a sort key for each path | rid 8  ->  epk | idkey
 *
 * so that its rows are in the order of ORDER BY, ties in the order of rids.
 * Where a key is cut (query/run/sortkey.h) rows with the same bytes are in no
 * order.
 *
 * Its state is in a row of the catalog, 0 | 'j' | container 4 | number 1:
 *
 *   building   from the commit of this on every document write maintains it
 *              (apply.h), and older documents are added in slices
 *   complete   it has all documents: it may be used
 *   dropping   writes no longer maintain it; its rows are removed in slices,
 *              then the index itself
 *
 * A reader takes the states from its own snapshot, so that no index is used
 * that is incomplete there.
 *
 * An index is created when the scans it would have saved have cost more than
 * building it.  It is dropped when it has not been used for RN_INDEX_IDLE_S or
 * when the container's indexing policy no longer has its paths.
 *
 * Threads: reading, any; the set that writes maintain, the committer's.
 */
#ifndef RN_ENGINE_INDEX_INDEX_H
#define RN_ENGINE_INDEX_INDEX_H

#include "engine/catalog/catalog.h"
#include "engine/key.h"
#include "json/path.h"

struct rn_index_set;
struct rn_json;
struct rn_row_document;

enum {
    RN_INDEXES_MAX = 32, /* of a container */
    RN_INDEX_KEYS_MAX = 8,
    RN_INDEX_ROW_MAX = 4096,
    RN_INDEX_IDLE_S = 7 * 86400,
};

enum rn_index_state {
    RN_INDEX_BUILDING,
    RN_INDEX_COMPLETE,
    RN_INDEX_DROPPING,
};

struct rn_index_key {
    struct rn_json_path path;
    bool is_descending; /* never for the first key */
};

struct rn_index {
    uint8_t number; /* in keys; free for reuse when all its rows are removed */
    enum rn_index_state state;
    struct rn_rid container;
    int64_t used;          /* last use, to a day, in seconds */
    uint64_t documents;    /* added by slices so far */
    struct rn_view behind; /* feed position: range 4 | lsn 8 | n 4 */
    uint32_t count;
    struct rn_index_key keys[RN_INDEX_KEYS_MAX];
};

/* "building", ... */
const char *rn_index_state_name(enum rn_index_state state);
/* The maximum length of a string in its sort keys. */
size_t rn_index_text_max(uint32_t keys);
bool rn_index_is(const struct rn_index *x, const struct rn_index_key *keys,
                 uint32_t count);

/* ---- reading ------------------------------------------------------------- */

/* All indexes of a container, in the arena. */
struct rn_indexes {
    struct rn_index *list;
    uint32_t count;
};
enum rn_code rn_indexes_read(struct rn_txn *txn, uint32_t container,
                             struct rn_arena *a,
                             struct rn_indexes *out) RN_CHECK;

/* Iterates over the rows of an index with from <= key < before. */
struct rn_index_walk {
    struct rn_cursor *cursor;
    const struct rn_index *index;
    struct rn_view key;   /* of the row: the sort keys */
    struct rn_view place; /* of its document: see rn_document_at */
    uint64_t rid;
    /* Incremented when this row certainly sorts after all rows before it; rows
     * of one group are in no order. */
    uint64_t group;
    char tie[RN_KEY_MAX]; /* the common prefix of the group's rows */
    size_t tie_len;
};
struct rn_index_span {
    struct rn_view from, before; /* empty: unbounded */
    bool is_backward;
};
enum rn_code rn_index_walk_open(struct rn_index_walk *w, struct rn_txn *txn,
                                uint32_t container,
                                const struct rn_index *index,
                                const struct rn_index_span *span) RN_CHECK;
enum rn_code rn_index_walk_next(struct rn_index_walk *w) RN_CHECK;
void rn_index_walk_close(struct rn_index_walk *w); /* zeroed is fine */

/* ---- rows ---------------------------------------------------------------- */

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
