/* definitions.h -- a container's definition, translated between the client's
 * API version and the stored form. */
#ifndef RN_REST_DEFINITIONS_H
#define RN_REST_DEFINITIONS_H

#include "rest/context.h"

/* rn_definition_show prints the definition in the client's API version.
 * rn_definition_accept converts the body that creates a container, or replaces
 * x->object, to the form that the engine stores. */
enum rn_code rn_definition_show(const struct rn_context *x,
                                const struct rn_object *container,
                                struct rn_buf *out) RN_CHECK;
enum rn_code rn_definition_accept(struct rn_context *x,
                                  struct rn_view *body) RN_CHECK;

#endif
