/* permissions.h -- resource tokens: made, read, and what they allow. */
#ifndef RN_REST_PERMISSIONS_H
#define RN_REST_PERMISSIONS_H

#include "rest/context.h"

/* Reads a resource token.  RN_UNAUTHORIZED or RN_FORBIDDEN. */
enum rn_code rn_permission_authorize(struct rn_context *x,
                                     struct rn_view token) RN_CHECK;
/* Does what is granted allow this, on this?  The route is known.
 * RN_FORBIDDEN. */
enum rn_code rn_permission_check(struct rn_context *x) RN_CHECK;
/* How long the tokens are to last that this request makes. */
enum rn_code rn_permission_read_seconds(struct rn_context *x) RN_CHECK;
/* Appends a permission's JSON with a fresh token. */
enum rn_code rn_permission_print(struct rn_context *x,
                                 const struct rn_object *permission,
                                 struct rn_buf *out) RN_CHECK;

#endif
