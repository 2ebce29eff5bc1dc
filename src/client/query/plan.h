/* plan.h -- a query plan: how a query over several ranges is executed.
 *
 * The server makes it from a query's text: a rewritten text, which is sent to
 * each range, and how the rows are merged.  See query.h for that.
 *
 * A plan is immutable; its texts are in its arena.
 */
#ifndef RN_CLIENT_QUERY_PLAN_H
#define RN_CLIENT_QUERY_PLAN_H

#include "client/http/error.h"
#include "cosmos/epk.h"
#include "cosmos/fusion.h"

enum rn_plan_distinct {
    RN_DISTINCT_NONE,
    RN_DISTINCT_ORDERED,
    RN_DISTINCT_ALL
};

enum rn_merge_aggregate {
    RN_AGGREGATE_NONE, /* a value of the group's key */
    RN_AGGREGATE_AVERAGE,
    RN_AGGREGATE_COUNT,
    RN_AGGREGATE_COUNT_IF,
    RN_AGGREGATE_LIST,
    RN_AGGREGATE_MAX,
    RN_AGGREGATE_MIN,
    RN_AGGREGATE_SET,
    RN_AGGREGATE_SUM,
};

struct rn_merge_plan_alias {
    struct rn_view name; /* unescaped */
    enum rn_merge_aggregate aggregate;
};

/* A query of ORDER BY RANK: the best rows by one score. */
struct rn_merge_plan_component {
    struct rn_view text; /* with placeholders, see cosmos/fusion.h */
    struct rn_rank_way way;
    int64_t most; /* -1: all */
};

struct rn_merge_plan {
    struct rn_arena arena;
    struct rn_view text; /* the text sent to each range; empty: the original */
    enum rn_plan_distinct distinct;
    int64_t top, offset, limit; /* -1: none */
    size_t order_count;
    const bool *is_descending;
    bool is_unsorted; /* pages of a range are not in order */
    bool is_grouped;  /* by expressions, or into one group of aliases */
    size_t alias_count;
    const struct rn_merge_plan_alias *aliases; /* of a group, in order */
    enum rn_merge_aggregate aggregate;         /* of SELECT VALUE; NONE: none */
    bool has_value;                            /* SELECT VALUE */
    bool counts_distinct;
    struct rn_view count_alias; /* of counts_distinct */
    bool is_ranked;             /* ORDER BY RANK */
    struct rn_view statistics;  /* its first query; empty: none is needed */
    size_t component_count;
    const struct rn_merge_plan_component *components;
    size_t range_count;
    const struct rn_epk_range *ranges;
};

/* The features that a plan may use. */
extern const char rn_merge_plan_features[];

/* RUNNEL_UNSUPPORTED if the body is not a plan, or one beyond those
 * features. */
runnel_code rn_merge_plan_parse(struct rn_merge_plan *p, struct rn_view body,
                                runnel_error *error) RUNNEL_CHECK;
void rn_merge_plan_release(struct rn_merge_plan *p);

/* Must all rows be read before the first result is known? */
bool rn_merge_plan_needs_all_rows(const struct rn_merge_plan *p);

#endif
