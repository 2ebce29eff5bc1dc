/* parameters.c -- the parameters of a query request, indexed by name.
 *
 * A parameter that the query uses and the request omits is undefined, as in the
 * service; so is a parameter without a value.
 */
#include "query/check/parameters.h"

#include "query/run/hash_set.h"

struct rn_parameters {
    struct rn_hash_set names;
    struct rn_value *values; /* by index in `names` */
    uint32_t count, room;
};

static bool is_name(struct rn_view name)
{
    if (name.len < 2 || name.at[0] != '@' ||
        (name.at[1] >= '0' && name.at[1] <= '9'))
        return false;
    for (size_t i = 1; i < name.len; i++) {
        char c = name.at[i], small = (char)(c | 0x20);
        if ((small < 'a' || small > 'z') && (c < '0' || c > '9') && c != '_' &&
            (unsigned char)c < 0x80)
            return false;
    }
    return true;
}

static enum rn_code bad_name(struct rn_check *c, struct rn_view name)
{
    return rn_faults_add(c->faults, NULL, 0, 0,
                         "Invalid query. Specified parameter name '%.*s' is "
                         "invalid. Parameter names should be in the format of "
                         "symbol '@' followed by a valid identifier. E.g. "
                         "@param1",
                         name.len < 40 ? (int)name.len : 40, name.at);
}

static enum rn_code add(struct rn_check *c, uint32_t node)
{
    struct rn_parameters *p = c->given;
    uint32_t at = rn_json_find(c->json, node, RN_LIT("name")), place;
    struct rn_view name = RN_LIT("");
    bool is_new;
    enum rn_code rc = RN_OK;

    if (rn_json_kind(c->json, at) == RN_JSON_STRING)
        rc = rn_json_string_get(c->json, at, c->arena, &name);
    if (rc || !is_name(name))
        return rc ? rc : bad_name(c, name);
    rc = rn_hash_set_add(&p->names, name, &place, &is_new);
    if (rc)
        return rc;
    if (!is_new) {
        return rn_faults_add(c->faults, NULL, 0, 0,
                             "Invalid query. Specified duplicate parameter "
                             "name '%.*s'.",
                             name.len < 60 ? (int)name.len : 60, name.at);
    }
    p->values = rn_ast_grow(c->arena, p->values, p->count, &p->room,
                            sizeof(*p->values));
    if (!p->values)
        return RN_TOO_LARGE;
    return rn_value_of_json(c->json,
                            rn_json_find(c->json, node, RN_LIT("value")),
                            c->arena, &p->values[p->count++]);
}

enum rn_code rn_parameters_read(struct rn_check *c)
{
    struct rn_json_walk w;
    enum rn_code rc = RN_OK;

    c->given = rn_arena_alloc(c->arena, sizeof(*c->given));
    if (!c->given)
        return RN_TOO_LARGE;
    *c->given = (struct rn_parameters){ .names = { .arena = c->arena } };
    if (!c->json)
        return RN_OK;
    if (rn_json_count(c->json, c->parameters) > RN_QUERY_PARAMETERS_MAX) {
        return rn_faults_add(c->faults, NULL, 0, 0,
                             "Invalid query. It has more parameters than the "
                             "allowed limit of %d.",
                             RN_QUERY_PARAMETERS_MAX);
    }
    w = rn_json_walk_begin(c->json, c->parameters);
    while (!rc && rn_json_walk_next(&w))
        rc = add(c, w.value);
    return rc;
}

enum rn_code rn_parameters_bind(struct rn_check *c, struct rn_expr *e)
{
    const struct rn_parameters *p = c->given;
    uint32_t place = 0;
    bool is_new;
    enum rn_code rc = RN_OK;

    e->value = rn_value_undefined();
    if (!p) /* a computed property, which has no parameters */
        return RN_OK;
    rc = rn_hash_set_add(&c->given->names, e->name, &place, &is_new);
    if (!rc && place < p->count)
        e->value = p->values[place];
    return rc;
}
