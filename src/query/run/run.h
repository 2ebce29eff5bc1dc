/* run.h -- one execution of a query; the module's own.
 *
 * Rows are pushed: sources call the next source for each of their rows, the
 * last one calls what gathers rows, and that calls the row's taker.  Nothing
 * is kept that need not be: a row without ORDER BY, GROUP BY or DISTINCT goes
 * through at once.
 *
 * Two arenas.  `arena` is cleared before each document; `keep` lives as long as
 * the run.  What outlives its document is copied.
 */
#ifndef RN_QUERY_RUN_RUN_H
#define RN_QUERY_RUN_RUN_H

#include "base/prng.h"
#include "query/parse/ast.h"
#include "query/query.h"

/* The members of a document that a query looks at.  If it may look at all,
 * WHERE may still look at few, and most documents may go no further. */
struct rn_wanted {
    struct rn_json_wanted members; /* unless all are wanted */
    bool is_all;
    struct rn_json_wanted filter; /* of WHERE, if it can be asked first */
    bool has_filter;
};

enum rn_code rn_wanted_find(struct rn_wanted *w, const struct rn_select *in,
                            struct rn_arena *a) RN_CHECK;

struct rn_run {
    const struct rn_query *query;
    const struct rn_source *source;
    struct rn_value *frame; /* by slot */
    struct rn_arena *arena;
    struct rn_arena keep;
    struct rn_arena scratch;
    struct rn_json json; /* of the document */
    struct rn_wanted wanted;
    bool is_filtered; /* WHERE has let the document through */
    struct rn_query_limits limits;
    struct rn_query_stats *stats;
    struct rn_prng chance;
    struct rn_buf encoded; /* of the value being looked up */
    uint32_t document_rows;
    uint32_t skip_rows; /* of the first document, on resuming */
    const struct rn_sink *sink;
    struct rn_buf row; /* being printed */
    /* The SELECT that must see all its rows before the first one leaves; its
     * rows are those that a place names.  NULL: documents are. */
    const struct rn_select *gatherer;
    uint64_t passed;     /* rows of the query itself at OFFSET and LIMIT */
    struct rn_buf after; /* the place of the gathered row being sent */
    struct rn_regexes *regexes; /* fn_regex.c; NULL: none yet */
    bool is_full;               /* the sink wants no more: is there more? */
    bool is_cut;                /* stopped with more to come, or perhaps */
    bool has_row;               /* stopped by a row, which was not sent */
    bool is_late;               /* the page should end */
    bool is_over;               /* the run must */
    bool is_dropped;            /* sorted rows beyond those sent were dropped */
    uint32_t ahead; /* documents looked at since the sink was full */
    struct rn_err *err;
};

/* Counts `n` steps; RN_TIMEOUT when there were too many. */
enum rn_code rn_run_step(struct rn_run *r, uint64_t n) RN_CHECK;
/* Looks at the clock, after work whose length no step tells. */
void rn_run_look(struct rn_run *r);

/* The value of an expression on the current frame. */
enum rn_code rn_eval(struct rn_run *r, const struct rn_expr *e,
                     struct rn_value *out) RN_CHECK;
enum rn_code rn_eval_subquery(struct rn_run *r, const struct rn_expr *e,
                              struct rn_value *out) RN_CHECK;
/* Patterns compiled so far; NULL is fine. */
void rn_regexes_free(struct rn_regexes *all);
/* LIKE; `escape` is empty or one character. */
enum rn_code rn_like(struct rn_run *r, struct rn_view text,
                     struct rn_view pattern, struct rn_view escape,
                     bool *out) RN_CHECK;
/* True and the text it stands for if the pattern has no wildcard. */
bool rn_like_is_plain(struct rn_view pattern, struct rn_view escape,
                      struct rn_arena *a, struct rn_view *out);

/* True if it needs no document and is the same every time. */
bool rn_expr_is_constant(const struct rn_expr *e);
/* True if it reads just this path of the document, which `from` is of. */
bool rn_expr_is_path(const struct rn_from *from, const struct rn_expr *e,
                     const struct rn_json_path *path);

/* Takes a row; sets `*stop` when it wants no more. */
typedef enum rn_code rn_row_fn(void *context, const struct rn_value *row,
                               bool *stop);

/* How rows that wait for the end are held. */
enum rn_hold {
    RN_HOLD_NOTHING, /* inside one document: they are still there */
    RN_HOLD_COPY,    /* someone will read them */
    RN_HOLD_TEXT,    /* they will only be printed */
};

