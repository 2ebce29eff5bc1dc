/* control.h -- the control routes: what only an operator may ask for. */
#ifndef RN_REST_ADMIN_CONTROL_H
#define RN_REST_ADMIN_CONTROL_H

#include "rest/context.h"

/* Is the path one of theirs?  Then rn_rest_control does all the rest. */
bool rn_control_is(const struct rn_context *x);

/* For their handlers, which answer what fails.  `j` has been initialised and is
 * the caller's to release; `known` are the members there may be, ended by
 * NULL. */
enum rn_code rn_control_body(struct rn_context *x, struct rn_json *j,
                             const char *const *known) RN_CHECK;
/* A member that is absent leaves the number as it is, the text empty. */
enum rn_code rn_control_number(struct rn_context *x, const struct rn_json *j,
                               const char *name, int64_t most,
                               int64_t *out) RN_CHECK;
enum rn_code rn_control_text(struct rn_context *x, const struct rn_json *j,
                             const char *name, char *out, size_t room) RN_CHECK;
/* Reads a member that is the path of a container into x->link; and finds
 * x->container by the member "container". */
enum rn_code rn_control_link(struct rn_context *x, const struct rn_json *j,
                             const char *name) RN_CHECK;
enum rn_code rn_control_container(struct rn_context *x,
                                  const struct rn_json *j) RN_CHECK;

#endif
