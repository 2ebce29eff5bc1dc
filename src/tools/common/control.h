/* control.h -- the server's control routes, POST /_runnel/...
 * docs/operations.md has the list. */
#ifndef RN_TOOLS_COMMON_CONTROL_H
#define RN_TOOLS_COMMON_CONTROL_H

#include "tools/common/target.h"
#include "json/print.h"

/* Begins the body: an object with the member "container", if the target has
 * one.  The caller adds the others and leaves the object open. */
void rn_control_begin(const struct rn_target *target, struct rn_json_out *o);

/* Ends the body that `o` has in its buffer and sends it.  `route` is what
 * follows "/_runnel/".  Returns an enum rn_exit. */
int rn_control_send(const struct rn_target *target, const char *route,
                    struct rn_json_out *o, runnel_reply **out) RN_CHECK;

#endif
