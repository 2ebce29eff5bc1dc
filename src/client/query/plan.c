/* plan.c -- see plan.h. */
#include "client/query/plan.h"

#include "json/json.h"

enum { ARENA_MAX = 16 << 20 };

const char rn_merge_plan_features[] =
    "Aggregate,CompositeAggregate,CountIf,DCount,Distinct,GroupBy,"
    "HybridSearch,ListAndSetAggregate,MultipleAggregates,MultipleOrderBy,"
    "NonStreamingOrderBy,NonValueAggregate,OffsetAndLimit,OrderBy,Top,"
    "WeightedRankFusion";

/* Stands in a rewritten ORDER BY for the condition by which other clients
 * resume. */
static const char placeholder[] = "{documentdb-formattableorderbyquery-filter}";

static const struct {
    const char *name;
    enum rn_merge_aggregate aggregate;
} aggregates[] = {
    { "Average", RN_AGGREGATE_AVERAGE },  { "Count", RN_AGGREGATE_COUNT },
    { "CountIf", RN_AGGREGATE_COUNT_IF }, { "MakeList", RN_AGGREGATE_LIST },
    { "Max", RN_AGGREGATE_MAX },          { "Min", RN_AGGREGATE_MIN },
    { "MakeSet", RN_AGGREGATE_SET },      { "Sum", RN_AGGREGATE_SUM },
};

/* RN_CORRUPT: not a plan as it is known here. */
static enum rn_code get_aggregate(const struct rn_json *j, uint32_t value,
                                  enum rn_merge_aggregate *out)
{
    enum rn_json_kind kind = rn_json_kind(j, value);

    *out = RN_AGGREGATE_NONE;
    if (kind == RN_JSON_NULL || kind == RN_JSON_UNDEFINED)
        return RN_OK;
    for (size_t i = 0; i < sizeof(aggregates) / sizeof(aggregates[0]); i++) {
        if (rn_json_string_is(j, value, rn_view_text(aggregates[i].name))) {
            *out = aggregates[i].aggregate;
            return RN_OK;
        }
    }
    return RN_CORRUPT;
}

static enum rn_code get_count(const struct rn_json *j, uint32_t value,
                              int64_t *out)
{
    enum rn_json_kind kind = rn_json_kind(j, value);

    *out = -1;
    if (kind == RN_JSON_NULL || kind == RN_JSON_UNDEFINED)
        return RN_OK;
    return kind == RN_JSON_NUMBER && rn_json_int64(j, value, out) && *out >= 0
               ? RN_OK
               : RN_CORRUPT;
}

/* true, or 1 as the service's own planner writes it. */
static bool is_true(const struct rn_json *j, uint32_t value)
{
    return rn_json_kind(j, value) == RN_JSON_TRUE ||
           rn_view_eq(rn_json_text(j, value), RN_LIT("1"));
}

static enum rn_code get_distinct(const struct rn_json *j, uint32_t value,
                                 enum rn_plan_distinct *out)
{
    *out = RN_DISTINCT_NONE;
    if (rn_json_string_is(j, value, RN_LIT("Ordered")))
        *out = RN_DISTINCT_ORDERED;
    else if (rn_json_string_is(j, value, RN_LIT("Unordered")))
        *out = RN_DISTINCT_ALL;
    else if (rn_json_kind(j, value) == RN_JSON_STRING &&
             !rn_json_string_is(j, value, RN_LIT("None")))
        return RN_CORRUPT;
    return RN_OK;
}

static enum rn_code get_order(struct rn_merge_plan *p, const struct rn_json *j,
                              uint32_t array)
{
    struct rn_json_walk w = rn_json_walk_begin(j, array);
    uint32_t count = rn_json_count(j, array);
    bool *to;

    if (count == 0)
        return RN_OK;
    to = rn_arena_alloc(&p->arena, count * sizeof(*to));
    if (!to)
        return RN_NOMEM;
    p->is_descending = to;
    while (rn_json_walk_next(&w)) {
        bool descends = rn_json_string_is(j, w.value, RN_LIT("Descending"));
        if (!descends && !rn_json_string_is(j, w.value, RN_LIT("Ascending")))
            return RN_CORRUPT;
        to[p->order_count++] = descends;
    }
    return RN_OK;
}

static enum rn_code get_aliases(struct rn_merge_plan *p,
                                const struct rn_json *j, uint32_t names,
                                uint32_t kinds)
{
    struct rn_json_walk w = rn_json_walk_begin(j, names);
    uint32_t count = rn_json_count(j, names);
    struct rn_merge_plan_alias *to;
    enum rn_code rc = RN_OK;

    to = rn_arena_alloc(&p->arena, (count + 1) * sizeof(*to));
    if (!to)
        return RN_NOMEM;
    p->aliases = to;
    while (!rc && rn_json_walk_next(&w)) {
        struct rn_merge_plan_alias *one = &to[p->alias_count++];
        if (rn_json_kind(j, w.value) != RN_JSON_STRING)
            return RN_CORRUPT;
        rc = rn_json_string_copy(j, w.value, &p->arena, &one->name);
        if (!rc)
            rc = get_aggregate(j, rn_json_find(j, kinds, one->name),
                               &one->aggregate);
    }
    return rc;
}

