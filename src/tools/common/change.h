/* change.h -- a change as one line of JSON.
 *
 * Of latest versions it is the document as it is served, of all versions an
 * object
 *
 *   {"kind":"replaced","id":"4711","partitionKey":"eu","lsn":42,
 *    "previousLsn":40,"time":"2026-11-18T08:30:00.000000Z",
 *    "document":{...},"previous":{...}}
 *
 * whose last two are left out where the server did not send them.
 */
#ifndef RN_TOOLS_COMMON_CHANGE_H
#define RN_TOOLS_COMMON_CHANGE_H

#include "json/print.h"

#include <runnel/runnel.h>

/* "changed" of latest versions, else "created", "replaced", "deleted" or
 * "expired". */
const char *rn_change_kind(const runnel_change *change);
/* Prints the line without its end; line ends in the document become spaces. */
void rn_change_print(struct rn_json_out *o, const runnel_change *change);

#endif
