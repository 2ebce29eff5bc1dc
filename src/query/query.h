/* query.h -- the query engine: parser and executor for the SQL dialect of
 * Cosmos DB over JSON documents.
 *
 *   rn_query_parse   text and parameters -> a checked query
 *   rn_query_run     documents in, rows out
 *
 *   where/where_equalities.h, where/where_intervals.h, where/filters.h
 *                    what WHERE demands, for the choice of an access path
 *   run/seek.h       where in an index a page starts
 *   run/resume.h     the same as clients say it
 *   client_plan/client_plan.h
 *                    the plan that SDKs request before a fan-out query
 *
 * A source yields documents one by one, as JSON texts.  Rows leave as JSON
 * texts into a sink.  Everything has a limit: the text, the nesting, the
 * memory, and the number of steps in a run.
 *
 * Paging.  A sink may stop a run after any row.  The continuation
 * (rn_query_place) of that row goes into the next run.  A streaming query (no
 * ORDER BY, DISTINCT, GROUP BY, aggregate) resumes with the source at the
 * document of the last row.  A query with ORDER BY reads all documents again
 * and continues after the keys and the rid of the last row; it never buffers
 * more rows than fit in limits.ahead_bytes.  GROUP BY and DISTINCT emit rows in
 * the order of their values, and such a query continues after the value of the
 * last row.  So a row that exists throughout is returned exactly once, even if
 * other documents were inserted, deleted or moved to another range between
 * pages.
 *
 * Threads: a parsed query is immutable; a run belongs to one thread.
 */
#ifndef RN_QUERY_QUERY_H
#define RN_QUERY_QUERY_H

#include "query/check/fault.h"
#include "query/check/policy.h"
#include "query/run/sortkey.h"
#include "query/run/value.h"
#include "json/json.h"
#include "json/path.h"

struct rn_query;

struct rn_query_input {
    struct rn_view text;
    /* The array [{"name":"@x","value":...}] on this tape; NULL: no
     * parameters. */
    const struct rn_json *json;
    uint32_t parameters;
    /* The container's policy; borrowed by the query.  NULL: no computed
     * properties, and every ORDER BY is allowed. */
    const struct rn_policy *policy;
};

/* The query lives in the arena and borrows text and tape.  RN_BAD_REQUEST with
 * the faults listed, and the first one in `err`; RN_TOO_LARGE. */
enum rn_code rn_query_parse(const struct rn_query_input *in, struct rn_arena *a,
                            struct rn_query **out, struct rn_faults *faults,
                            struct rn_err *err) RN_CHECK;

/* ---- running ------------------------------------------------------------- */

/* Yields the next document, valid until the next call; RN_NOT_FOUND after the
 * last. */
struct rn_source {
    void *context;
    enum rn_code (*next)(void *context, struct rn_view *document,
                         struct rn_err *err);
};

enum { RN_QUERY_AFTER_MAX = 600 };

/* A continuation: where a run ended.  All zero: at the start. */
struct rn_query_place {
    uint64_t rows;          /* sent so far, over all pages */
    uint64_t passed;        /* rows that reached OFFSET and LIMIT so far */
    uint32_t document_rows; /* rows already emitted of the last document or
                               buffered row */
    /* Of a query that does not stream, the position of the last row: its keys
     * with its rid and its row number within the document, or its value; at
     * most RN_QUERY_AFTER_MAX bytes. */
    struct rn_view after;
};

/* Takes a row, valid during the call, and the continuation after it.  Sets
 * `*is_full` if it accepts no more rows.  The run then looks a bounded number
 * of documents ahead for another row, and ends. */
struct rn_sink {
    void *context;
    enum rn_code (*row)(void *context, struct rn_view json,
                        const struct rn_query_place *place, bool *is_full,
                        struct rn_err *err);
};

