/* groups.c -- hash aggregation: GROUP BY, or all rows in one group. */
#include "query/run/groups.h"

#include "query/fn/function.h"
#include "query/run/aggregate.h"
#include "query/run/encode.h"
#include "query/run/eval.h"
#include "query/run/select.h"

struct rn_group {
    struct rn_value *keys;
    struct rn_aggregate *aggregates;
};

static enum rn_code new_group(struct rn_groups *g, struct rn_group *group)
{
    const struct rn_select *s = g->select;
    size_t keys = (s->group_count + 1) * sizeof(*group->keys);
    size_t states = (s->aggregate_count + 1) * sizeof(*group->aggregates);
    enum rn_code rc = RN_OK;

    group->keys = rn_arena_alloc(g->arena, keys);
    group->aggregates = rn_arena_alloc(g->arena, states);
    if (!group->keys || !group->aggregates)
        return RN_TOO_LARGE;
    memset(group->aggregates, 0, states);
    for (uint32_t i = 0; i < s->aggregate_count; i++)
        group->aggregates[i].function = s->aggregates[i]->function;
    for (uint32_t i = 0; i < s->group_count && !rc; i++) {
        struct rn_value *key = &g->run->frame[s->group_slot + (int32_t)i];
        group->keys[i] = *key;
        if (g->hold != RN_HOLD_NOTHING)
            rc = rn_value_copy(key, g->arena, &group->keys[i]);
    }
    return rc;
}

/* Writes the keys of the current row to their slots and, encoded, to the run's
 * buffer. */
static enum rn_code compute_keys(struct rn_groups *g)
{
    const struct rn_select *s = g->select;
    struct rn_run *r = g->run;
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < s->group_count && !rc; i++)
        rc = rn_eval(r, s->group[i], &r->frame[s->group_slot + (int32_t)i]);
    rn_buf_clear(&r->encoded);
    for (uint32_t i = 0; i < s->group_count && !rc; i++)
        rc = rn_value_encode(&r->frame[s->group_slot + (int32_t)i], r->arena,
                             &r->encoded);
    return rc;
}

static enum rn_code find_group(struct rn_groups *g, uint32_t *place)
{
    bool is_new;
    enum rn_code rc;

    g->keys.arena = g->arena;
    rc = rn_hash_set_add(&g->keys, rn_buf_view(&g->run->encoded), place,
                         &is_new);
    if (rc || !is_new)
        return rc;
    g->list =
        rn_ast_grow(g->arena, g->list, *place, &g->room, sizeof(*g->list));
    return g->list ? new_group(g, &g->list[*place]) : RN_TOO_LARGE;
}

enum rn_code rn_groups_add(struct rn_groups *g)
{
    const struct rn_select *s = g->select;
    struct rn_value v;
    uint32_t place = 0;
    enum rn_code rc;

    rc = compute_keys(g);
    if (!rc)
        rc = find_group(g, &place);
    for (uint32_t i = 0; i < s->aggregate_count && !rc; i++) {
        rc = rn_eval(g->run, s->aggregates[i]->kids[0], &v);
        if (!rc)
            rc = rn_aggregate_add(g->run, &g->list[place].aggregates[i], &v,
                                  g->hold, g->arena);
    }
    return rc;
}

enum rn_code rn_groups_end(struct rn_groups *g, rn_row_fn *row, void *context)
{
    const struct rn_select *s = g->select;
    struct rn_value *frame = g->run->frame;
    struct rn_value out;
    bool stop = false;
    uint32_t place;
    enum rn_code rc = RN_OK;

    rn_buf_clear(&g->run->encoded);
    if (s->group_count == 0)
        rc = find_group(g, &place);
    for (uint32_t i = 0; i < g->keys.count && !rc && !stop; i++) {
        for (uint32_t k = 0; k < s->group_count; k++)
            frame[s->group_slot + (int32_t)k] = g->list[i].keys[k];
        for (uint32_t k = 0; k < s->aggregate_count; k++)
            frame[s->aggregates[k]->slot] =
                rn_aggregate_end(&g->list[i].aggregates[k]);
        if (g->hold == RN_HOLD_TEXT) /* the last row is printed */
            rn_arena_clear(g->run->arena);
        rc = rn_select_project(g->run, s, &out);
        if (!rc && out.kind != RN_VALUE_UNDEFINED)
            rc = row(context, &out, &stop);
    }
    return rc;
}
