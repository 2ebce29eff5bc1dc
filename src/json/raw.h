/* raw.h -- JSON texts with raw control characters in their strings, which JSON
 * forbids and the service accepts. */
#ifndef RN_JSON_RAW_H
#define RN_JSON_RAW_H

#include "json/json.h"

/* The text with raw control characters in its strings escaped, since the parser
 * refuses them; a copy in the arena if it has such characters.  RN_TOO_LARGE if
 * the copy does not fit. */
enum rn_code rn_json_escape_raw(struct rn_view text, struct rn_arena *a,
                                struct rn_view *out) RN_CHECK;

#endif
