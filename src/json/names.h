/* names.h -- no name twice in one object.  The parser's own.
 */
#ifndef RN_JSON_NAMES_H
#define RN_JSON_NAMES_H

#include "json/json.h"

/* Looks at the `count` members of the object at `object`, whose nodes are the
 * last of the tape.  Where the last wins, drops the earlier ones from the tape
 * and sets `*count` anew.  Else RN_BAD_REQUEST and the name met again in
 * `*again`.  RN_NOMEM. */
enum rn_code rn_json_names_check(struct rn_json *j, uint32_t object,
                                 uint32_t *count, uint32_t *again) RN_CHECK;

#endif