/* The rewritten text, its placeholder replaced: all rows. */
static enum rn_code get_text(struct rn_merge_plan *p, const struct rn_json *j,
                             uint32_t value)
{
    struct rn_view text = { 0 };
    size_t len = sizeof(placeholder) - 1;
    enum rn_code rc;
    char *at, *found;

    if (rn_json_kind(j, value) != RN_JSON_STRING)
        return RN_OK;
    rc = rn_json_string_copy(j, value, &p->arena, &text);
    if (rc || text.len == 0)
        return rc;
    at = rn_arena_alloc(&p->arena, text.len + 1);
    if (!at)
        return RN_NOMEM;
    memcpy(at, text.at, text.len);
    at[text.len] = '\0';
    found = strstr(at, placeholder);
    if (found) {
        memcpy(found, "true", 4);
        memmove(found + 4, found + len, strlen(found + len) + 1);
    }
    p->text = rn_view_text(at);
    return RN_OK;
}

static enum rn_code get_info(struct rn_merge_plan *p, const struct rn_json *j,
                             uint32_t info)
{
#define FIND(name) rn_json_find(j, info, RN_LIT(name))
    uint32_t count = FIND("dCountInfo");
    uint32_t alias = rn_json_find(j, count, RN_LIT("dCountAlias"));
    enum rn_code rc = get_distinct(j, FIND("distinctType"), &p->distinct);

    if (!rc)
        rc = get_count(j, FIND("top"), &p->top);
    if (!rc)
        rc = get_count(j, FIND("offset"), &p->offset);
    if (!rc)
        rc = get_count(j, FIND("limit"), &p->limit);
    if (!rc)
        rc = get_order(p, j, FIND("orderBy"));
    if (!rc)
        rc = get_aliases(p, j, FIND("groupByAliases"),
                         FIND("groupByAliasToAggregateType"));
    if (!rc)
        rc = get_aggregate(j, rn_json_at(j, FIND("aggregates"), 0),
                           &p->aggregate);
    if (!rc)
        rc = get_text(p, j, FIND("rewrittenQuery"));
    p->has_value = is_true(j, FIND("hasSelectValue"));
    p->is_unsorted = is_true(j, FIND("hasNonStreamingOrderBy"));
    p->is_grouped =
        p->alias_count > 0 || rn_json_count(j, FIND("groupByExpressions")) > 0;
    p->counts_distinct = rn_json_kind(j, count) == RN_JSON_OBJECT;
    if (!rc && rn_json_kind(j, alias) == RN_JSON_STRING)
        rc = rn_json_string_copy(j, alias, &p->arena, &p->count_alias);
    return rc;
#undef FIND
}

/* ---- ORDER BY RANK ------------------------------------------------------- */

static enum rn_code get_component(struct rn_merge_plan *p,
                                  const struct rn_json *j, uint32_t info,
                                  struct rn_merge_plan_component *out)
{
    uint32_t text = rn_json_find(j, info, RN_LIT("rewrittenQuery"));
    uint32_t order = rn_json_find(j, info, RN_LIT("orderBy"));
    int64_t top = -1, limit = -1;
    enum rn_code rc = get_count(j, rn_json_find(j, info, RN_LIT("top")), &top);

    if (!rc)
        rc = get_count(j, rn_json_find(j, info, RN_LIT("limit")), &limit);
    if (!rc)
        rc = rn_json_string_copy(j, text, &p->arena, &out->text);
    out->most = top >= 0 ? top : limit;
    out->way.weight = 1;
    out->way.is_descending =
        rn_json_string_is(j, rn_json_at(j, order, 0), RN_LIT("Descending"));
    return !rc && out->text.len == 0 ? RN_CORRUPT : rc;
}

static enum rn_code get_weights(const struct rn_json *j, uint32_t array,
                                struct rn_merge_plan_component *of,
                                size_t count)
{
    struct rn_json_walk w = rn_json_walk_begin(j, array);

    for (size_t i = 0; rn_json_walk_next(&w); i++) {
        if (i == count || rn_json_kind(j, w.value) != RN_JSON_NUMBER)
            return RN_CORRUPT;
        of[i].way.weight = rn_json_double(j, w.value);
    }
    return RN_OK;
}

