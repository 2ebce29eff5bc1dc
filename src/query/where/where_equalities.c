/* where_equalities.c -- derives from WHERE the set of possible values of a
 * path.
 *
 * For an expression and a required truth value, `look` gives the values of the
 * path for which the expression can have that truth value.  AND intersects, OR
 * unites, NOT inverts the requirement; an equality with a constant gives that
 * constant; a constant expression is evaluated.  Any other expression allows
 * every value, which is always correct.
 */
#include "query/where/where_equalities.h"

#include "query/fn/fn_regex.h"
#include "query/fn/function.h"
#include "query/fn/like.h"
#include "query/run/encode.h"
#include "query/run/eval.h"
#include "query/run/hash_set.h"
#include "query/run/run.h"

enum { STEPS_MAX = 10000000 };

struct finder {
    struct rn_run run; /* evaluates constants */
    const struct rn_json_path *path;
    const struct rn_from *from;
    struct rn_arena *arena;
};

static const struct rn_where_equalities anything = { 0 };
static const struct rn_where_equalities nothing = { .is_limited = true };

/* ---- sets ---------------------------------------------------------------- */

static enum rn_code limit_to(struct finder *p, const struct rn_value *values,
                             uint32_t count, struct rn_where_equalities *out)
{
    struct rn_value *copy;

    copy = rn_arena_alloc(p->arena, (count + 1) * sizeof(*copy));
    if (!copy)
        return RN_TOO_LARGE;
    if (count)
        memcpy(copy, values, count * sizeof(*copy));
    *out = (struct rn_where_equalities){ copy, count, true };
    return RN_OK;
}

/* The values of `of` that are in `in`, or that are not. */
static enum rn_code sift(struct finder *p, const struct rn_where_equalities *of,
                         const struct rn_where_equalities *in, bool is_in,
                         struct rn_value *to, uint32_t *n)
{
    struct rn_hash_set set = { .arena = p->arena };
    struct rn_buf *bytes = &p->run.encoded;
    uint32_t place;
    bool is_new;
    enum rn_code rc = RN_OK;

    for (uint32_t i = 0; i < in->count + of->count && !rc; i++) {
        bool is_other = i < in->count;
        const struct rn_value *v =
            is_other ? &in->values[i] : &of->values[i - in->count];
        rn_buf_clear(bytes);
        rc = rn_value_encode(v, p->arena, bytes);
        if (!rc)
            rc = rn_hash_set_add(&set, rn_buf_view(bytes), &place, &is_new);
        if (!rc && !is_other && is_new != is_in)
            to[(*n)++] = *v;
    }
    return rc;
}

static enum rn_code intersect(struct finder *p,
                              struct rn_where_equalities *into,
                              const struct rn_where_equalities *with)
{
    struct rn_value *to;
    uint32_t n = 0;
    enum rn_code rc;

    if (!with->is_limited)
        return RN_OK;
    if (!into->is_limited) {
        *into = *with;
        return RN_OK;
    }
    to = rn_arena_alloc(p->arena, (into->count + 1) * sizeof(*to));
    if (!to)
        return RN_TOO_LARGE;
    rc = sift(p, into, with, true, to, &n);
    *into = (struct rn_where_equalities){ to, n, true };
    return rc;
}

/* Clients send thousands of values, united one by one, so the capacity
 * doubles. */
static enum rn_code unite(struct finder *p, struct rn_where_equalities *into,
                          const struct rn_where_equalities *with,
                          uint32_t *room)
{
    struct rn_value *to = (struct rn_value *)(uintptr_t)into->values;

    if (!into->is_limited || !with->is_limited) {
        *into = anything;
        return RN_OK;
    }
    for (uint32_t i = 0; i < with->count; i++) {
        to = rn_ast_grow(p->arena, to, into->count, room, sizeof(*to));
        if (!to)
            return RN_TOO_LARGE;
        to[into->count++] = with->values[i];
        into->values = to;
    }
    return RN_OK;
}

/* ---- expressions --------------------------------------------------------- */

