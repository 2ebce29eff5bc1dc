/* control.h -- the control routes under /_runnel/, for operators and tests. */
#ifndef RN_REST_ADMIN_CONTROL_H
#define RN_REST_ADMIN_CONTROL_H

#include "rest/context.h"

/* Is the path a control route?  Then rn_rest_control handles the request. */
bool rn_control_is(const struct rn_context *x);
rn_handler_fn rn_rest_control;

/* For the handlers, which send the error answer themselves.  `j` has been
 * initialised, and the caller releases it; `known` are the allowed members,
 * NULL-terminated. */
enum rn_code rn_control_body(struct rn_context *x, struct rn_json *j,
                             const char *const *known) RN_CHECK;
/* An absent member leaves the number unchanged, the text empty. */
enum rn_code rn_control_number(struct rn_context *x, const struct rn_json *j,
                               const char *name, int64_t most,
                               int64_t *out) RN_CHECK;
enum rn_code rn_control_text(struct rn_context *x, const struct rn_json *j,
                             const char *name, char *out, size_t room) RN_CHECK;
/* rn_control_link reads a member that is the path of a container into x->link;
 * rn_control_container finds x->container by the member "container". */
enum rn_code rn_control_link(struct rn_context *x, const struct rn_json *j,
                             const char *name) RN_CHECK;
enum rn_code rn_control_container(struct rn_context *x,
                                  const struct rn_json *j) RN_CHECK;

#endif
