/* function.c -- looks up a built-in function by name. */
#include "query/fn/function.h"

#include <strings.h>

const struct rn_function *rn_function_find(struct rn_view name)
{
    static const struct rn_function *const tables[] = {
        rn_functions_aggregate, rn_functions_array,   rn_functions_math,
        rn_functions_number,    rn_functions_regex,   rn_functions_search,
        rn_functions_set,       rn_functions_spatial, rn_functions_string,
        rn_functions_text,      rn_functions_time,    rn_functions_type,
        rn_functions_vector,
    };

    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        for (const struct rn_function *f = tables[t]; f->name; f++) {
            if (strlen(f->name) == name.len &&
                strncasecmp(f->name, name.at, name.len) == 0)
                return f;
        }
    }
    return NULL;
}

bool rn_arg_is(const struct rn_fn_args *a, uint32_t i, enum rn_value_kind kind)
{
    return i < a->count && a->at[i].kind == kind;
}

bool rn_arg_int(const struct rn_fn_args *a, uint32_t i, int64_t *out)
{
    if (!rn_arg_is(a, i, RN_VALUE_NUMBER) || !a->at[i].is_integer)
        return false;
    *out = a->at[i].integer;
    return true;
}
