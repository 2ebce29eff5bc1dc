/* aggregate.c -- see aggregate.h. */
#include "client/query/aggregate.h"

#include "json/number.h"

#include <inttypes.h>
#include <math.h>

enum { LIST_MAX = 64 << 20 };

void rn_total_init(struct rn_total *t, enum rn_merge_aggregate kind)
{
    *t = (struct rn_total){ .kind = kind, .list = RN_BUF_INIT(LIST_MAX) };
}

void rn_total_release(struct rn_total *t)
{
    rn_buf_release(&t->list);
    rn_value_set_release(&t->seen);
}

static struct rn_merge_item member(struct rn_merge_item of, const char *name)
{
    return (struct rn_merge_item){ of.j, rn_json_find(of.j, of.at,
                                                      rn_view_text(name)) };
}

static enum rn_json_kind kind_of(struct rn_merge_item v)
{
    return rn_json_kind(v.j, v.at);
}

/* ---- adding -------------------------------------------------------------- */

static void add_number(struct rn_total *t, struct rn_merge_item v)
{
    int64_t n;

    if (!t->is_real && rn_json_int64(v.j, v.at, &n) &&
        !__builtin_add_overflow(t->whole, n, &t->whole))
        return;
    if (!t->is_real) {
        t->is_real = true;
        t->real = (double)t->whole;
    }
    t->real += rn_json_double(v.j, v.at);
}

/* A sum is undefined if a range met a value that is not a number. */
static enum rn_code add_sum(struct rn_total *t, struct rn_merge_item v)
{
    if (kind_of(v) == RN_JSON_UNDEFINED)
        t->is_undefined = true;
    else if (kind_of(v) != RN_JSON_NUMBER)
        return RN_CORRUPT;
    else
        add_number(t, v);
    t->has_value = true;
    return RN_OK;
}

static enum rn_code add_average(struct rn_total *t, struct rn_merge_item v)
{
    struct rn_merge_item count = member(v, "count");

    if (kind_of(count) != RN_JSON_NUMBER)
        return RN_CORRUPT;
    if (rn_json_double(count.j, count.at) == 0)
        return RN_OK;
    t->count += rn_json_double(count.j, count.at);
    return add_sum(t, member(v, "sum"));
}

/* `item2` distinguishes a range without values from one whose values have no
 * order. */
static enum rn_code add_extreme(struct rn_total *t, struct rn_merge_item said,
                                struct rn_arena *arena)
{
    struct rn_merge_item more = member(said, "item2"), v = member(said, "item"),
                         old;
    struct rn_merge_item count = member(more, "count");
    struct rn_json j;
    int order = 0;
    enum rn_code rc = RN_OK;

    if (kind_of(more) == RN_JSON_OBJECT) {
        v = member(more, t->kind == RN_AGGREGATE_MIN ? "min" : "max");
        if (kind_of(count) != RN_JSON_NUMBER)
            return RN_CORRUPT;
        if (rn_json_double(count.j, count.at) == 0)
            return RN_OK;
        if (kind_of(v) == RN_JSON_UNDEFINED)
            t->is_undefined = true;
    }
    if (kind_of(v) == RN_JSON_UNDEFINED)
        return RN_OK;
    if (t->has_value) {
        rn_json_init(&j, NULL);
        rc = rn_json_parse(&j, t->value, NULL);
        old = (struct rn_merge_item){ &j, 0 };
        if (!rc)
            rc = rn_merge_item_compare(v, old, &order);
        rn_json_release(&j);
        if (rc || (t->kind == RN_AGGREGATE_MIN ? order >= 0 : order <= 0))
            return rc;
    }
    t->has_value = true;
    t->value = rn_merge_item_keep(v, arena);
    return t->value.at ? RN_OK
                       : rn_arena_lack(arena, rn_json_text(v.j, v.at).len + 2);
}

static enum rn_code add_elements(struct rn_total *t, struct rn_merge_item v,
                                 struct rn_arena *arena)
{
    struct rn_json_walk w = rn_json_walk_begin(v.j, v.at);
    enum rn_code rc = RN_OK;
    bool is_new = true;

    t->has_value = true;
    if (kind_of(v) == RN_JSON_UNDEFINED)
        return RN_OK;
    if (kind_of(v) != RN_JSON_ARRAY)
        return RN_CORRUPT;
    while (!rc && rn_json_walk_next(&w)) {
        struct rn_merge_item one = { v.j, w.value };
        if (t->kind == RN_AGGREGATE_SET)
            rc = rn_value_set_add(&t->seen, one, arena, &is_new);
        if (!rc && is_new)
            rc = rn_buf_add(&t->list, RN_LIT(","));
        if (!rc && is_new)
            rc = rn_merge_item_print(one, &t->list);
    }
    return rc;
}

enum rn_code rn_total_add(struct rn_total *t, struct rn_merge_item said,
                          struct rn_arena *arena)
{
    switch (t->kind) {
    case RN_AGGREGATE_NONE:
        if (t->has_value || kind_of(said) == RN_JSON_UNDEFINED)
            return RN_OK;
        t->has_value = true;
        t->value = rn_merge_item_keep(said, arena);
        if (t->value.at)
            return RN_OK;
        return rn_arena_lack(arena, rn_json_text(said.j, said.at).len + 2);
    case RN_AGGREGATE_AVERAGE:
        return add_average(t, member(said, "item"));
    case RN_AGGREGATE_COUNT:
    case RN_AGGREGATE_COUNT_IF:
    case RN_AGGREGATE_SUM:
        return add_sum(t, member(said, "item"));
    case RN_AGGREGATE_MAX:
    case RN_AGGREGATE_MIN:
        return add_extreme(t, said, arena);
    case RN_AGGREGATE_LIST:
    case RN_AGGREGATE_SET:
        break;
    }
    return add_elements(t, member(said, "item"), arena);
}

/* ---- the result ---------------------------------------------------------- */

static enum rn_code print_real(double value, struct rn_buf *out)
{
    char text[RN_NUMBER_TEXT_MAX];

    return rn_buf_add(out, rn_view_of(text, rn_number_print(value, text)));
}

static enum rn_code print_list(const struct rn_total *t, struct rn_buf *out)
{
    struct rn_view list = rn_buf_view(&t->list);
    enum rn_code rc = rn_buf_add(out, RN_LIT("["));

    if (!rc && list.len > 0)
        rc = rn_buf_add(out, rn_view_of(list.at + 1, list.len - 1));
    return rc ? rc : rn_buf_add(out, RN_LIT("]"));
}

enum rn_code rn_total_print(const struct rn_total *t, struct rn_buf *out,
                            bool *defined)
{
    double sum = t->is_real ? t->real : (double)t->whole;

    if (t->kind == RN_AGGREGATE_AVERAGE)
        sum /= t->count;
    *defined = t->has_value && !t->is_undefined;
    if (!*defined)
        return RN_OK;
    if (!isfinite(sum))
        return RN_BAD_REQUEST;
    switch (t->kind) {
    case RN_AGGREGATE_NONE:
    case RN_AGGREGATE_MAX:
    case RN_AGGREGATE_MIN:
        return rn_buf_add(out, t->value);
    case RN_AGGREGATE_AVERAGE:
        return print_real(sum, out);
    case RN_AGGREGATE_COUNT:
    case RN_AGGREGATE_COUNT_IF:
    case RN_AGGREGATE_SUM:
        if (t->is_real)
            return print_real(t->real, out);
        return rn_buf_printf(out, "%" PRId64, t->whole);
    case RN_AGGREGATE_LIST:
    case RN_AGGREGATE_SET:
        break;
    }
    return print_list(t, out);
}
