/* names.h -- detects duplicate names in an object.  Private to the parser. */
#ifndef RN_JSON_NAMES_H
#define RN_JSON_NAMES_H

#include "json/json.h"

/* Checks the `count` members of the object at `object`, whose nodes are the
 * last on the tape.  If the last one wins, removes the earlier ones from the
 * tape and updates `*count`.  Otherwise RN_BAD_REQUEST, with the duplicate name
 * in `*again`.  RN_NOMEM. */
enum rn_code rn_json_names_check(struct rn_json *j, uint32_t object,
                                 uint32_t *count, uint32_t *again) RN_CHECK;

#endif
