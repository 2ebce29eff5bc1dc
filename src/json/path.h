/* path.h -- a path: the names that lead from a document to one of its values.
 *
 * Text form, as in partition key and unique key definitions:
 *
 *   /a/b          the member b of the member a
 *   /"a b"/'c/d'  quoted names may hold anything; \" \' and \\ are the escapes
 *
 * A bare name holds no blank, quote, backslash, bracket, *, ? or control
 * character; wildcards belong to indexing policies and are not names.  A path
 * has at least one name.  Names are looked up only in objects: /tags/0 does not
 * address an array element.
 *
 * Threads: a parsed path is immutable.
 */
#ifndef RN_JSON_PATH_H
#define RN_JSON_PATH_H

#include "json/json.h"

struct rn_json_path {
    const struct rn_view *names; /* unescaped; in the arena */
    uint32_t count;
};

/* RN_BAD_REQUEST if the text is not a path, else RN_NOMEM or RN_TOO_LARGE. */
enum rn_code rn_json_path_parse(struct rn_view text, struct rn_arena *a,
                                struct rn_json_path *out,
                                struct rn_err *err) RN_CHECK;

/* The value at the path from `from`, or RN_JSON_NONE. */
uint32_t rn_json_path_find(const struct rn_json_path *path,
                           const struct rn_json *j, uint32_t from);
/* Prints a path: a name with characters other than letters, digits and _ is in
 * double quotes. */
enum rn_code rn_json_path_print(const struct rn_json_path *path,
                                struct rn_buf *out) RN_CHECK;
bool rn_json_path_eq(const struct rn_json_path *a,
                     const struct rn_json_path *b);

#endif
