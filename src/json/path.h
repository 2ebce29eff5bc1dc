/* path.h -- a list of names that leads from a document to one of its values.
 *
 * Text form, as in partition key and unique key definitions:
 *
 *   /a/b          the member b of the member a
 *   /"a b"/'c/d'  names in quotes may hold anything; \" \' and \\ stand for
 *                 themselves there
 *
 * A bare name holds no blank, quote, backslash, bracket, *, ? or control
 * character; wildcards belong to indexing policies and are not names.  A path
 * has a name at least.  Names are only looked up in objects: /tags/0 does not
 * reach into an array.
 *
 * Threads: a parsed path is only read.
 */
#ifndef RN_JSON_PATH_H
#define RN_JSON_PATH_H

#include "json/json.h"

struct rn_json_path {
    const struct rn_view *names; /* unescaped; these live in the arena */
    uint32_t count;
};

/* RN_BAD_REQUEST if the text is no path, else RN_NOMEM or RN_TOO_LARGE. */
enum rn_code rn_json_path_parse(struct rn_view text, struct rn_arena *a,
                                struct rn_json_path *out,
                                struct rn_err *err) RN_CHECK;

/* Where the path leads from `from`, or RN_JSON_NONE. */
uint32_t rn_json_path_find(const struct rn_json_path *path,
                           const struct rn_json *j, uint32_t from);
/* The text of a path: a name that is not of letters, digits and _ alone is in
 * double quotes. */
enum rn_code rn_json_path_print(const struct rn_json_path *path,
                                struct rn_buf *out) RN_CHECK;
bool rn_json_path_eq(const struct rn_json_path *a,
                     const struct rn_json_path *b);

#endif
