/* patch.h -- PATCH, a partial update: up to ten operations upon one document.
 *
 * The request is an array of operations or an object with a condition:
 *
 *   [{"op":"set","path":"/a/0","value":1}, ...]
 *   {"condition":"from c where c.n > 1","operations":[...]}
 *
 *   op        the value at `path`        its parent is an array
 *   add       is made or overwritten     is inserted before that element
 *   set       is made or overwritten     overwrites that element
 *   replace   must be there              likewise
 *   remove    must be there              the others move up
 *   incr      a number, or is made       likewise
 *   move      `from`'s, added here       as add
 *
 * At the index after the last element, or at "-", add and set append.  Parents
 * are never made.  Paths are RFC 6901's (~0 is ~, ~1 is /).  The id, the
 * partition key and the system properties may not be changed.
 *
 * Threads: a patch that has been parsed is immutable.
 */
#ifndef RN_ENGINE_DOCUMENT_PATCH_H
#define RN_ENGINE_DOCUMENT_PATCH_H

#include "cosmos/pkdef.h"
#include "query/query.h"

enum { RN_PATCH_MAX = 10 };

enum rn_patch_verb {
    RN_PATCH_ADD,
    RN_PATCH_SET,
    RN_PATCH_REPLACE,
    RN_PATCH_REMOVE,
    RN_PATCH_INCR,
    RN_PATCH_MOVE,
    RN_PATCH_VERBS,
};

struct rn_patch_operation {
    enum rn_patch_verb verb;
    struct rn_json_path path, from;
    struct rn_view value; /* JSON as sent */
};

struct rn_patch {
    uint32_t count;
    struct rn_patch_operation operations[RN_PATCH_MAX];
    struct rn_query *condition; /* NULL: none */
};

/* Parses a patch.  Values are borrowed from `body`, all else is in the arena.
 * `def` is of the container that it will be used in.  RN_BAD_REQUEST. */
enum rn_code rn_patch_read(struct rn_view body, const struct rn_pkdef *def,
                           struct rn_arena *arena, struct rn_patch *out,
                           struct rn_err *err) RN_CHECK;

/* ---- for patch_apply.c --------------------------------------------------- */

enum { RN_PATCH_SHOWN = 60 }; /* bytes of a path, in a message */

/* RN_BAD_REQUEST, with a message in the service's form. */
enum rn_code rn_patch_refuse(struct rn_err *err, const char *fmt, ...)
    RN_PRINTF(2, 3);

/* The text of a value, a string's quotes included. */
struct rn_view rn_patch_value(const struct rn_json *j, uint32_t value);

bool rn_patch_path_begins(const struct rn_json_path *path,
                          const struct rn_json_path *prefix);

#endif
