/* value.h -- values of rows: their ORDER BY order, and a canonical text.
 *
 * The order is that of ORDER BY: undefined, null, false, true, numbers, strings
 * by UTF-16 units, arrays, objects.  Arrays among themselves, and objects, are
 * ordered by the hash by which servers order them (json/distinct.h).
 *
 * Values only; any thread.
 */
#ifndef RN_CLIENT_QUERY_VALUE_H
#define RN_CLIENT_QUERY_VALUE_H

#include "json/json.h"

/* A value in a parsed text; `at` RN_JSON_NONE is undefined. */
struct rn_merge_item {
    const struct rn_json *j;
    uint32_t at;
};

/* The member of an object with that name, or undefined. */
static inline struct rn_merge_item rn_merge_item_member(struct rn_merge_item of,
                                                        struct rn_view name)
{
    return (struct rn_merge_item){ of.j, rn_json_find(of.j, of.at, name) };
}

/* Appends a text that is equal for equal values and differs for others: members
 * sorted by name, numbers by value, no unnecessary escapes.  Nothing for
 * undefined. */
enum rn_code rn_merge_item_canon(struct rn_merge_item v,
                                 struct rn_buf *out) RN_CHECK;

/* Sets `*order` to less than, equal to or more than 0. */
enum rn_code rn_merge_item_compare(struct rn_merge_item a,
                                   struct rn_merge_item b, int *order) RN_CHECK;

#endif
