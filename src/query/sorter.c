/* sorter.c -- rows in the order of ORDER BY.
 *
 * Rows wait with their keys.  Where only the first few can matter (TOP, LIMIT)
 * the rest is dropped each time twice as many have come; survivors move to a
 * fresh arena, so that memory follows what is wanted and not what was read.
 */
#include "query/run.h"

#include <stdlib.h>

struct rn_sorted {
    struct rn_value *keys;
    struct rn_value row;
    uint64_t place; /* in the order they came */
};

enum { FEWEST_TO_DROP = 1024 };

/* Ties keep their order, or the reverse of it if the first key descends. */
static int by_keys(const void *a, const void *b, void *context)
{
    const struct rn_sorted *x = a, *y = b;
    struct rn_sorter *s = context;
    const struct rn_order *order = s->select->order;
    int found;

    for (uint32_t i = 0; i < s->select->order_count; i++) {
        enum rn_code rc =
            rn_value_compare(&x->keys[i], &y->keys[i], s->run->arena, &found);
        s->rc = s->rc ? s->rc : rc;
        if (found)
            return order[i].is_descending ? -found : found;
    }
    found = (x->place > y->place) - (x->place < y->place);
    return order[0].is_descending ? -found : found;
}

static enum rn_code sort(struct rn_sorter *s)
{
    enum rn_code rc = rn_run_step(s->run, s->count);

    if (rc || s->count == 0)
        return rc;
    qsort_r(s->rows, s->count, sizeof(*s->rows), by_keys, s);
    return s->rc;
}

static enum rn_code copy_row(struct rn_sorter *s, const struct rn_sorted *from,
                             struct rn_sorted *to)
{
    uint32_t n = s->select->order_count;
    const struct rn_value *keys = from->keys;
    enum rn_code rc = RN_OK;

    *to = *from;
    to->keys = rn_arena_alloc(s->arena, n * sizeof(*to->keys));
    if (!to->keys)
        return RN_TOO_LARGE;
    memcpy(to->keys, keys, n * sizeof(*keys));
    if (s->hold == RN_HOLD_NOTHING)
        return RN_OK;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = rn_value_copy(&keys[i], s->arena, &to->keys[i]);
    if (rc)
        return rc;
    return s->hold == RN_HOLD_TEXT
               ? rn_value_keep(&from->row, s->arena, &to->row)
               : rn_value_copy(&from->row, s->arena, &to->row);
}

static enum rn_code drop(struct rn_sorter *s)
{
    struct rn_arena *old = s->arena;
    enum rn_code rc = sort(s);

    s->count = (uint32_t)s->most;
    if (rc || s->hold == RN_HOLD_NOTHING)
        return rc;
    s->arena = old == &s->own[0] ? &s->own[1] : &s->own[0];
    for (uint32_t i = 0; i < s->count && !rc; i++) {
        struct rn_sorted row = s->rows[i];
        rc = copy_row(s, &row, &s->rows[i]);
    }
    rn_arena_clear(old);
    return rc;
}

static void begin(struct rn_sorter *s)
{
    size_t most = s->run->keep.ceiling;

    s->memory = RN_BUF_INIT(most);
    s->own[0] = RN_ARENA_INIT(most);
    s->own[1] = RN_ARENA_INIT(most);
    s->arena = s->hold == RN_HOLD_NOTHING ? s->run->arena : &s->own[0];
}

enum rn_code rn_sorter_add(struct rn_sorter *s, const struct rn_value *row)
{
    uint32_t n = s->select->order_count;
    struct rn_sorted new = { .row = *row, .place = s->taken++ };
    enum rn_code rc;

    if (!s->arena)
        begin(s);
    new.keys = rn_arena_alloc(s->run->arena, n * sizeof(*new.keys));
    rc = new.keys ? RN_OK : RN_TOO_LARGE;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = rn_eval(s->run, s->select->order[i].expr, &new.keys[i]);
    if (!rc)
        rc = rn_buf_reserve(&s->memory, sizeof(new));
    if (rc)
        return rc;
    s->rows = (struct rn_sorted *)(void *)s->memory.at;
    rc = copy_row(s, &new, &s->rows[s->count]);
    s->count++;
    s->memory.len = s->count * sizeof(new);
    if (!rc && s->count >= FEWEST_TO_DROP && s->count / 2 >= s->most) {
        rc = drop(s);
        s->memory.len = s->count * sizeof(new);
    }
    return rc;
}

enum rn_code rn_sorter_end(struct rn_sorter *s, rn_row_fn *row, void *context)
{
    bool stop = false;
    enum rn_code rc = sort(s);

    for (uint32_t i = 0; i < s->count && !rc && !stop; i++)
        rc = row(context, &s->rows[i].row, &stop);
    return rc;
}

void rn_sorter_release(struct rn_sorter *s)
{
    rn_buf_release(&s->memory);
    rn_arena_release(&s->own[0]);
    rn_arena_release(&s->own[1]);
}
