/* distinct_hash.c -- DistinctHash of query values; see distinct_hash.h. */
#include "query/run/distinct_hash.h"

#include "json/distinct.h"

void rn_distinct_hash_put(struct rn_hash128 h, char out[RN_DISTINCT_HASH_LEN])
{
    rn_distinct_put(h, out);
}

/* ---- values -------------------------------------------------------------- */

static enum rn_code hash(const struct rn_value *v, struct rn_hash128 seed,
                         struct rn_arena *arena, struct rn_hash128 *out);

/* Clients decide by the text of a number whether it is an integer: -0.0 is not
 * 0, and 9007199254740993.0 is rounded to a double.  A value does not keep its
 * text; the tape does. */
static void look_at_text(const struct rn_value_walk *w, struct rn_value *v)
{
    if (v->kind != RN_VALUE_NUMBER || w->over->form != RN_FORM_TAPE)
        return;
    if (rn_distinct_is_plain(rn_json_text(w->tape.json, w->tape.value)))
        return;
    v->is_integer = false;
    v->real = rn_json_double(w->tape.json, w->tape.value);
}

static enum rn_code hash_array(const struct rn_value *v, struct rn_hash128 seed,
                               struct rn_arena *arena, struct rn_hash128 *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, arena);
    struct rn_hash128 index, item;
    enum rn_code rc = RN_OK;

    *out = rn_distinct_array(seed, &index);
    while (!rc && rn_value_walk_next(&w)) {
        look_at_text(&w, &w.value);
        rc = hash(&w.value, index, arena, &item);
        if (!rc && w.value.kind != RN_VALUE_UNDEFINED)
            *out = rn_distinct_mix(item, *out);
        rn_distinct_next(&index);
    }
    return rc ? rc : w.rc;
}

static enum rn_code hash_object(const struct rn_value *v,
                                struct rn_hash128 seed, struct rn_arena *arena,
                                struct rn_hash128 *out)
{
    struct rn_value_walk w = rn_value_walk_begin(v, arena);
    struct rn_hash128 all = { 0 }, one;
    enum rn_code rc = RN_OK;

    while (!rc && rn_value_walk_next(&w)) {
        look_at_text(&w, &w.value);
        rc = hash(&w.value, rn_distinct_member(w.name), arena, &one);
        if (rc || w.value.kind == RN_VALUE_UNDEFINED)
            continue;
        all.low ^= one.low;
        all.high ^= one.high;
    }
    *out = rn_distinct_object(all, seed);
    return rc ? rc : w.rc;
}

static enum rn_code hash(const struct rn_value *v, struct rn_hash128 seed,
                         struct rn_arena *arena, struct rn_hash128 *out)
{
    switch ((enum rn_value_kind)v->kind) {
    case RN_VALUE_UNDEFINED:
        *out = seed;
        break;
    case RN_VALUE_NULL:
        *out = rn_distinct_null(seed);
        break;
    case RN_VALUE_BOOL:
        *out = rn_distinct_bool(v->truth, seed);
        break;
    case RN_VALUE_NUMBER:
        *out = v->is_integer ? rn_distinct_integer(v->integer, seed)
                             : rn_distinct_real(v->real, seed);
        break;
    case RN_VALUE_STRING:
        *out = rn_distinct_string(v->text, seed);
        break;
    case RN_VALUE_ARRAY:
        return hash_array(v, seed, arena, out);
    case RN_VALUE_OBJECT:
        return hash_object(v, seed, arena, out);
    }
    return RN_OK;
}

enum rn_code rn_distinct_hash(const struct rn_value *v, struct rn_arena *arena,
                              struct rn_hash128 *out)
{
    return hash(v, rn_distinct_root, arena, out);
}

enum rn_code rn_distinct_hash_only(const struct rn_value *v,
                                   struct rn_arena *arena, struct rn_value *out)
{
    struct rn_value from = *v; /* out may alias v */
    struct rn_hash128 h;
    char *bytes;
    enum rn_code rc;

    *out = from;
    if (from.kind < RN_VALUE_ARRAY || from.form == RN_FORM_HASH)
        return RN_OK;
    rc = rn_distinct_hash(&from, arena, &h);
    bytes = rc ? NULL : rn_arena_alloc(arena, RN_DISTINCT_HASH_LEN);
    if (!bytes)
        return rc ? rc : RN_TOO_LARGE;
    rn_distinct_hash_put(h, bytes);
    *out = rn_value_hashed((enum rn_value_kind)from.kind, bytes);
    return RN_OK;
}