struct rn_query_limits {
    uint64_t steps;      /* 0: 100,000,000 */
    size_t memory_bytes; /* 0: 64 MiB */
    size_t ahead_bytes;  /* of sorted rows; 0: a quarter of the memory */
    int64_t now_us;      /* since 1970; the result of GetCurrentDateTime */
    uint64_t seed;       /* seed of RAND */
    struct rn_query_place from;
    /* Used in addition to `from`; the later position wins.  Rows that `from`
     * counts are after it.  NULL: none. */
    const struct rn_query_resume *resume;
    /* For a source that yields documents in the order of ORDER BY: a number
     * that grows when the last document sorts after all earlier ones.  Sorted
     * rows are then emitted group by group.  NULL: the documents come in any
     * order. */
    const uint64_t *group;
    /* Polled regularly; once it is true, a streaming run ends at the next
     * document.  NULL: no time limit for a page. */
    bool (*is_late)(void *context);
    /* Polled as often; once it is true, the run fails.  NULL: only the step
     * limit applies. */
    bool (*is_over)(void *context);
    void *clock;
};

struct rn_query_stats {
    uint64_t documents, document_bytes; /* read, not merely counted */
    uint64_t matched;                   /* rows that passed WHERE */
    uint64_t rows, row_bytes;           /* sent in this run */
    uint64_t steps;
    bool is_done;     /* false: it stopped early; resume from `place` */
    bool is_infinite; /* it failed: a row holds NaN or an infinity */
    struct rn_query_place place; /* without `after`, which the sink has */
};

/* RN_TIMEOUT: too many steps, or too much time.  RN_TOO_LARGE: too much memory.
 * RN_BAD_REQUEST: a scalar subquery has several rows, a row holds NaN or an
 * infinity, limits->from is not a continuation, or the query is ORDER BY RANK.
 * Otherwise the failure of the source or the sink. */
enum rn_code
rn_query_run(const struct rn_query *q, const struct rn_source *source,
             const struct rn_sink *sink, const struct rn_query_limits *limits,
             struct rn_query_stats *stats, struct rn_err *err) RN_CHECK;

/* True if rows leave in the order of the documents, so that a page can resume
 * at a document. */
bool rn_query_is_streaming(const struct rn_query *q);
/* True if rows leave in the order of their ORDER BY keys, so that a page can
 * resume after a key. */
bool rn_query_is_ordered(const struct rn_query *q);
/* For an ordered query: true if the first key is descending; rows with equal
 * keys are then in descending order too. */
bool rn_query_is_descending(const struct rn_query *q);
/* True if rows are sorted by vector distance.  SDKs have merge rules of
 * their own for such queries, and apply them if they are required to fetch
 * the plan. */
bool rn_query_is_by_vector(const struct rn_query *q);
/* True if the result does not depend on the order of the documents, except for
 * rounding: one row of aggregates, or sorted rows. */
bool rn_query_is_orderless(const struct rn_query *q);
/* Whether the result depends only on the number of documents.  A source may
 * then yield documents without their text. */
enum rn_code rn_query_only_counts(const struct rn_query *q, struct rn_arena *a,
                                  bool *out) RN_CHECK;
/* True for ORDER BY RANK; clients execute it, by the plan. */
bool rn_query_is_ranked(const struct rn_query *q);
/* True if the results of the ranges must be merged; false if they can be
 * concatenated. */
bool rn_query_is_merged(const struct rn_query *q);
/* For a merged query: true if several documents may make one row. */
bool rn_query_is_condensed(const struct rn_query *q);
/* The text as it was sent, without its parameters. */
struct rn_view rn_query_text(const struct rn_query *q);
/* False if the result depends on no document. */
bool rn_query_reads_documents(const struct rn_query *q);

/* ---- analysis for the access path ---------------------------------------- */

/* The keys of ORDER BY: how many, and each as a path of the document.  The path
 * is empty if the key is another expression. */
uint32_t rn_query_order_count(const struct rn_query *q);
enum rn_code rn_query_order_key(const struct rn_query *q, uint32_t i,
                                struct rn_arena *a, struct rn_json_path *path,
                                bool *is_descending) RN_CHECK;

/* The path whose minimum or maximum (or both), over all documents that pass
 * WHERE, is the whole result; otherwise empty. */
struct rn_query_extreme {
    struct rn_json_path path;
    bool has_min, has_max;
};
enum rn_code rn_query_extreme(const struct rn_query *q, struct rn_arena *a,
                              struct rn_query_extreme *out) RN_CHECK;

#endif
