/* query.h -- text to rows: the SQL dialect of Cosmos DB over JSON documents.
 *
 *   rn_query_parse   text and parameters -> a checked query
 *   rn_query_run     documents in, rows out
 *   rn_query_plan    what SDKs ask for before they send a query to each range
 *
 * Documents are known only as JSON texts that a source hands out one by one;
 * rows leave as JSON texts into a sink.  Everything has a limit: the text, the
 * nesting, the memory, and the steps a run may take.
 *
 * Paging.  A sink may stop a run after any row.  The place it stopped at goes
 * into the next run.  A streaming query (no ORDER BY, DISTINCT, GROUP BY,
 * aggregate) resumes with the source standing at the document of the last row.
 * One with ORDER BY reads all documents again and goes on behind the keys and
 * the rid of the last row; it never holds more rows than limits.ahead_bytes.
 * Rows of GROUP BY and of DISTINCT come in the order of their values, and such
 * a query goes on behind the value of the last row.  So whatever has come, gone
 * or moved to another range meanwhile, a row that stays comes exactly once.
 *
 * Threads: a parsed query is only read; each run is its own.
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
    /* [{"name":"@x","value":...}] on this tape; NULL: no parameters. */
    const struct rn_json *json;
    uint32_t parameters;
    /* Of the container; borrowed by the query.  NULL: nothing is computed, and
     * every order is served. */
    const struct rn_policy *policy;
};

/* The query lives in the arena and borrows text and tape.  RN_BAD_REQUEST with
 * the faults told, and the first one in `err`; RN_TOO_LARGE. */
enum rn_code rn_query_parse(const struct rn_query_input *in, struct rn_arena *a,
                            struct rn_query **out, struct rn_faults *faults,
                            struct rn_err *err) RN_CHECK;

/* Looks through the expressions that a definition gives names to.
 * RN_BAD_REQUEST says which is wrong, and why. */
enum rn_code rn_query_check_policy(const struct rn_policy *p,
                                   struct rn_arena *a,
                                   struct rn_err *err) RN_CHECK;

/* ---- running ------------------------------------------------------------- */

/* Gives the next document, valid until the next call; RN_NOT_FOUND after the
 * last. */
struct rn_source {
    void *context;
    enum rn_code (*next)(void *context, struct rn_view *document,
                         struct rn_err *err);
};

enum { RN_QUERY_AFTER_MAX = 600 };

/* Where a run ended.  All zero: at the start. */
struct rn_query_place {
    uint64_t rows;          /* sent so far, over all pages */
    uint64_t passed;        /* rows that reached OFFSET and LIMIT so far */
    uint32_t document_rows; /* of the last document or gathered row, those
                               already passed */
    /* Of an answer that is gathered (not streaming) the place of the last row:
     * its keys, and its rid and row within its document, or its value; at most
     * RN_QUERY_AFTER_MAX bytes. */
    struct rn_view after;
};

/* Takes a row, valid during the call, and the place behind it.  Sets
 * `*is_full` if it wants no more: the run ends when it knows whether there is
 * more, or soon. */
struct rn_sink {
    void *context;
    enum rn_code (*row)(void *context, struct rn_view json,
                        const struct rn_query_place *place, bool *is_full,
                        struct rn_err *err);
};

/* Where a client wants an ordered answer to begin: no row before these keys
 * leaves, and of the rows that have these keys
 *
 *   is_exclusive   none, or with a rid none up to that document
 *   else           all, or with a rid all from that document on
 *
 * "Before" is in the order of the query; documents with equal keys are in the
 * order of their rids (sorter.c). */
struct rn_query_resume {
    const struct rn_value *keys; /* one for each key of ORDER BY */
    uint64_t rid;
    bool has_rid, is_exclusive;
};
/* Reads the `resumeFilter` of a request; it lives in the arena, and borrows the
 * tape.  RN_BAD_REQUEST says what is wrong with it. */
