/* features.c -- checks that the client supports the features of a plan.
 *
 * A client lists the features that it can merge; a query that needs another one
 * is rejected, so that the client does not compute a wrong result.  Counting
 * distinct values is not checked: older clients support it without listing it.
 */
#include "query/client_plan/features.h"

#include "query/client_plan/rank.h"
#include "query/fn/function.h"

#include <stdio.h>
#include <strings.h>

enum feature {
    AGGREGATE,
    DISTINCT,
    GROUP_BY,
    MULTIPLE_AGGREGATES,
    MULTIPLE_ORDER_BY,
    OFFSET_AND_LIMIT,
    ORDER_BY,
    TOP,
    NON_VALUE_AGGREGATE,
    NON_STREAMING_ORDER_BY,
    COUNT_IF,
    LIST_AND_SET_AGGREGATE,
    HYBRID_SEARCH,
    WEIGHTED_RANK_FUSION,
    FEATURES,
};

static const char *const names[] = {
    [AGGREGATE] = "Aggregate",
    [DISTINCT] = "Distinct",
    [GROUP_BY] = "GroupBy",
    [MULTIPLE_AGGREGATES] = "MultipleAggregates",
    [MULTIPLE_ORDER_BY] = "MultipleOrderBy",
    [OFFSET_AND_LIMIT] = "OffsetAndLimit",
    [ORDER_BY] = "OrderBy",
    [TOP] = "Top",
    [NON_VALUE_AGGREGATE] = "NonValueAggregate",
    [NON_STREAMING_ORDER_BY] = "NonStreamingOrderBy",
    [COUNT_IF] = "CountIf",
    [LIST_AND_SET_AGGREGATE] = "ListAndSetAggregate",
    [HYBRID_SEARCH] = "HybridSearch",
    [WEIGHTED_RANK_FUSION] = "WeightedRankFusion",
};

static uint32_t bit(enum feature f, bool is_needed)
{
    return is_needed ? UINT32_C(1) << f : 0;
}

static uint32_t of_rank(const struct rn_select *s)
{
    struct rn_rank rank;

    rn_rank_of(s, &rank);
    return bit(HYBRID_SEARCH, true) |
           bit(WEIGHTED_RANK_FUSION, rank.weights != NULL);
}

static uint32_t of_aggregates(const struct rn_select *s)
{
    uint32_t count = 0, needed = 0;

    for (uint32_t i = 0; i < s->item_count; i++) {
        const struct rn_expr *call = rn_plan_aggregate(s->items[i].expr);
        enum rn_aggregate_kind kind;
        if (!call)
            continue;
        kind = call->function->aggregate;
        count++;
        needed |= bit(COUNT_IF, kind == RN_AGGREGATE_COUNTIF) |
                  bit(LIST_AND_SET_AGGREGATE, kind == RN_AGGREGATE_MAKELIST ||
                                                  kind == RN_AGGREGATE_MAKESET);
    }
    return needed | bit(AGGREGATE, count == 1) |
           bit(MULTIPLE_AGGREGATES, count > 1) |
           bit(NON_VALUE_AGGREGATE, count && s->kind == RN_SELECT_LIST);
}

static uint32_t needed_by(const struct rn_plan *p)
{
    const struct rn_select *s = p->select;

    if (s->is_rank)
        return of_rank(s);
    return (p->is_grouped ? of_aggregates(s) : 0) |
           bit(GROUP_BY, p->is_grouped && s->group_count) |
           bit(DISTINCT, s->is_distinct) | bit(TOP, p->has_top) |
           bit(OFFSET_AND_LIMIT, p->has_offset) |
           bit(ORDER_BY, p->is_ordered && s->order_count == 1) |
           bit(MULTIPLE_ORDER_BY, p->is_ordered && s->order_count > 1) |
           bit(NON_STREAMING_ORDER_BY, p->is_vector);
}

/* The names are separated by commas and optional blanks. */
static bool has_name(struct rn_view list, const char *name)
{
    size_t n = strlen(name);

    while (list.len) {
        size_t len = 0;
        while (list.len && (list.at[0] == ' ' || list.at[0] == ','))
            list = rn_view_of(list.at + 1, list.len - 1);
        while (len < list.len && list.at[len] != ' ' && list.at[len] != ',')
            len++;
        if (len == n && strncasecmp(list.at, name, n) == 0)
            return true;
        list = rn_view_of(list.at + len, list.len - len);
    }
    return false;
}

enum rn_code rn_plan_check_features(const struct rn_plan *p,
                                    struct rn_view supported,
                                    struct rn_faults *faults)
{
    uint32_t needed = needed_by(p);
    char missing[128] = "";
    size_t len = 0;

    for (int i = 0; i < FEATURES && supported.len; i++) {
        if ((needed >> i & 1) && !has_name(supported, names[i]) &&
            len < sizeof(missing))
            len += (size_t)snprintf(missing + len, sizeof(missing) - len, " %s",
                                    names[i]);
    }
    if (!len)
        return RN_OK;
    return rn_faults_add(faults, NULL, 0, 0,
                         "Query contains the following features, which the "
                         "calling client does not support:%s",
                         missing);
}
