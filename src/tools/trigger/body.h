/* body.h -- the changes of a batch as a handler gets them.
 *
 * Each change is printed as common/change.h says.
 */
#ifndef RN_TOOLS_TRIGGER_BODY_H
#define RN_TOOLS_TRIGGER_BODY_H

#include "tools/trigger/handler.h"

enum rn_body_form {
    RN_BODY_LINES, /* a line of JSON for each change */
    RN_BODY_ARRAY, /* a JSON array on one line */
};

enum { RN_BODY_ID_MAX = 384 };

enum rn_code rn_body_print(const runnel_batch *batch, enum rn_body_form form,
                           struct rn_buf *out) RN_CHECK;
enum rn_code rn_body_print_change(const runnel_change *change,
                                  struct rn_buf *out) RN_CHECK;

/* The idempotency key: RID/LEASE/FIRST-LAST/HASH, where FIRST and LAST are LSNs
 * and HASH is of the ids.  The changes of one transaction share their LSN, so
 * that LSNs alone would not tell two calls apart. */
void rn_body_id(const runnel_batch *batch, const char *lease,
                char out[RN_BODY_ID_MAX]);

/* The facts of a batch. */
void rn_body_facts(const runnel_batch *batch, const char *lease,
                   struct rn_handler_call *call);

#endif
