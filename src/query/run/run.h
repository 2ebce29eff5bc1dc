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
#include "query/where/needed_paths.h"

struct rn_run {
    const struct rn_query *query;
    const struct rn_source *source;
    struct rn_value *frame; /* indexed by slot */
    struct rn_arena *arena;
    struct rn_arena keep;
    struct rn_arena scratch;
    struct rn_json json; /* of the document */
    struct rn_needed_paths wanted;
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

/* Consumes a row; sets `*stop` when it accepts no more. */
typedef enum rn_code rn_row_fn(void *context, const struct rn_value *row,
                               bool *stop);

/* How buffered rows are stored. */
enum rn_hold {
    RN_HOLD_NOTHING, /* within one document: its arena still holds them */
    RN_HOLD_COPY,    /* expressions will read them */
    RN_HOLD_TEXT,    /* they will only be printed */
};

/* Counts `n` steps; RN_TIMEOUT beyond the limit. */
enum rn_code rn_run_step(struct rn_run *r, uint64_t n) RN_CHECK;
/* Checks the clock, after work that steps do not measure. */
void rn_run_look(struct rn_run *r);

#endif
