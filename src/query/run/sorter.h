/* sorter.h -- the sorter of ORDER BY: bounded top-k over rows with their keys;
 * internal to the module. */
#ifndef RN_QUERY_RUN_SORTER_H
#define RN_QUERY_RUN_SORTER_H

#include "query/run/distinct.h"
#include "query/run/run.h"
#include "query/run/valuekey.h"

struct rn_sorted {
    struct rn_value *keys;
    struct rn_value row;
    struct rn_view value_key; /* empty unless ties are ordered by it */
    uint64_t rid;             /* of its document, if ties are ordered by rid */
    uint32_t place;           /* row number within its document */
    uint32_t size;            /* bytes it takes in the arena */
    uint32_t value; /* number of its value, for DISTINCT after sorting */
};

/* A truncated continuation: the first `whole` keys are complete.  Of the next
 * key it has only the kind and, for a string, a prefix. */
struct rn_sorter_cut {
    uint32_t whole;
    char hash[RN_VALUES_HASH_LEN]; /* of all keys */
};

struct rn_sorter {
    struct rn_run *run;
    const struct rn_select *select;
    enum rn_hold hold;
    uint64_t most;             /* rows needed at most (TOP, LIMIT) */
    size_t ahead_bytes;        /* budget for buffered rows; 0: no limit */
    bool is_outermost;         /* of the query itself, not of a subquery */
    bool is_by_value;          /* ties are ordered by value key */
    struct rn_sorted *after;   /* the last row sent; NULL: start at the first */
    struct rn_sorter_cut *cut; /* of `after`, if it is truncated; else NULL */
    bool was_cut;
    struct rn_arena *arena, own[2];
    struct rn_sorted *rows;
    uint32_t count;
    struct rn_buf memory; /* of rows */
    enum rn_distinct distinct;
    struct rn_buf marks; /* enum mark of each value, by its number */
    uint32_t kept;       /* rows kept when rows were last dropped */
    enum rn_code rc;
};

/* Adds the row with the keys of the current frame.  `value` is the number that
 * DISTINCT gave its value, if DISTINCT is applied after sorting.  `key` is its
 * value key, unless ties are ordered by document. */
enum rn_code rn_sorter_add(struct rn_sorter *s, const struct rn_value *row,
                           uint32_t value,
                           const struct rn_valuekey *key) RN_CHECK;
/* Emits the buffered rows in order; every later row must sort after them. */
enum rn_code rn_sorter_flush(struct rn_sorter *s, rn_row_fn *row, void *context,
                             bool *stop) RN_CHECK;
void rn_sorter_release(struct rn_sorter *s);

#endif
