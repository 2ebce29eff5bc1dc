/* where_intervals.c -- derives from WHERE the key intervals of a path.
 *
 * Like where_equalities.c, with intervals of sort keys instead of values: for
 * an expression and a required truth value, `look` gives the intervals that can
 * hold the path's value.  AND intersects, OR unites, NOT inverts the
 * requirement.  An expression that is not understood leaves the path unbounded,
 * which is always correct.  Intervals may be too wide, since WHERE is evaluated
 * again on each document.
 */
#include "query/where/where_intervals.h"

#include "query/fn/fn_regex.h"
#include "query/fn/function.h"
#include "query/fn/like.h"
#include "query/run/eval.h"
#include "query/run/run.h"

#include <math.h>
#include <stdlib.h>

struct looker {
    struct rn_run run; /* evaluates constants */
    const struct rn_select *select;
    const struct rn_json_path *path;
    size_t text_max;
    struct rn_arena *arena;
};

static const struct rn_where_intervals anywhere = { 0 };
static const struct rn_where_intervals nowhere = { .is_bounded = true };

/* ---- sets of intervals: sorted, disjoint --------------------------------- */

static enum rn_code add(struct looker *l, struct rn_where_intervals *to,
                        uint32_t *room, struct rn_sortkey_interval span)
{
    struct rn_sortkey_interval *list =
        (struct rn_sortkey_interval *)(uintptr_t)to->list;

    if (rn_view_compare(span.from, span.before) >= 0)
        return RN_OK;
    list = rn_ast_grow(l->arena, list, to->count, room, sizeof(*list));
    if (!list)
        return RN_TOO_LARGE;
    list[to->count++] = span;
    to->list = list;
    return RN_OK;
}

static enum rn_code set_one(struct looker *l, struct rn_sortkey_interval span,
                            struct rn_where_intervals *out)
{
    uint32_t room = 0;

    *out = nowhere;
    return add(l, out, &room, span);
}

static enum rn_code intersect(struct looker *l, struct rn_where_intervals *into,
                              const struct rn_where_intervals *with)
{
    struct rn_where_intervals both = nowhere;
    uint32_t room = 0, i = 0, k = 0;
    enum rn_code rc = RN_OK;

    if (!with->is_bounded)
        return RN_OK;
    if (!into->is_bounded) {
        *into = *with;
        return RN_OK;
    }
    while (!rc && i < into->count && k < with->count) {
        struct rn_sortkey_interval a = into->list[i], b = with->list[k];
        bool is_first = rn_view_compare(a.before, b.before) < 0;
        struct rn_sortkey_interval meet = {
            .from = rn_view_compare(a.from, b.from) < 0 ? b.from : a.from,
            .before = is_first ? a.before : b.before,
            .is_point = a.is_point || b.is_point,
        };

        rc = add(l, &both, &room, meet);
        i += is_first;
        k += !is_first;
    }
    *into = both;
    return rc;
}

static int by_from(const void *a, const void *b)
{
    const struct rn_sortkey_interval *x = a, *y = b;

    return rn_view_compare(x->from, y->from);
}

/* Sorts the intervals and merges those that touch. */
static void sort_and_merge(struct rn_where_intervals *s)
{
    struct rn_sortkey_interval *list =
        (struct rn_sortkey_interval *)(uintptr_t)s->list;
    uint32_t n = 0;

    if (s->count < 2)
        return;
    qsort(list, s->count, sizeof(*list), by_from);
    for (uint32_t i = 1; i < s->count; i++) {
        struct rn_sortkey_interval *last = &list[n];
        if (rn_view_compare(last->before, list[i].from) < 0) {
            list[++n] = list[i];
            continue;
        }
        if (rn_view_compare(last->before, list[i].before) < 0)
            last->before = list[i].before;
        last->is_point = last->is_point && list[i].is_point;
    }
    s->count = n + 1;
}

/* ---- intervals of values ------------------------------------------------- */

static enum rn_code copy(struct looker *l, const char *bytes, size_t len,
                         struct rn_view *out)
{
    *out = rn_arena_copy(l->arena, rn_view_of(bytes, len));
    return out->at ? RN_OK : RN_TOO_LARGE;
}

/* The upper bound of all keys that start with these bytes.  The first byte is a
 * tag below FF, so that the bound exists. */
