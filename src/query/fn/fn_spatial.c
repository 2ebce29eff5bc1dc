/* fn_spatial.c -- built-in functions: ST_ functions over GeoJSON. */
#include "query/fn/function.h"

#include "query/fn/geo.h"
#include "query/run/run.h"

static bool is_planar(const struct rn_fn_args *a)
{
    const struct rn_query *q = a->run->query;

    return q && q->policy && q->policy->is_planar;
}

/* Steps per pair of points: to compare their segments, or on the earth to find
 * the distance between them. */
enum { PAIR_STEPS = 4, WAY_STEPS = 100 };

/* Reads both shapes; `*ok` if they are valid.  Charges steps for each pair of
 * points, since the cost of the following operation depends on the pairs. */
static enum rn_code read_two(const struct rn_fn_args *a, unsigned pair_steps,
                             struct rn_geo out[2], bool *ok)
{
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < 2 && !rc; i++) {
        rc = rn_geo_read(&a->at[i], is_planar(a), a->arena, &out[i]);
        if (!rc)
            rc = rn_run_step(a->run, (uint64_t)out[i].points * out[i].points);
    }
    if (!rc)
        rc = rn_run_step(a->run, 10 + (uint64_t)out[0].points * out[1].points *
                                          pair_steps);
    *ok = !rc && !out[0].reason && !out[1].reason;
    return rc;
}

static enum rn_code fn_distance(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    struct rn_geo two[2];
    bool ok;
    enum rn_code rc =
        read_two(a, is_planar(a) ? PAIR_STEPS : WAY_STEPS, two, &ok);

    if (ok)
        *out = rn_value_double(rn_geo_distance(&two[0], &two[1]));
    return rc;
}

static enum rn_code fn_within(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_geo two[2];
    bool ok;
    enum rn_code rc = read_two(a, PAIR_STEPS, two, &ok);

    if (ok)
        *out = rn_value_bool(rn_geo_within(&two[0], &two[1]));
    return rc;
}

static enum rn_code fn_intersects(const struct rn_fn_args *a,
                                  struct rn_value *out)
{
    struct rn_geo two[2];
    bool ok;
    enum rn_code rc = read_two(a, PAIR_STEPS, two, &ok);

    if (ok)
        *out = rn_value_bool(rn_geo_intersects(&two[0], &two[1]));
    return rc;
}

static enum rn_code read_one(const struct rn_fn_args *a, struct rn_geo *out)
{
    enum rn_code rc = rn_geo_read(&a->at[0], is_planar(a), a->arena, out);

    return rc ? rc
              : rn_run_step(a->run, 10 + (uint64_t)out->points * out->points);
}

static enum rn_code fn_area(const struct rn_fn_args *a, struct rn_value *out)
{
    struct rn_geo g;
    enum rn_code rc = read_one(a, &g);

    if (!rc && !g.reason)
        *out = rn_value_double(rn_geo_area(&g));
    return rc;
}

static enum rn_code fn_is_valid(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    struct rn_geo g;
    enum rn_code rc;

    if (rn_arg_is(a, 0, RN_VALUE_UNDEFINED))
        return RN_OK;
    rc = read_one(a, &g);
    if (!rc)
        *out = rn_value_bool(!g.reason);
    return rc;
}

static enum rn_code fn_detailed(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    struct rn_member *members;
    struct rn_geo g;
    enum rn_code rc;

    if (rn_arg_is(a, 0, RN_VALUE_UNDEFINED))
        return RN_OK;
    rc = read_one(a, &g);
    members = rn_arena_alloc(a->arena, 2 * sizeof(*members));
    if (rc || !members)
        return rc ? rc : RN_TOO_LARGE;
    members[0] =
        (struct rn_member){ RN_LIT("valid"), rn_value_bool(!g.reason) };
    if (g.reason) {
        members[1] =
            (struct rn_member){ RN_LIT("reason"),
                                rn_value_string(rn_view_text(g.reason)) };
    }
    *out = rn_value_object(members, g.reason ? 2 : 1);
    return RN_OK;
}

const struct rn_function rn_functions_spatial[] = {
    { "ST_DISTANCE", 2, 2, .run = fn_distance, .is_spatial = true },
    { "ST_WITHIN", 2, 2, .run = fn_within, .is_spatial = true },
    { "ST_INTERSECTS", 2, 2, .run = fn_intersects, .is_spatial = true },
    { "ST_ISVALID", 1, 1, .run = fn_is_valid, .is_spatial = true },
    { "ST_ISVALIDDETAILED", 1, 1, .run = fn_detailed, .is_spatial = true },
    { "ST_AREA", 1, 1, .run = fn_area, .is_spatial = true },
    { "_ST_DISTANCE", 2, 2, .run = fn_distance, .is_spatial = true },
    { "_ST_WITHIN", 2, 2, .run = fn_within, .is_spatial = true },
    { "_ST_INTERSECTS", 2, 2, .run = fn_intersects, .is_spatial = true },
    { 0 },
};
