/* function.h -- the built-in functions: one table entry each.
 *
 * A function receives evaluated arguments and yields a value.  Unsuitable
 * arguments yield undefined, never an error; only lack of memory fails.
 *
 * To add a function: write it in the file of its group and add it to that
 * file's table.
 */
#ifndef RN_QUERY_FN_FUNCTION_H
#define RN_QUERY_FN_FUNCTION_H

#include "query/run/value.h"

struct rn_run;

struct rn_fn_args {
    struct rn_run *run;
    struct rn_arena *arena; /* for what the result needs */
    const struct rn_value *at;
    uint32_t count;
    uint8_t mode; /* set by the checker for this call */
};

typedef enum rn_code rn_function_fn(const struct rn_fn_args *a,
                                    struct rn_value *out);

enum rn_aggregate_kind {
    RN_AGGREGATE_NONE,
    RN_AGGREGATE_AVG,
    RN_AGGREGATE_COUNT,
    RN_AGGREGATE_COUNTIF,
    RN_AGGREGATE_MAX,
    RN_AGGREGATE_MIN,
    RN_AGGREGATE_SUM,
    RN_AGGREGATE_MAKELIST,
    RN_AGGREGATE_MAKESET,
};

/* Allowed only after ORDER BY RANK. */
enum rn_rank_kind {
    RN_RANK_NONE,
    RN_RANK_SCORE,  /* of one text */
    RN_RANK_FUSION, /* of several scores */
};

enum { RN_ARITY_ANY = 255 };

struct rn_function {
    const char *name;
    uint8_t min, max;    /* arguments; RN_ARITY_ANY: no upper bound */
    bool is_all_or_none; /* `max` arguments, or none */
    bool is_volatile;    /* differs from call to call */
    bool is_vector;      /* its mode is an enum rn_distance */
    bool is_spatial;     /* not allowed in computed properties */
    bool is_score;       /* rows may be sorted by it */
    rn_function_fn *run; /* out is undefined before the call */
    enum rn_aggregate_kind aggregate;
    enum rn_rank_kind rank;
};

/* Case-insensitive; NULL if there is none. */
const struct rn_function *rn_function_find(struct rn_view name);

/* The tables; each ends with an entry without a name. */
extern const struct rn_function rn_functions_aggregate[];
extern const struct rn_function rn_functions_array[];
extern const struct rn_function rn_functions_math[];
extern const struct rn_function rn_functions_number[];
extern const struct rn_function rn_functions_regex[];
extern const struct rn_function rn_functions_search[];
extern const struct rn_function rn_functions_set[];
extern const struct rn_function rn_functions_spatial[];
extern const struct rn_function rn_functions_string[];
extern const struct rn_function rn_functions_text[];
extern const struct rn_function rn_functions_time[];
extern const struct rn_function rn_functions_type[];
extern const struct rn_function rn_functions_vector[];

/* ---- helpers ------------------------------------------------------------- */

bool rn_arg_is(const struct rn_fn_args *a, uint32_t i, enum rn_value_kind kind);
/* True, with the number, if argument `i` is an integer. */
bool rn_arg_int(const struct rn_fn_args *a, uint32_t i, int64_t *out);

#endif
