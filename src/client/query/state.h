/* state.h -- the state of a query over several ranges, struct rn_client_query.
 */
#ifndef RN_CLIENT_QUERY_STATE_H
#define RN_CLIENT_QUERY_STATE_H

#include "client/query/aggregate.h"
#include "client/query/plan.h"
#include "client/query/source.h"
#include "client/query/value_set.h"

/* A result of a materialized query. */
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
    struct rn_value_set seen; /* hashes of rows of DISTINCT and ORDER BY RANK */
    struct rn_value_set keys; /* of groups, or of what is counted */
    struct rn_buf last_row;   /* of an ordered DISTINCT, canonical */
    struct rn_buf last_items; /* of the row last merged: its ORDER BY items */
    struct rn_buf scratch;

    bool is_computed;      /* of a materialized query */
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

/* Is it one request after another, without ranges? */
static inline bool rn_client_query_is_alone(const struct rn_client_query *q)
{
    return !q->container || q->ask.key.len > 0 || (q->text.len && !q->has_plan);
}

/* Are all rows read before the first result is known? */
static inline bool
rn_client_query_needs_all_rows(const struct rn_client_query *q)
{
    return q->has_plan && rn_merge_plan_needs_all_rows(&q->plan);
}

#endif
