/* run.h -- the executor: one run of a query; internal to the module.
 *
 * A push-based pipeline.  Each source calls the next one for each of its rows;
 * the last source calls the grouping and sorting stages, and these call the
 * consumer of the row.  Rows are buffered only where necessary: without ORDER
 * BY, GROUP BY or DISTINCT, a row passes through at once.
 *
 * There are two arenas.  `arena` is cleared before each document; `keep` lives
 * as long as the run.  A value that outlives its document is copied.
 */
#ifndef RN_QUERY_RUN_RUN_H
#define RN_QUERY_RUN_RUN_H

#include "base/prng.h"
#include "query/parse/ast.h"
#include "query/query.h"

/* The members of a document that a query reads.  If it may read all members,
 * WHERE may still read only a few; documents that fail WHERE are then never
 * parsed in full. */
struct rn_wanted {
    struct rn_json_wanted members; /* unless all are wanted */
    bool is_all;
    struct rn_json_wanted filter; /* of WHERE, if it can be evaluated first */
    bool has_filter;
};

enum rn_code rn_wanted_find(struct rn_wanted *w, const struct rn_select *in,
                            struct rn_arena *a) RN_CHECK;

struct rn_run {
    const struct rn_query *query;
    const struct rn_source *source;
    struct rn_value *frame; /* indexed by slot */
    struct rn_arena *arena;
    struct rn_arena keep;
    struct rn_arena scratch;
    struct rn_json json; /* of the document */
    struct rn_wanted wanted;
    bool is_filtered; /* the document has passed WHERE */
    struct rn_query_limits limits;
    struct rn_query_stats *stats;
    struct rn_prng prng;
    struct rn_buf encoded; /* encoding of the value being looked up */
    uint32_t document_rows;
    uint32_t skip_rows; /* of the first document: already sent */
    const struct rn_sink *sink;
    struct rn_buf row; /* being printed */
    /* The SELECT that blocks the pipeline: it must see all its input before it
     * emits a row.  A continuation names one of its rows.  NULL: a continuation
     * names a document. */
    const struct rn_select *gatherer;
    uint64_t passed;     /* rows of the query itself at OFFSET and LIMIT */
    struct rn_buf after; /* continuation of the buffered row being sent */
    struct rn_regexes *regexes; /* fn_regex.c; NULL: none yet */
    bool is_full;               /* the sink accepts no more rows */
    bool is_cut;                /* stopped, and more rows may follow */
    bool has_row;               /* stopped at a row that was not sent */
    bool is_late;               /* the page should end */
    bool is_over;               /* the run must end */
    bool is_dropped;            /* sorted rows were dropped to save memory */
    uint32_t ahead;             /* documents read since the sink was full */
    struct rn_err *err;
};

/* Counts `n` steps; RN_TIMEOUT beyond the limit. */
enum rn_code rn_run_step(struct rn_run *r, uint64_t n) RN_CHECK;
/* Checks the clock, after work that steps do not measure. */
void rn_run_look(struct rn_run *r);

/* Evaluates an expression on the current frame. */
enum rn_code rn_eval(struct rn_run *r, const struct rn_expr *e,
                     struct rn_value *out) RN_CHECK;
enum rn_code rn_eval_subquery(struct rn_run *r, const struct rn_expr *e,
                              struct rn_value *out) RN_CHECK;
/* Frees the compiled patterns; NULL is allowed. */
void rn_regexes_free(struct rn_regexes *all);
/* LIKE; `escape` is empty or one character. */
enum rn_code rn_like(struct rn_run *r, struct rn_view text,
                     struct rn_view pattern, struct rn_view escape,
                     bool *out) RN_CHECK;
/* True, with the literal text, if the pattern has no wildcard. */
bool rn_like_is_plain(struct rn_view pattern, struct rn_view escape,
                      struct rn_arena *a, struct rn_view *out);

/* Consumes a row; sets `*stop` when it accepts no more. */
typedef enum rn_code rn_row_fn(void *context, const struct rn_value *row,
                               bool *stop);