static enum rn_code copy_past(struct looker *l, const char *bytes, size_t len,
                              struct rn_view *out)
{
    char past[RN_SORTKEY_MAX];

    memcpy(past, bytes, len);
    while ((unsigned char)past[len - 1] == 0xff)
        len--;
    past[len - 1]++;
    return copy(l, past, len, out);
}

static enum rn_code between_tags(struct looker *l, enum rn_sortkey_tag from,
                                 enum rn_sortkey_tag before,
                                 struct rn_where_intervals *out)
{
    char tags[2] = { (char)from, (char)before };
    struct rn_sortkey_interval span = { .is_point = false };
    enum rn_code rc = copy(l, tags, 1, &span.from);

    if (!rc)
        rc = copy(l, tags + 1, 1, &span.before);
    return rc ? rc : set_one(l, span, out);
}

static enum rn_code prefixed(struct looker *l, struct rn_view text,
                             struct rn_where_intervals *out)
{
    char bytes[RN_SORTKEY_MAX];
    size_t len = rn_sortkey_encode_prefix(text, l->text_max, bytes);
    struct rn_sortkey_interval span = { .is_point = false };
    enum rn_code rc = copy(l, bytes, len, &span.from);

    if (!rc)
        rc = copy_past(l, bytes, len, &span.before);
    return rc ? rc : set_one(l, span, out);
}

/* The tags of the kinds that compare with the value; false if none does. */
static bool tags_of(const struct rn_value *v, char out[2])
{
    static const char tags[][2] = {
        [RN_VALUE_UNDEFINED] = { 0, 0 },
        [RN_VALUE_NULL] = { RN_SORTKEY_NULL, RN_SORTKEY_FALSE },
        [RN_VALUE_BOOL] = { RN_SORTKEY_FALSE, RN_SORTKEY_NUMBER },
        [RN_VALUE_NUMBER] = { RN_SORTKEY_NUMBER, RN_SORTKEY_STRING },
        [RN_VALUE_STRING] = { RN_SORTKEY_STRING, RN_SORTKEY_ARRAY },
        [RN_VALUE_ARRAY] = { 0, 0 },
        [RN_VALUE_OBJECT] = { 0, 0 },
    };

    memcpy(out, tags[v->kind], 2);
    return out[0] != 0;
}

static bool is_nan(const struct rn_value *v)
{
    return v->kind == RN_VALUE_NUMBER && !v->is_integer && isnan(v->real);
}

/* The intervals where path `op` value is true. */
static enum rn_code compared(struct looker *l, enum rn_op op,
                             const struct rn_value *v,
                             struct rn_where_intervals *out)
{
    struct rn_sortkey_form form = { .text_max = l->text_max };
    struct rn_sortkey_interval span = { .is_point = op == RN_OP_EQUAL };
    char bytes[RN_SORTKEY_MAX], tags[2];
    bool is_cut, is_less = op == RN_OP_LESS || op == RN_OP_LESS_EQUAL;
    size_t len;
    enum rn_code rc;

    if (is_nan(v))
        return RN_OK;
    *out = nowhere;
    if (v->kind == RN_VALUE_UNDEFINED || (!tags_of(v, tags) && !span.is_point))
        return RN_OK;
    len = rn_sortkey_encode(v, &form, bytes, &is_cut);
    if (is_less)
        rc = copy(l, tags, 1, &span.from);
    else if (op == RN_OP_GREATER && !is_cut)
        rc = copy_past(l, bytes, len, &span.from);
    else
        rc = copy(l, bytes, len, &span.from);
    if (rc)
        return rc;
    if (op == RN_OP_GREATER || op == RN_OP_GREATER_EQUAL)
        rc = copy(l, tags + 1, 1, &span.before);
    else if (op == RN_OP_LESS && !is_cut)
        rc = copy(l, bytes, len, &span.before);
    else
        rc = copy_past(l, bytes, len, &span.before);
    return rc ? rc : set_one(l, span, out);
}

/* ---- expressions --------------------------------------------------------- */

static enum rn_code look(struct looker *l, const struct rn_expr *e, bool want,
                         struct rn_where_intervals *out);

static bool is_path(const struct looker *l, const struct rn_expr *e)
{
    return rn_expr_is_path(&l->select->from[0], e, l->path);
}