static enum rn_code get_ranking(struct rn_merge_plan *p,
                                const struct rn_json *j, uint32_t info)
{
    uint32_t list = rn_json_find(j, info, RN_LIT("componentQueryInfos"));
    uint32_t text = rn_json_find(j, info, RN_LIT("globalStatisticsQuery"));
    struct rn_json_walk w = rn_json_walk_begin(j, list);
    size_t count = rn_json_count(j, list);
    struct rn_merge_plan_component *to;
    enum rn_code rc;

    if (count == 0)
        return RN_CORRUPT;
    to = rn_arena_alloc(&p->arena, count * sizeof(*to));
    if (!to)
        return RN_NOMEM;
    p->is_ranked = true;
    p->components = to;
    p->distinct = RN_DISTINCT_NONE;
    p->top = -1;
    rc = get_count(j, rn_json_find(j, info, RN_LIT("skip")), &p->offset);
    if (!rc)
        rc = get_count(j, rn_json_find(j, info, RN_LIT("take")), &p->limit);
    while (!rc && rn_json_walk_next(&w))
        rc = get_component(p, j, w.value, &to[p->component_count++]);
    if (!rc)
        rc = get_weights(j, rn_json_find(j, info, RN_LIT("componentWeights")),
                         to, count);
    if (!rc &&
        is_true(j, rn_json_find(j, info, RN_LIT("requiresGlobalStatistics"))))
        rc = rn_json_string_copy(j, text, &p->arena, &p->statistics);
    return rc;
}

/* ---- plan ---------------------------------------------------------------- */

/* A point has both ends included; an interval that ends with nothing behind it
 * is as good. */
static enum rn_code get_range(const struct rn_json *j, uint32_t value,
                              struct rn_epk_range *out)
{
    uint32_t min = rn_json_find(j, value, RN_LIT("min"));
    uint32_t max = rn_json_find(j, value, RN_LIT("max"));
    bool includes_max =
        is_true(j, rn_json_find(j, value, RN_LIT("isMaxInclusive")));

    if (rn_json_kind(j, min) != RN_JSON_STRING ||
        rn_json_kind(j, max) != RN_JSON_STRING ||
        rn_epk_parse(rn_json_text(j, min), &out->min, NULL) != RN_OK ||
        rn_epk_parse(rn_json_text(j, max), &out->max, NULL) != RN_OK)
        return RN_CORRUPT;
    if (includes_max && out->max.len < RN_EPK_MAX)
        out->max.bytes[out->max.len++] = 0;
    return RN_OK;
}

static enum rn_code get_ranges(struct rn_merge_plan *p, const struct rn_json *j,
                               uint32_t array)
{
    struct rn_json_walk w = rn_json_walk_begin(j, array);
    uint32_t count = rn_json_count(j, array);
    struct rn_epk_range *to;
    enum rn_code rc = RN_OK;

    if (count == 0)
        return RN_CORRUPT;
    to = rn_arena_alloc(&p->arena, count * sizeof(*to));
    if (!to)
        return RN_NOMEM;
    p->ranges = to;
    while (!rc && rn_json_walk_next(&w))
        rc = get_range(j, w.value, &to[p->range_count++]);
    return rc;
}

runnel_code rn_merge_plan_parse(struct rn_merge_plan *p, struct rn_view body,
                                runnel_error *error)
{
    struct rn_json j;
    uint32_t info, ranking;
    enum rn_code rc;

    *p = (struct rn_merge_plan){ .arena = RN_ARENA_INIT(ARENA_MAX) };
    rn_json_init(&j, NULL);
    rc = rn_json_parse(&j, body, NULL);
    info = rn_json_find(&j, 0, RN_LIT("queryInfo"));
    ranking = rn_json_find(&j, 0, RN_LIT("hybridSearchQueryInfo"));
    if (!rc && rn_json_kind(&j, ranking) == RN_JSON_OBJECT)
        rc = get_ranking(p, &j, ranking);
    else if (!rc && rn_json_kind(&j, info) == RN_JSON_OBJECT)
        rc = get_info(p, &j, info);
    else if (!rc || rc == RN_BAD_REQUEST)
        rc = RN_CORRUPT;
    if (!rc)
        rc = get_ranges(p, &j, rn_json_find(&j, 0, RN_LIT("queryRanges")));
    rn_json_release(&j);
    if (!rc)
        return RUNNEL_OK;
    rn_merge_plan_release(p);
    if (rc == RN_CORRUPT) {
        return rn_error_set(error, RUNNEL_UNSUPPORTED,
                            "the server's plan of the query is not one that "
                            "this library can carry out");
    }
    return rn_error_take(error, rc, NULL);
}

void rn_merge_plan_release(struct rn_merge_plan *p)
{
    rn_arena_release(&p->arena);
}

bool rn_merge_plan_needs_all_rows(const struct rn_merge_plan *p)
{
    return p->is_grouped || p->aggregate != RN_AGGREGATE_NONE ||
           p->is_unsorted || p->counts_distinct || p->is_ranked;
}