static bool is_path(const struct finder *p, const struct rn_expr *e)
{
    return rn_expr_is_path(p->from, e, p->path);
}

static enum rn_code look(struct finder *p, const struct rn_expr *e, bool want,
                         struct rn_where_equalities *out);

static enum rn_code look_logic(struct finder *p, const struct rn_expr *e,
                               bool want, struct rn_where_equalities *out)
{
    bool is_all = (e->op == RN_OP_AND) == want;
    struct rn_where_equalities kid;
    uint32_t room = 0;
    enum rn_code rc = RN_OK;

    *out = is_all ? anything : nothing;
    for (uint32_t i = 0; i < e->count && !rc; i++) {
        rc = look(p, e->kids[i], want, &kid);
        if (!rc)
            rc = is_all ? intersect(p, out, &kid) : unite(p, out, &kid, &room);
    }
    return rc;
}

/* `side` = a constant. */
static enum rn_code look_equal(struct finder *p, const struct rn_expr *side,
                               const struct rn_expr *constant,
                               struct rn_where_equalities *out)
{
    bool is_abs = side->kind == RN_EXPR_CALL && side->function &&
                  strcmp(side->function->name, "ABS") == 0 &&
                  is_path(p, side->kids[0]);
    struct rn_value v[2];
    enum rn_code rc;

    if (!(is_abs || is_path(p, side)) || !rn_expr_is_constant(constant))
        return RN_OK;
    rc = rn_eval(&p->run, constant, &v[0]);
    if (rc)
        return rc;
    if (v[0].kind == RN_VALUE_UNDEFINED) {
        *out = nothing;
        return RN_OK;
    }
    if (!is_abs)
        return limit_to(p, v, 1, out);
    if (v[0].kind != RN_VALUE_NUMBER || rn_value_real(&v[0]) < 0) {
        *out = nothing;
        return RN_OK;
    }
    v[1] = rn_value_double(-rn_value_real(&v[0]));
    return limit_to(p, v, rn_value_real(&v[0]) == 0 ? 1 : 2, out);
}

static enum rn_code look_in(struct finder *p, const struct rn_expr *e,
                            struct rn_where_equalities *out)
{
    struct rn_value *v;
    uint32_t n = 0;

    if (!is_path(p, e->kids[0]))
        return RN_OK;
    v = rn_arena_alloc(p->arena, e->count * sizeof(*v));
    if (!v)
        return RN_TOO_LARGE;
    for (uint32_t i = 1; i < e->count; i++) {
        enum rn_code rc;
        if (!rn_expr_is_constant(e->kids[i]))
            return RN_OK;
        rc = rn_eval(&p->run, e->kids[i], &v[n]);
        if (rc)
            return rc;
        n += v[n].kind != RN_VALUE_UNDEFINED;
    }
    *out = (struct rn_where_equalities){ v, n, true };
    return RN_OK;
}

static enum rn_code look_like(struct finder *p, const struct rn_expr *e,
                              struct rn_where_equalities *out)
{
    struct rn_value pattern;
    struct rn_view text;
    enum rn_code rc;

    if (!is_path(p, e->kids[0]) || !rn_expr_is_constant(e->kids[1]))
        return RN_OK;
    rc = rn_eval(&p->run, e->kids[1], &pattern);
    if (rc || pattern.kind != RN_VALUE_STRING ||
        !rn_like_is_plain(pattern.text, e->name, p->arena, &text))
        return rc;
    pattern.text = text;
    return limit_to(p, &pattern, 1, out);
}

static enum rn_code look_elements(struct finder *p, const struct rn_expr *e,
                                  struct rn_where_equalities *out)
{
    struct rn_value array, *v;
    struct rn_value_walk w;
    uint32_t n = 0;
    enum rn_code rc;

