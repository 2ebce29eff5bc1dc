/* check_vector.c -- selects the distance function of a call: from its option,
 * else from the vector policy of the path. */
#include "query/check/check_vector.h"

/* The value of a member of the call's option; undefined if it is absent or not
 * a constant. */
static enum rn_code read_option(struct rn_check *c, const struct rn_expr *call,
                                struct rn_view name, struct rn_value *out)
{
    const struct rn_expr *e = call->count > 3 ? call->kids[3] : NULL;

    *out = rn_value_undefined();
    if (e && e->kind == RN_EXPR_PARAMETER)
        return rn_value_member(&e->value, name, c->arena, out);
    for (uint32_t i = 0; e && e->kind == RN_EXPR_OBJECT && i < e->count; i++) {
        const struct rn_expr *v = e->kids[i];
        bool is_minus = v->kind == RN_EXPR_UNARY && v->op == RN_OP_MINUS &&
                        v->kids[0]->kind == RN_EXPR_LITERAL &&
                        v->kids[0]->value.kind == RN_VALUE_NUMBER;

        if (!rn_view_eq(e->names[i], name))
            continue;
        if (is_minus)
            *out = rn_value_double(-rn_value_real(&v->kids[0]->value));
        else if (v->kind == RN_EXPR_LITERAL)
            *out = v->value;
    }
    return RN_OK;
}

/* The option of a call may name the distance function. */
static enum rn_code read_distance(struct rn_check *c, struct rn_expr *call)
{
    struct rn_value v;
    enum rn_distance distance;
    enum rn_code rc = read_option(c, call, RN_LIT("distanceFunction"), &v);

    if (!rc && v.kind == RN_VALUE_STRING &&
        rn_distance_named(v.text, &distance))
        call->op = (uint8_t)distance;
    return rc;
}

static enum rn_code check_multiplier(struct rn_check *c,
                                     const struct rn_expr *call)
{
    struct rn_value v;
    enum rn_code rc =
        read_option(c, call, RN_LIT("searchListSizeMultiplier"), &v);

    if (rc || v.kind != RN_VALUE_NUMBER ||
        (rn_value_real(&v) >= 1 && rn_value_real(&v) <= 100))
        return rc;
    return rn_faults_add(c->faults, "SC2213", call->kids[3]->start,
                         call->kids[3]->end,
                         "The 'searchListSizeMultiplier' value %.17g specified "
                         "in the VectorDistance function is outside the "
                         "supported range. The value must be between 1 and "
                         "100.",
                         rn_value_real(&v));
}

enum rn_code rn_check_vector(struct rn_check *c, struct rn_expr *e,
                             const struct rn_select *s)
{
    const struct rn_policy_vector *vector;
    struct rn_json_path path;
    enum rn_code rc;

    e->op = RN_DISTANCE_COSINE;
    for (uint32_t i = 0; i < 2; i++) {
        rc = rn_expr_path(s, e->kids[i], c->arena, &path);
        if (rc)
            return rc;
        vector = rn_policy_find_vector(c->policy, &path);
        if (vector)
            e->op = (uint8_t)vector->distance;
    }
    rc = read_distance(c, e);
    return rc ? rc : check_multiplier(c, e);
}