enum rn_code rn_query_resume_read(const struct rn_query *q,
                                  const struct rn_json *j, uint32_t node,
                                  struct rn_arena *a,
                                  struct rn_query_resume *out,
                                  struct rn_err *err) RN_CHECK;

struct rn_query_limits {
    uint64_t steps;      /* 0: 100,000,000 */
    size_t memory_bytes; /* 0: 64 MiB */
    size_t ahead_bytes;  /* of sorted rows; 0: a quarter of the memory */
    int64_t now_us;      /* since 1970; what GetCurrentDateTime says */
    uint64_t seed;       /* of RAND */
    struct rn_query_place from;
    /* As well; the later place counts.  Rows that `from` counts are behind it.
     * NULL: none. */
    const struct rn_query_resume *resume;
    /* Of a source that gives documents in the order of ORDER BY: grows when the
     * document given last is behind all before it.  Rows then leave as they
     * come.  NULL: they come in any order. */
    const uint64_t *group;
    /* Asked now and then; a streaming run ends at the next document once it is
     * true.  NULL: there is time. */
    bool (*is_late)(void *context);
    /* Asked as often; once it is true the run fails.  NULL: steps suffice. */
    bool (*is_over)(void *context);
    void *clock;
};

struct rn_query_stats {
    uint64_t documents, document_bytes; /* read, unless only counted */
    uint64_t matched;                   /* rows that WHERE let through */
    uint64_t rows, row_bytes;           /* sent in this run */
    uint64_t steps;
    bool is_done;     /* false: it stopped early, go on from `place` */
    bool is_infinite; /* it failed for a number that JSON cannot say */
    struct rn_query_place place; /* all but `after`, which the sink was told */
};

/* RN_TIMEOUT: more steps than allowed, or more time.  RN_TOO_LARGE: more
 * memory.  Else what the source or the sink failed with, or RN_BAD_REQUEST
 * where a scalar subquery has several rows, a row holds NaN or an infinity,
 * limits->from is no place, or rows are ranked. */
enum rn_code
rn_query_run(const struct rn_query *q, const struct rn_source *source,
             const struct rn_sink *sink, const struct rn_query_limits *limits,
             struct rn_query_stats *stats, struct rn_err *err) RN_CHECK;

/* True if rows leave in the order of the documents, so that a page can resume
 * at a document. */
bool rn_query_is_streaming(const struct rn_query *q);
/* True if rows leave in the order of their keys, so that a page can resume
 * behind those. */
bool rn_query_is_ordered(const struct rn_query *q);
/* Of such: true if the first key runs downward, and so equal rows do. */
bool rn_query_is_descending(const struct rn_query *q);
/* True if rows are sorted by how near vectors are: clients have rules of their
 * own for that, which they apply if they are told to make the plan. */
bool rn_query_is_by_vector(const struct rn_query *q);
/* True if the answer is the same, but for rounding, in whatever order documents
 * come: one row of aggregates, or rows that are sorted. */
bool rn_query_is_orderless(const struct rn_query *q);
/* Whether the answer depends only on how many documents there are.  A source
 * may then give each without its text. */
enum rn_code rn_query_only_counts(const struct rn_query *q, struct rn_arena *a,
                                  bool *out) RN_CHECK;
/* True if rows are ranked: clients do that, by the plan. */
bool rn_query_is_ranked(const struct rn_query *q);
/* True if the answer is more than the answers of its parts, one behind the
 * other. */
bool rn_query_is_merged(const struct rn_query *q);
/* Of such: true if several documents may make one row. */
bool rn_query_is_condensed(const struct rn_query *q);
/* As it was sent, without its parameters. */
struct rn_view rn_query_text(const struct rn_query *q);
/* False if the answer depends on no document. */
bool rn_query_reads_documents(const struct rn_query *q);

/* ---- what an engine asks before running ---------------------------------- */

/* The values to which WHERE pins a path of the document. */
struct rn_query_pins {
    const struct rn_value *values;
    uint32_t count; /* 0: no document can match */
    bool is_pinned; /* false: any value may occur */
};

