/* fn_vector.c -- built-in functions: vector distance. */
#include "query/fn/function.h"

#include "query/check/policy.h"
#include "query/run/run.h"

#include <math.h>

/* Sums over both vectors in one pass; false if they are not two vectors of the
 * same length. */
struct sums {
    double dot, a, b, apart; /* products; squares; squares of differences */
};

static bool add_up(const struct rn_fn_args *a, struct sums *s)
{
    struct rn_value_walk x = rn_value_walk_begin(&a->at[0], a->arena);
    struct rn_value_walk y = rn_value_walk_begin(&a->at[1], a->arena);

    while (rn_value_walk_next(&x) && rn_value_walk_next(&y)) {
        double p, q;
        if (x.value.kind != RN_VALUE_NUMBER || y.value.kind != RN_VALUE_NUMBER)
            return false;
        p = rn_value_real(&x.value);
        q = rn_value_real(&y.value);
        s->dot += p * q;
        s->a += p * p;
        s->b += q * q;
        s->apart += (p - q) * (p - q);
    }
    return true;
}

static enum rn_code fn_distance(const struct rn_fn_args *a,
                                struct rn_value *out)
{
    struct sums s = { 0 };
    double found;

    if (!rn_arg_is(a, 0, RN_VALUE_ARRAY) || !rn_arg_is(a, 1, RN_VALUE_ARRAY) ||
        a->at[0].count != a->at[1].count || a->at[0].count == 0 ||
        !add_up(a, &s))
        return RN_OK;
    if (a->mode == RN_DISTANCE_EUCLID)
        found = sqrt(s.apart);
    else if (a->mode == RN_DISTANCE_DOT)
        found = s.dot;
    else
        found = s.dot / sqrt(s.a * s.b);
    if (isfinite(found)) /* the zero vector has no direction */
        *out = rn_value_double(found);
    return rn_run_step(a->run, a->at[0].count / 8);
}

const struct rn_function rn_functions_vector[] = {
    { .name = "VectorDistance",
      .min = 2,
      .max = 4,
      .run = fn_distance,
      .is_vector = true },
    { 0 },
};