    if (e->count != 2 || !rn_expr_is_constant(e->kids[0]) ||
        !is_path(p, e->kids[1]))
        return RN_OK;
    rc = rn_eval(&p->run, e->kids[0], &array);
    if (rc)
        return rc;
    *out = nothing;
    if (array.kind != RN_VALUE_ARRAY)
        return RN_OK;
    v = rn_arena_alloc(p->arena, (array.count + 1) * sizeof(*v));
    if (!v)
        return RN_TOO_LARGE;
    w = rn_value_walk_begin(&array, p->arena);
    while (rn_value_walk_next(&w))
        v[n++] = w.value;
    *out = (struct rn_where_equalities){ v, n, true };
    return w.rc;
}

static enum rn_code look_call(struct finder *p, const struct rn_expr *e,
                              struct rn_where_equalities *out)
{
    const char *name = e->function->name;
    struct rn_value both[2] = { rn_value_bool(false), rn_value_bool(true) };
    struct rn_value null = { .kind = RN_VALUE_NULL };

    if (strcmp(name, "ARRAY_CONTAINS") == 0)
        return look_elements(p, e, out);
    if (e->count != 1 || !is_path(p, e->kids[0]))
        return RN_OK;
    if (strcmp(name, "IS_NULL") == 0)
        return limit_to(p, &null, 1, out);
    if (strncmp(name, "IS_BOOL", 7) == 0)
        return limit_to(p, both, 2, out);
    return RN_OK;
}

static enum rn_code look_constant(struct finder *p, const struct rn_expr *e,
                                  bool want, struct rn_where_equalities *out)
{
    struct rn_value v;
    enum rn_code rc = rn_eval(&p->run, e, &v);

    if (!rc && (v.kind != RN_VALUE_BOOL || v.truth != want))
        *out = nothing;
    return rc;
}

static enum rn_code look(struct finder *p, const struct rn_expr *e, bool want,
                         struct rn_where_equalities *out)
{
    struct rn_value truth = rn_value_bool(want);
    bool is_same = want != e->is_negated;
    enum rn_code rc = RN_OK;

    *out = anything;
    if (rn_expr_is_constant(e))
        return look_constant(p, e, want, out);
    if (is_path(p, e))
        return limit_to(p, &truth, 1, out);
    if (e->kind == RN_EXPR_LOGIC)
        return look_logic(p, e, want, out);
    if (e->kind == RN_EXPR_UNARY && e->op == RN_OP_NOT)
        return look(p, e->kids[0], !want, out);
    if (e->kind == RN_EXPR_BINARY &&
        e->op == (want ? RN_OP_EQUAL : RN_OP_NOT_EQUAL)) {
        rc = look_equal(p, e->kids[0], e->kids[1], out);
        if (!rc && !out->is_limited)
            rc = look_equal(p, e->kids[1], e->kids[0], out);
    } else if (e->kind == RN_EXPR_IN && is_same) {
        rc = look_in(p, e, out);
    } else if (e->kind == RN_EXPR_LIKE && is_same) {
        rc = look_like(p, e, out);
    } else if (e->kind == RN_EXPR_CALL && want) {
        rc = look_call(p, e, out);
    }
    return rc;
}

enum rn_code rn_where_equalities_find(const struct rn_query *q,
                                      const struct rn_json_path *path,
                                      struct rn_arena *a,
                                      struct rn_where_equalities *out)
{
    const struct rn_select *s = q->select;
    struct rn_query_stats stats = { 0 };
    struct finder p = {
        .run = { .query = q,
                 .arena = a,
                 .stats = &stats,
                 .encoded = RN_BUF_INIT(a->ceiling + 1),
                 .limits = { .steps = STEPS_MAX } },
        .path = path,
        .arena = a,
    };
    enum rn_code rc;

    *out = s->from_count ? anything : nothing;
    if (!s->from_count || !s->where || s->from[0].query || s->from[0].is_each)
        return RN_OK;
    p.from = &s->from[0];
    rc = look(&p, s->where, true, out);
    rn_buf_release(&p.run.encoded);
    rn_regexes_free(p.run.regexes);
    if (rc == RN_TIMEOUT || rc == RN_TOO_LARGE) {
        *out = anything; /* over a limit: that is no reason to fail */
        rc = RN_OK;
    }
    return rc;
}
