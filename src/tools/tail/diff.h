/* diff.h -- what differs between two versions of a document, for people.
 *
 * One line for each difference, indented by two columns:
 *
 *   ~ /total: 12 -> 13      another value
 *   + /note: "fragile"      a new member or element
 *   - /old: true            one that is gone
 *
 * Objects are compared member by member and arrays element by element, at any
 * depth.  The members that the server adds to every document are left out.
 */
#ifndef RN_TOOLS_TAIL_DIFF_H
#define RN_TOOLS_TAIL_DIFF_H

#include "json/json.h"

/* Prints to standard output; returns how many lines.  RN_NOMEM is -1. */
int rn_diff_print(const struct rn_json *before, const struct rn_json *after);

#endif