static enum rn_code look_logic(struct looker *l, const struct rn_expr *e,
                               bool want, struct rn_where_intervals *out)
{
    bool is_all = (e->op == RN_OP_AND) == want;
    struct rn_where_intervals kid, sum = nowhere;
    uint32_t room = 0;
    enum rn_code rc = RN_OK;

    *out = anywhere;
    for (uint32_t i = 0; i < e->count && !rc; i++) {
        rc = look(l, e->kids[i], want, &kid);
        if (!rc && is_all)
            rc = intersect(l, out, &kid);
        if (is_all)
            continue;
        if (!kid.is_bounded)
            return rc; /* one alternative is unbounded */
        for (uint32_t k = 0; k < kid.count && !rc; k++)
            rc = add(l, &sum, &room, kid.list[k]);
    }
    if (!is_all) {
        sort_and_merge(&sum);
        *out = sum;
    }
    return rc;
}

/* `mirror` gives the operator for exchanged operands; `opposite` gives the one
 * that is true where the first is false, for two comparable values. */
static enum rn_op mirror(enum rn_op op)
{
    switch (op) {
    case RN_OP_LESS:
        return RN_OP_GREATER;
    case RN_OP_LESS_EQUAL:
        return RN_OP_GREATER_EQUAL;
    case RN_OP_GREATER:
        return RN_OP_LESS;
    case RN_OP_GREATER_EQUAL:
        return RN_OP_LESS_EQUAL;
    default:
        return op;
    }
}

static enum rn_op opposite(enum rn_op op)
{
    switch (op) {
    case RN_OP_LESS:
        return RN_OP_GREATER_EQUAL;
    case RN_OP_LESS_EQUAL:
        return RN_OP_GREATER;
    case RN_OP_GREATER:
        return RN_OP_LESS_EQUAL;
    case RN_OP_GREATER_EQUAL:
        return RN_OP_LESS;
    case RN_OP_EQUAL:
        return RN_OP_NOT_EQUAL;
    case RN_OP_NOT_EQUAL:
        return RN_OP_EQUAL;
    default:
        return RN_OP_NONE;
    }
}

/* `side` op a constant. */
static enum rn_code look_compare(struct looker *l, const struct rn_expr *side,
                                 enum rn_op op, const struct rn_expr *constant,
                                 struct rn_where_intervals *out)
{
    struct rn_value v;
    enum rn_code rc;

    if (!(op == RN_OP_EQUAL ||
          (op >= RN_OP_LESS && op <= RN_OP_GREATER_EQUAL)) ||
        !is_path(l, side) || !rn_expr_is_constant(constant))
        return RN_OK;
    rc = rn_eval(&l->run, constant, &v);
    return rc ? rc : compared(l, op, &v, out);
}

static enum rn_code look_binary(struct looker *l, const struct rn_expr *e,
                                bool want, struct rn_where_intervals *out)
{
    enum rn_op op = want ? (enum rn_op)e->op : opposite((enum rn_op)e->op);
    enum rn_code rc = look_compare(l, e->kids[0], op, e->kids[1], out);

    if (!rc && !out->is_bounded)
        rc = look_compare(l, e->kids[1], mirror(op), e->kids[0], out);
    return rc;
}

static enum rn_code look_between(struct looker *l, const struct rn_expr *e,
                                 bool is_same, struct rn_where_intervals *out)
{
    struct rn_where_intervals low = anywhere, high = anywhere;
    uint32_t room = 0;
    enum rn_code rc =
        look_compare(l, e->kids[0], is_same ? RN_OP_GREATER_EQUAL : RN_OP_LESS,
                     e->kids[1], &low);

    if (!rc) {
        rc = look_compare(l, e->kids[0],
                          is_same ? RN_OP_LESS_EQUAL : RN_OP_GREATER,
                          e->kids[2], &high);
    }
    if (!rc && is_same) {
        *out = low;
        return intersect(l, out, &high);
    }
    if (rc || !low.is_bounded || !high.is_bounded)
        return rc;
    *out = nowhere;
    for (uint32_t i = 0; i < low.count && !rc; i++)
        rc = add(l, out, &room, low.list[i]);
    for (uint32_t i = 0; i < high.count && !rc; i++)
        rc = add(l, out, &room, high.list[i]);
    sort_and_merge(out);
    return rc;
}

/* Adds the interval of one value. */
static enum rn_code add_equal(struct looker *l, const struct rn_value *v,
                              struct rn_where_intervals *sum, uint32_t *room)
{
    struct rn_where_intervals one = nowhere;
    enum rn_code rc = compared(l, RN_OP_EQUAL, v, &one);

