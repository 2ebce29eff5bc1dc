/* permissions.h -- resource tokens: creating them, reading them, and checking
 * what they allow. */
#ifndef RN_REST_PERMISSIONS_H
#define RN_REST_PERMISSIONS_H

#include "rest/context.h"

/* Authenticates a resource token.  RN_UNAUTHORIZED or RN_FORBIDDEN. */
enum rn_code rn_permission_authorize(struct rn_context *x,
                                     struct rn_view token) RN_CHECK;
/* Does the grant allow this operation on this resource?  Needs x->route.
 * RN_FORBIDDEN. */
enum rn_code rn_permission_check(struct rn_context *x) RN_CHECK;
/* The lifetime of the tokens that this request creates. */
enum rn_code rn_permission_read_seconds(struct rn_context *x) RN_CHECK;
/* Appends a permission's JSON with a fresh token. */
enum rn_code rn_permission_print(struct rn_context *x,
                                 const struct rn_object *permission,
                                 struct rn_buf *out) RN_CHECK;

#endif