/* With a pinned id and partition key, a point read answers the query. */
enum rn_code rn_query_pin(const struct rn_query *q,
                          const struct rn_json_path *path, struct rn_arena *a,
                          struct rn_query_pins *out) RN_CHECK;

/* An interval of sort keys (sortkey.h). */
struct rn_span {
    struct rn_view from, before;
    bool is_point; /* WHERE wants one value */
};

/* Where WHERE leaves a path of the document; it may be narrower still. */
struct rn_query_spans {
    bool is_bounded; /* false: anywhere */
    const struct rn_span *list;
    uint32_t count; /* 0: no document can match */
};

/* Of keys whose texts take at most `text_max` bytes. */
enum rn_code rn_query_span(const struct rn_query *q,
                           const struct rn_json_path *path, size_t text_max,
                           struct rn_arena *a,
                           struct rn_query_spans *out) RN_CHECK;

/* The paths of the document that WHERE reads, each once; of very many, some. */
enum rn_code rn_query_filter_paths(const struct rn_query *q, struct rn_arena *a,
                                   const struct rn_json_path **out,
                                   uint32_t *count) RN_CHECK;

/* True if the keys in `after` are too long to be there in full.  The run must
 * then see all documents to find the place: no index leads there. */
bool rn_query_place_is_cut(const struct rn_query *q, struct rn_view after);

/* The keys of ORDER BY: how many, and each as a path of the document.  The
 * path is empty if the key is not one. */
uint32_t rn_query_order_count(const struct rn_query *q);
enum rn_code rn_query_order_key(const struct rn_query *q, uint32_t i,
                                struct rn_arena *a, struct rn_json_path *path,
                                bool *is_descending) RN_CHECK;

/* True if rows can leave as documents come, if these are in the order of its
 * keys, and a page can begin with the documents behind its place. */
bool rn_query_can_follow_order(const struct rn_query *q);
/* The sort keys, of these forms, of the row that a page of such a query begins
 * behind, up to the first that is cut; `out` has room for all.  RN_BAD_REQUEST
 * if `after` is no place. */
struct rn_query_seek {
    const struct rn_sortkey_form *forms; /* one for each key of ORDER BY */
    char *out;
    size_t len;
    bool is_cut;
    uint64_t rid; /* of its document */
    bool has_rid;
};
enum rn_code rn_query_seek(const struct rn_query *q, struct rn_view after,
                           struct rn_query_seek *seek) RN_CHECK;
/* The same of the place where a client wants it to begin. */
void rn_query_seek_resume(const struct rn_query *q,
                          const struct rn_query_resume *resume,
                          struct rn_query_seek *seek);

/* The path of which the answer is the least or greatest value, or both, of all
 * documents that WHERE lets through; else it is empty. */
struct rn_query_extreme {
    struct rn_json_path path;
    bool has_min, has_max;
};
enum rn_code rn_query_extreme(const struct rn_query *q, struct rn_arena *a,
                              struct rn_query_extreme *out) RN_CHECK;

/* ---- plans --------------------------------------------------------------- */

/* Where documents live, by the values of their partition key. */
struct rn_plan_keys {
    const struct rn_json_path *paths;
    uint32_t count;
    bool is_hierarchical;    /* some of the first values already give a range */
    struct rn_view features; /* that the client has; empty: all */
    void *context;
    /* Writes the effective partition key of `count` values; if these are not
     * all, also where the range of their prefix ends. */
    enum rn_code (*place)(void *context, const struct rn_value *values,
                          uint32_t count, struct rn_buf *min,
                          struct rn_buf *max);
};

/* The body of the answer to a plan request.  RN_BAD_REQUEST with a fault when
 * the query cannot be merged from several ranges. */
enum rn_code rn_query_plan_print(const struct rn_query *q,
                                 const struct rn_plan_keys *keys,
                                 struct rn_faults *faults, struct rn_buf *out,
                                 struct rn_err *err) RN_CHECK;

#endif