/* Runs a SELECT and hands its rows to `row`. */
enum rn_code rn_select_run(struct rn_run *r, const struct rn_select *s,
                           enum rn_hold hold, rn_row_fn *row,
                           void *context) RN_CHECK;
/* The row that SELECT makes of the frame; may be undefined. */
enum rn_code rn_select_project(struct rn_run *r, const struct rn_select *s,
                               struct rn_value *out) RN_CHECK;

/* ---- a set of values ----------------------------------------------------- */

struct rn_hash_set {
    struct rn_arena *arena;
    struct rn_hash_set_entry *slots;
    uint32_t count, room;
};

/* The place of the key among those added, in order; `*is_new` if it was not
 * there. */
enum rn_code rn_hash_set_add(struct rn_hash_set *k, struct rn_view key,
                             uint32_t *place, bool *is_new) RN_CHECK;

/* ---- a place among values ------------------------------------------------ */

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
    bool is_spoilt; /* an input was of a wrong type */
    struct rn_value best;
    size_t best_room; /* of the memory behind a best string */
    struct rn_value *list;
    uint32_t list_count, list_room;
    struct rn_hash_set set;
};

enum rn_code rn_aggregate_add(struct rn_run *r, struct rn_aggregate *a,
                              const struct rn_value *v, enum rn_hold hold,
                              struct rn_arena *arena) RN_CHECK;
struct rn_value rn_aggregate_end(const struct rn_aggregate *a);

/* ---- sorted and grouped rows --------------------------------------------- */

/* Where DISTINCT is done. */
enum rn_distinct {
    RN_DISTINCT_NOT,
    RN_DISTINCT_FIRST,  /* before the sort: equal rows have equal keys */
    RN_DISTINCT_SORTED, /* after it: the keys are not in the row */
};

enum rn_distinct rn_distinct_of(const struct rn_select *s);

struct rn_sorted {
    struct rn_value *keys;
    struct rn_value row;
    struct rn_view value_key; /* empty unless rows are in its order */
    uint64_t rid;             /* of its document, unless they are */
    uint32_t place;           /* in its document */
    uint32_t size;            /* of what it takes in the arena */
    uint32_t value; /* the same for rows that are equal, if that matters */
};

/* A place of which the first `whole` keys are there in full; of the next one
 * only the kind and, if it is a string, the beginning. */
struct rn_sorter_cut {
    uint32_t whole;
    char hash[RN_VALUES_HASH_LEN]; /* of all keys */
};

struct rn_sorter {
    struct rn_run *run;
    const struct rn_select *select;
    enum rn_hold hold;
    uint64_t most;             /* rows that can matter */
    size_t ahead_bytes;        /* of rows to keep; 0: all */
    bool is_outermost;         /* of the query itself, not of a subquery */
    bool is_by_value;          /* equal keys are in the order of value keys */
    struct rn_sorted *after;   /* of the last row sent; NULL: from the first */
    struct rn_sorter_cut *cut; /* of its keys; NULL: they are there in full */
    bool was_cut;
    struct rn_arena *arena, own[2];
    struct rn_sorted *rows;
    uint32_t count;
    struct rn_buf memory; /* of rows */
    enum rn_distinct distinct;
    struct rn_buf marks; /* one byte for each value */
    uint32_t kept;       /* when rows were dropped last */
    enum rn_code rc;
};

/* Goes on behind a place; its own. */
enum rn_code rn_sorter_resume(struct rn_sorter *s,
                              struct rn_view after) RN_CHECK;
/* The place of a row into the run's `after`. */
enum rn_code rn_sorter_put_place(struct rn_sorter *s,
                                 const struct rn_sorted *row) RN_CHECK;
/* Adds the row with the keys of the current frame; `value` is its number among
 * those DISTINCT has met, if that is done after sorting.  `key` is its value
 * key, unless rows with equal keys are in the order of their documents. */
enum rn_code rn_sorter_add(struct rn_sorter *s, const struct rn_value *row,
                           uint32_t value,
                           const struct rn_valuekey *key) RN_CHECK;
/* Hands on what is there, in order: no row to come belongs before one of them.
 */
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
/* Hands out one row per group; without GROUP BY there is always one. */
enum rn_code rn_groups_end(struct rn_groups *g, rn_row_fn *row,
                           void *context) RN_CHECK;

#endif
