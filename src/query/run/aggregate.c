/* aggregate.c -- the accumulators of the aggregate functions. */
#include "query/run/aggregate.h"

#include "query/fn/function.h"
#include "query/run/encode.h"

static enum rn_code not_called(const struct rn_fn_args *a, struct rn_value *out)
{
    (void)a;
    (void)out;
    return RN_OK;
}

const struct rn_function rn_functions_aggregate[] = {
    { "AVG", 1, 1, .run = not_called, .aggregate = RN_AGGREGATE_AVG },
    { "COUNT", 1, 1, .run = not_called, .aggregate = RN_AGGREGATE_COUNT },
    { "COUNTIF", 1, 1, .run = not_called, .aggregate = RN_AGGREGATE_COUNTIF },
    { "MAX", 1, 1, .run = not_called, .aggregate = RN_AGGREGATE_MAX },
    { "MIN", 1, 1, .run = not_called, .aggregate = RN_AGGREGATE_MIN },
    { "SUM", 1, 1, .run = not_called, .aggregate = RN_AGGREGATE_SUM },
    { "MAKELIST", 1, 1, .run = not_called, .aggregate = RN_AGGREGATE_MAKELIST },
    { "MAKESET", 1, 1, .run = not_called, .aggregate = RN_AGGREGATE_MAKESET },
    { 0 },
};

/* The memory of a longer string is reused for later, shorter ones. */
static enum rn_code set_best(struct rn_aggregate *a, const struct rn_value *v,
                             struct rn_arena *arena)
{
    char *room = a->best_room ? (char *)(uintptr_t)a->best.text.at : NULL;

    if (v->kind != RN_VALUE_STRING) {
        a->best_room = 0;
        a->best = *v;
        return RN_OK;
    }
    if (v->text.len > a->best_room || !room) {
        a->best_room = v->text.len + v->text.len / 2 + 16;
        room = rn_arena_alloc(arena, a->best_room);
        if (!room)
            return RN_TOO_LARGE;
    }
    if (v->text.len)
        memcpy(room, v->text.at, v->text.len);
    a->best = rn_value_string(rn_view_of(room, v->text.len));
    return RN_OK;
}

/* MIN and MAX compare scalars of all kinds, by kind and value; a container
 * makes the result undefined. */
static enum rn_code add_best(struct rn_aggregate *a, const struct rn_value *v,
                             int sign, struct rn_arena *arena)
{
    int order = sign;
    enum rn_code rc = RN_OK;

    if (v->kind >= RN_VALUE_ARRAY)
        a->is_spoilt = true;
    if (a->is_spoilt)
        return RN_OK;
    if (a->count > 1)
        rc = rn_value_compare(v, &a->best, arena, &order);
    if (rc || order * sign <= 0)
        return rc;
    return set_best(a, v, arena);
}

static enum rn_code add_list(struct rn_aggregate *a, const struct rn_value *v,
                             enum rn_hold hold, struct rn_arena *arena)
{
    a->list = rn_ast_grow(arena, a->list, a->list_count, &a->list_room,
                          sizeof(*a->list));
    if (!a->list)
        return RN_TOO_LARGE;
    a->list[a->list_count] = *v;
    if (hold == RN_HOLD_NOTHING) {
        a->list_count++;
        return RN_OK;
    }
    return rn_value_copy(v, arena, &a->list[a->list_count++]);
}

static enum rn_code add_set(struct rn_run *r, struct rn_aggregate *a,
                            const struct rn_value *v, enum rn_hold hold,
                            struct rn_arena *arena)
{
    uint32_t place;
    bool is_new;
    enum rn_code rc;

    a->set.arena = arena;
    rn_buf_clear(&r->encoded);
    rc = rn_value_encode(v, r->arena, &r->encoded);
    if (!rc)
        rc =
            rn_hash_set_add(&a->set, rn_buf_view(&r->encoded), &place, &is_new);
    if (rc || !is_new)
        return rc;
    return add_list(a, v, hold, arena);
}

enum rn_code rn_aggregate_add(struct rn_run *r, struct rn_aggregate *a,
                              const struct rn_value *v, enum rn_hold hold,
                              struct rn_arena *arena)
{
    if (v->kind == RN_VALUE_UNDEFINED)
        return RN_OK;
    a->count++;
    switch (a->function->aggregate) {
    case RN_AGGREGATE_NONE:
    case RN_AGGREGATE_COUNT:
        break;
    case RN_AGGREGATE_COUNTIF:
        a->count -= !rn_value_is_true(v);
        break;
    case RN_AGGREGATE_AVG:
    case RN_AGGREGATE_SUM:
        if (v->kind == RN_VALUE_NUMBER)
            a->sum += rn_value_real(v);
        else
            a->is_spoilt = true;
        break;
    case RN_AGGREGATE_MAX:
        return add_best(a, v, 1, arena);
    case RN_AGGREGATE_MIN:
        return add_best(a, v, -1, arena);
    case RN_AGGREGATE_MAKELIST:
        return add_list(a, v, hold, arena);
    case RN_AGGREGATE_MAKESET:
        return add_set(r, a, v, hold, arena);
    }
    return RN_OK;
}

struct rn_value rn_aggregate_end(const struct rn_aggregate *a)
{
    switch (a->function->aggregate) {
    case RN_AGGREGATE_COUNT:
    case RN_AGGREGATE_COUNTIF:
        return rn_value_int((int64_t)a->count);
    case RN_AGGREGATE_SUM:
        if (!a->is_spoilt)
            return rn_value_double(a->sum);
        break;
    case RN_AGGREGATE_AVG:
        if (!a->is_spoilt && a->count)
            return rn_value_double(a->sum / (double)a->count);
        break;
    case RN_AGGREGATE_MAX:
    case RN_AGGREGATE_MIN:
        if (!a->is_spoilt && a->count)
            return a->best;
        break;
    case RN_AGGREGATE_MAKELIST:
    case RN_AGGREGATE_MAKESET:
        return rn_value_array(a->list, a->list_count);
    case RN_AGGREGATE_NONE:
        break;
    }
    return rn_value_undefined();
}
