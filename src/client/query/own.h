/* own.h -- the internal state of a query, shared by the files of this
 * directory. */
#ifndef RN_CLIENT_QUERY_OWN_H
#define RN_CLIENT_QUERY_OWN_H

#include "client/query/aggregate.h"
#include "client/query/query.h"

/* A result of a whole query. */
struct rn_result_row {
    struct rn_view text;
    /* An array of {"item":v} in result_keys: the items of ORDER BY, then those
     * that tell it from all others, by which results are sorted.  Of ORDER BY
     * RANK the row's id, as a string. */
    uint32_t keys;
};

struct rn_merge_group {
    struct rn_total *totals; /* one for each alias, or one */
    struct rn_view keys;     /* as of its result */
};

/* ORDER BY RANK on its way: one query after the other (rank.c). */
struct rn_ranking_work {
    bool is_asked;             /* the current query's sources are known */
    bool has_statistics;       /* the first query is over */
    size_t component;          /* the current one, after that */
    struct rn_buf rows;        /* of struct rn_ranked */
    size_t kept;               /* rows of the components before */
    struct rn_buf numbers;     /* of int64_t: the statistics, added up */
    struct rn_view numbers_of; /* the first range's, for their form */
    struct rn_buf filled;      /* the current component's text */
};

struct rn_client_query {
    struct rn_question ask;
    struct rn_client_container *container;
    struct rn_merge_plan plan;
    struct rn_buf text;       /* of the query; empty: read feed */
    struct rn_buf parameters; /* JSON, or empty */
    bool has_plan;
    bool has_interval;
    struct rn_epk_range interval;
    uint64_t fingerprint; /* of text, parameters and scope, for the token */
    uint32_t page_limit, parallel;

    struct rn_merge_source **sources; /* by interval */
    size_t count, room;
    bool is_open; /* the sources are known */
    bool is_over;
    bool is_broken; /* a row was taken but could not be returned */

    int64_t to_skip, to_take; /* of OFFSET, TOP and LIMIT; -1: all */

    struct rn_arena memory;   /* what merging keeps; the user sets its limit */
    struct rn_seen seen;      /* hashes of rows of DISTINCT and ORDER BY RANK */
    struct rn_seen keys;      /* of groups, or of what is counted */
    struct rn_buf last_row;   /* of an ordered DISTINCT, canonical */
    struct rn_buf last_items; /* of the row last merged: its ORDER BY items */
    struct rn_buf scratch;

    bool is_computed;      /* of a query that is whole */
    struct rn_buf results; /* of struct rn_result_row */
    struct rn_buf groups;  /* of struct rn_merge_group */
    size_t next_result;
    struct rn_buf keys_text; /* of the results: [keys,keys...] */
    struct rn_json result_keys;
    struct rn_buf after; /* the keys of the result that was given last */
    struct rn_ranking_work ranking;
};

/* A DISTINCT without an order can be resumed after so many rows. */
enum { RN_SEEN_MAX = 10000 };

/* The seen set's form of a value. */
struct rn_row_mark {
    char bytes[16];
};

/* Opens the sources, at the start or where a token says. */
runnel_code rn_client_query_open_sources(struct rn_client_query *q,
                                         double *charge,
                                         runnel_error *error) RUNNEL_CHECK;
/* Adds, at `at`, one for each range of the map that overlaps `overlap` and has
 * none just before it, clamped to `clamp`; each begins where `from`, which may
 * be NULL, is. */
runnel_code rn_client_query_add_sources(struct rn_client_query *q, size_t at,
                                        const struct rn_epk_range *overlap,
                                        const struct rn_epk_range *clamp,
                                        const struct rn_merge_source *from,
                                        runnel_error *error) RUNNEL_CHECK;

/* Fetches the pages that are wanted. */
runnel_code rn_client_query_fetch(struct rn_client_query *q, double *charge,
                                  runnel_error *error) RUNNEL_CHECK;

/* Sends this text from now on. */
runnel_code rn_client_query_set_text(struct rn_client_query *q,
                                     struct rn_view text,
                                     runnel_error *error) RUNNEL_CHECK;