    return rc || !one.count ? rc : add(l, sum, room, one.list[0]);
}

static enum rn_code look_in(struct looker *l, const struct rn_expr *e,
                            struct rn_where_intervals *out)
{
    struct rn_where_intervals sum = nowhere;
    struct rn_value v;
    uint32_t room = 0;
    enum rn_code rc = RN_OK;

    if (!is_path(l, e->kids[0]))
        return RN_OK;
    for (uint32_t i = 1; i < e->count && !rc; i++) {
        if (!rn_expr_is_constant(e->kids[i]))
            return RN_OK;
        rc = rn_eval(&l->run, e->kids[i], &v);
        if (!rc)
            rc = add_equal(l, &v, &sum, &room);
    }
    sort_and_merge(&sum);
    *out = sum;
    return rc;
}

static enum rn_code look_like(struct looker *l, const struct rn_expr *e,
                              struct rn_where_intervals *out)
{
    struct rn_value v;
    struct rn_view text;
    size_t n = 0;
    enum rn_code rc;

    if (!is_path(l, e->kids[0]) || !rn_expr_is_constant(e->kids[1]))
        return RN_OK;
    rc = rn_eval(&l->run, e->kids[1], &v);
    if (rc || v.kind != RN_VALUE_STRING)
        return rc;
    if (rn_like_is_plain(v.text, e->name, l->arena, &text)) {
        v.text = text;
        return compared(l, RN_OP_EQUAL, &v, out);
    }
    while (n < v.text.len && !strchr("%_[", v.text.at[n]) &&
           !(e->name.len && v.text.at[n] == e->name.at[0]))
        n++;
    return n ? prefixed(l, rn_view_of(v.text.at, n), out) : RN_OK;
}

/* STARTSWITH and STRINGEQUALS. */
static enum rn_code look_text(struct looker *l, const struct rn_expr *e,
                              struct rn_where_intervals *out)
{
    bool is_prefix = strcmp(e->function->name, "STARTSWITH") == 0;
    struct rn_value v, any_case = rn_value_bool(false);
    enum rn_code rc = RN_OK;

    if (!is_path(l, e->kids[0]) || !rn_expr_is_constant(e->kids[1]) ||
        (e->count > 2 && !rn_expr_is_constant(e->kids[2])))
        return RN_OK;
    if (e->count > 2)
        rc = rn_eval(&l->run, e->kids[2], &any_case);
    if (!rc)
        rc = rn_eval(&l->run, e->kids[1], &v);
    if (rc || rn_value_is_true(&any_case))
        return rc;
    if (v.kind != RN_VALUE_STRING) {
        *out = nowhere;
        return RN_OK;
    }
    return is_prefix ? prefixed(l, v.text, out)
                     : compared(l, RN_OP_EQUAL, &v, out);
}

/* ARRAY_CONTAINS with the path as the value searched for. */
static enum rn_code look_elements(struct looker *l, const struct rn_expr *e,
                                  struct rn_where_intervals *out)
{
    struct rn_where_intervals sum = nowhere;
    struct rn_value array;
    struct rn_value_walk w;
    uint32_t room = 0;
    enum rn_code rc;

    if (e->count != 2 || !rn_expr_is_constant(e->kids[0]) ||
        !is_path(l, e->kids[1]))
        return RN_OK;
    rc = rn_eval(&l->run, e->kids[0], &array);
    if (rc)
        return rc;
    if (array.kind == RN_VALUE_ARRAY) {
        w = rn_value_walk_begin(&array, l->arena);
        while (!rc && rn_value_walk_next(&w))
            rc = add_equal(l, &w.value, &sum, &room);
        if (!rc)
            rc = w.rc;
    }
    sort_and_merge(&sum);
    *out = sum;
    return rc;
}

