/* own.h -- the internal state of a query, shared by the files of this
 * directory. */
#ifndef RN_CLIENT_QUERY_OWN_H
#define RN_CLIENT_QUERY_OWN_H

#include "client/query/aggregate.h"
#include "client/query/query.h"

/* A result of a whole query: its text, and its keys if it is sorted. */
struct rn_result_row {
    struct rn_view text, items;
    size_t place; /* the order of arrival */
};

struct rn_merge_group {
    struct rn_total *totals; /* one for each alias, or one */
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
    int64_t given;            /* rows returned */
    int64_t to_replay;        /* rows that an earlier query returned */

    struct rn_arena memory; /* what merging keeps; the user sets its limit */
    struct rn_seen seen;    /* of DISTINCT */
    struct rn_seen keys;    /* of groups, or of what is counted */
    struct rn_buf last_row; /* of an ordered DISTINCT, canonical */
    struct rn_buf scratch;

    bool is_computed;      /* of a query that is whole */
    struct rn_buf results; /* of struct rn_result_row */
    struct rn_buf groups;  /* of struct rn_merge_group */
    size_t next_result;
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

/* Passes a row through DISTINCT, OFFSET, TOP and LIMIT, and prints it if it
 * comes out. */
runnel_code rn_client_query_emit(struct rn_client_query *q,
                                 struct rn_merge_item row, struct rn_rows *out,
                                 runnel_error *error) RUNNEL_CHECK;

/* Reads all and computes the results (whole.c). */
runnel_code rn_client_query_compute(struct rn_client_query *q, double *charge,
                                    runnel_error *error) RUNNEL_CHECK;

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

/* Can the query go on from where its ranges are? */
static inline bool rn_client_query_is_replayed(const struct rn_client_query *q)
{
    return q->has_plan && (rn_merge_plan_is_whole(&q->plan) ||
                           q->plan.distinct == RN_DISTINCT_ALL);
}

static inline struct rn_merge_item rn_merge_item_member(struct rn_merge_item of,
                                                        struct rn_view name)
{
    return (struct rn_merge_item){ of.j, rn_json_find(of.j, of.at, name) };
}

#endif