/* Opens a source for each range that the plan names; `everywhere`: for every
 * range of the container. */
runnel_code rn_client_query_open_ranges(struct rn_client_query *q,
                                        bool everywhere,
                                        runnel_error *error) RUNNEL_CHECK;

/* Adds to the seen set. */
enum rn_code rn_client_query_see(struct rn_client_query *q, struct rn_view text,
                                 bool *is_new) RN_CHECK;

/* Passes a row through DISTINCT, OFFSET, TOP and LIMIT, and prints it if it
 * comes out. */
runnel_code rn_client_query_emit(struct rn_client_query *q,
                                 struct rn_merge_item row, struct rn_rows *out,
                                 runnel_error *error) RUNNEL_CHECK;

/* Reads all and computes the results (whole.c). */
runnel_code rn_client_query_compute(struct rn_client_query *q, double *charge,
                                    runnel_error *error) RUNNEL_CHECK;

/* Adds a result, with its keys as JSON text, for sort. */
enum rn_code rn_client_query_add_result(struct rn_client_query *q,
                                        struct rn_view text,
                                        struct rn_view keys) RN_CHECK;

/* Asks the queries of ORDER BY RANK and computes the results (rank.c). */
runnel_code rn_client_query_rank(struct rn_client_query *q, double *charge,
                                 runnel_error *error) RUNNEL_CHECK;
/* Reads all rows of the sources. */
typedef enum rn_code (*rn_each_row_fn)(struct rn_client_query *q,
                                       struct rn_merge_item row);
runnel_code rn_client_query_read_all(struct rn_client_query *q,
                                     rn_each_row_fn each, double *charge,
                                     runnel_error *error) RUNNEL_CHECK;
/* A failure of the computation in words. */
runnel_code rn_client_query_explain(enum rn_code rc,
                                    runnel_error *error) RUNNEL_CHECK;

/* Compares arrays of {"item":v}: as many as ORDER BY has in its directions,
 * the others ascending (merge.c). */
enum rn_code rn_client_query_compare_keys(const struct rn_client_query *q,
                                          struct rn_merge_item a,
                                          struct rn_merge_item b,
                                          int *order) RN_CHECK;
/* Compares two rows' order-by items (merge.c). */
runnel_code rn_client_query_compare(const struct rn_client_query *q,
                                    struct rn_merge_item a,
                                    struct rn_merge_item b, int *order,
                                    runnel_error *error) RUNNEL_CHECK;
/* Fills a page of merged rows. */
runnel_code rn_client_query_merge(struct rn_client_query *q,
                                  struct rn_rows *out,
                                  runnel_error *error) RUNNEL_CHECK;
/* Drops the rows that an earlier query took, from a page that was read again.
 */
runnel_code rn_client_query_skip_taken(struct rn_client_query *q,
                                       struct rn_merge_source *s,
                                       runnel_error *error) RUNNEL_CHECK;

/* token.c */
runnel_code rn_client_query_print_token(struct rn_client_query *q,
                                        struct rn_buf *out,
                                        runnel_error *error) RUNNEL_CHECK;
/* The sources are open; those that the token names take their place. */
runnel_code rn_client_query_read_token(struct rn_client_query *q,
                                       const char *token,
                                       runnel_error *error) RUNNEL_CHECK;
/* Is it one request after another, without ranges? */
static inline bool rn_client_query_is_alone(const struct rn_client_query *q)
{
    return !q->container || q->ask.key.len > 0 || (q->text.len && !q->has_plan);
}
void rn_client_query_drop_sources(struct rn_client_query *q);

/* Are all rows read before the first result is known? */
static inline bool rn_client_query_is_whole(const struct rn_client_query *q)
{
    return q->has_plan && rn_merge_plan_is_whole(&q->plan);
}

static inline struct rn_merge_item rn_merge_item_member(struct rn_merge_item of,
                                                        struct rn_view name)
{
    return (struct rn_merge_item){ of.j, rn_json_find(of.j, of.at, name) };
}

#endif
