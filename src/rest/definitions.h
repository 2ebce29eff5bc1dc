/* definitions.h -- a container's definition in the client's API version. */
#ifndef RN_REST_DEFINITIONS_H
#define RN_REST_DEFINITIONS_H

#include "rest/context.h"

/* The latter; and what a client sends to create a container, or
 * to replace x->object, as the engine takes it. */
enum rn_code rn_definition_show(const struct rn_context *x,
                                const struct rn_object *container,
                                struct rn_buf *out) RN_CHECK;
enum rn_code rn_definition_accept(struct rn_context *x,
                                  struct rn_view *body) RN_CHECK;

#endif