/* How buffered rows are stored. */
enum rn_hold {
    RN_HOLD_NOTHING, /* within one document: its arena still holds them */
    RN_HOLD_COPY,    /* expressions will read them */
    RN_HOLD_TEXT,    /* they will only be printed */
};

/* Runs a SELECT and hands its rows to `row`. */
enum rn_code rn_select_run(struct rn_run *r, const struct rn_select *s,
                           enum rn_hold hold, rn_row_fn *row,
                           void *context) RN_CHECK;
/* The row that SELECT projects from the frame; may be undefined. */
enum rn_code rn_select_project(struct rn_run *r, const struct rn_select *s,
                               struct rn_value *out) RN_CHECK;

/* ---- a hash set ---------------------------------------------------------- */

struct rn_hash_set {
    struct rn_arena *arena;
    struct rn_hash_set_entry *slots;
    uint32_t count, room;
};

/* The index of the key in insertion order; `*is_new` if it was inserted. */
enum rn_code rn_hash_set_add(struct rn_hash_set *k, struct rn_view key,
                             uint32_t *place, bool *is_new) RN_CHECK;

/* ---- keys and hashes of values ------------------------------------------- */

enum { RN_VALUES_HASH_LEN = 16, RN_VALUEKEY_MAX = 256 + RN_VALUES_HASH_LEN };

struct rn_valuekey {
    size_t len;
    char bytes[RN_VALUEKEY_MAX];
};

/* The key of a row of values; see valuekey.c. */
enum rn_code rn_valuekey_make(const struct rn_value *values, uint32_t count,
                              struct rn_run *r,
                              struct rn_valuekey *out) RN_CHECK;
/* A hash of the values; equal values have equal hashes. */
enum rn_code rn_values_hash(const struct rn_value *values, uint32_t count,
                            struct rn_run *r,
                            char out[RN_VALUES_HASH_LEN]) RN_CHECK;

/* ---- aggregates ---------------------------------------------------------- */

struct rn_aggregate {
    const struct rn_function *function;
    uint64_t count; /* of defined inputs */
    double sum;
    bool is_spoilt; /* an input had an invalid type */
    struct rn_value best;
    size_t best_room; /* capacity of the memory of a best string */
    struct rn_value *list;
    uint32_t list_count, list_room;
    struct rn_hash_set set;
};

enum rn_code rn_aggregate_add(struct rn_run *r, struct rn_aggregate *a,
                              const struct rn_value *v, enum rn_hold hold,
                              struct rn_arena *arena) RN_CHECK;
struct rn_value rn_aggregate_end(const struct rn_aggregate *a);

/* ---- sorted and grouped rows --------------------------------------------- */

/* When DISTINCT is applied. */
enum rn_distinct {
    RN_DISTINCT_NOT,
    RN_DISTINCT_FIRST,  /* before sorting: equal rows have equal keys */
    RN_DISTINCT_SORTED, /* after sorting: the row does not determine its keys */
};

enum rn_distinct rn_distinct_of(const struct rn_select *s);

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

/* Continues after the row of a continuation; internal to the sorter. */
enum rn_code rn_sorter_resume(struct rn_sorter *s,
                              struct rn_view after) RN_CHECK;
/* Writes the continuation of a row to the run's `after`. */
enum rn_code rn_sorter_put_place(struct rn_sorter *s,
                                 const struct rn_sorted *row) RN_CHECK;
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

struct rn_groups {
    struct rn_run *run;
    const struct rn_select *select;
    enum rn_hold hold;
    struct rn_arena *arena;
    struct rn_hash_set keys;
    struct rn_group *list;
    uint32_t room;
};

enum rn_code rn_groups_add(struct rn_groups *g) RN_CHECK;
/* Emits one row per group; without GROUP BY there is always one. */
enum rn_code rn_groups_end(struct rn_groups *g, rn_row_fn *row,
                           void *context) RN_CHECK;

#endif