static enum rn_code look_call(struct looker *l, const struct rn_expr *e,
                              bool want, struct rn_where_intervals *out)
{
    static const struct {
        const char *name;
        char from, before;
    } kinds[] = {
        { "IS_DEFINED", RN_SORTKEY_NULL, RN_SORTKEY_END },
        { "IS_NULL", RN_SORTKEY_NULL, RN_SORTKEY_FALSE },
        { "IS_BOOL", RN_SORTKEY_FALSE, RN_SORTKEY_NUMBER },
        { "IS_BOOLEAN", RN_SORTKEY_FALSE, RN_SORTKEY_NUMBER },
        { "IS_NUMBER", RN_SORTKEY_NUMBER, RN_SORTKEY_STRING },
        { "IS_INTEGER", RN_SORTKEY_NUMBER, RN_SORTKEY_STRING },
        { "IS_FINITE_NUMBER", RN_SORTKEY_NUMBER, RN_SORTKEY_STRING },
        { "IS_STRING", RN_SORTKEY_STRING, RN_SORTKEY_ARRAY },
        { "IS_DATETIME", RN_SORTKEY_STRING, RN_SORTKEY_ARRAY },
        { "IS_PRIMITIVE", RN_SORTKEY_NULL, RN_SORTKEY_ARRAY },
        { "IS_ARRAY", RN_SORTKEY_ARRAY, RN_SORTKEY_OBJECT },
        { "IS_OBJECT", RN_SORTKEY_OBJECT, RN_SORTKEY_END },
    };
    const char *name = e->function->name;

    if (!want) {
        if (strcmp(name, "IS_DEFINED") == 0 && is_path(l, e->kids[0]))
            return between_tags(l, RN_SORTKEY_UNDEFINED, RN_SORTKEY_NULL, out);
        return RN_OK;
    }
    if (strcmp(name, "STARTSWITH") == 0 || strcmp(name, "STRINGEQUALS") == 0)
        return look_text(l, e, out);
    if (strcmp(name, "ARRAY_CONTAINS") == 0)
        return look_elements(l, e, out);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(name, kinds[i].name) == 0 && is_path(l, e->kids[0]))
            return between_tags(l, (enum rn_sortkey_tag)kinds[i].from,
                                (enum rn_sortkey_tag)kinds[i].before, out);
    }
    return RN_OK;
}

static enum rn_code look(struct looker *l, const struct rn_expr *e, bool want,
                         struct rn_where_intervals *out)
{
    struct rn_value truth = rn_value_bool(want), v;
    bool is_same = want != e->is_negated;
    enum rn_code rc;

    *out = anywhere;
    if (rn_expr_is_constant(e)) {
        rc = rn_eval(&l->run, e, &v);
        if (!rc && (v.kind != RN_VALUE_BOOL || v.truth != want))
            *out = nowhere;
        return rc;
    }
    if (is_path(l, e))
        return compared(l, RN_OP_EQUAL, &truth, out);
    if (e->kind == RN_EXPR_LOGIC)
        return look_logic(l, e, want, out);
    if (e->kind == RN_EXPR_UNARY && e->op == RN_OP_NOT)
        return look(l, e->kids[0], !want, out);
    if (e->kind == RN_EXPR_BINARY)
        return look_binary(l, e, want, out);
    if (e->kind == RN_EXPR_BETWEEN)
        return look_between(l, e, is_same, out);
    if (e->kind == RN_EXPR_IN && is_same)
        return look_in(l, e, out);
    if (e->kind == RN_EXPR_LIKE && is_same)
        return look_like(l, e, out);
    if (e->kind == RN_EXPR_CALL)
        return look_call(l, e, want, out);
    return RN_OK;
}

enum rn_code rn_where_intervals_find(const struct rn_query *q,
                                     const struct rn_json_path *path,
                                     size_t text_max, struct rn_arena *a,
                                     struct rn_where_intervals *out)
{
    const struct rn_select *s = q->select;
    struct rn_query_stats stats = { 0 };
    struct looker l = {
        .run = { .query = q,
                 .arena = a,
                 .stats = &stats,
                 .encoded = RN_BUF_INIT(a->ceiling + 1),
                 .limits = { .steps = UINT64_C(10000000) } },
        .select = s,
        .path = path,
        .text_max = text_max,
        .arena = a,
    };
    enum rn_code rc;

    *out = anywhere;
    if (!s->from_count || !s->where || s->from[0].query || s->from[0].is_each)
        return RN_OK;
    rc = look(&l, s->where, true, out);
    rn_buf_release(&l.run.encoded);
    rn_regexes_free(l.run.regexes);
    if (rc == RN_TIMEOUT || rc == RN_TOO_LARGE) {
        *out = anywhere; /* over a limit: that is no reason to fail */
        rc = RN_OK;
    }
    return rc;
}
