/* auth_unknown_path.h -- the signature payload of a path that names no
 * resource. */
#ifndef RN_REST_AUTH_UNKNOWN_PATH_H
#define RN_REST_AUTH_UNKNOWN_PATH_H

#include "rest/context.h"

/* Prints one of the forms in which clients sign a path that names no resource:
 * the link into `link`, the other fields into `parts`.  RN_NOT_FOUND if the
 * path has no such form. */
enum { RN_UNKNOWN_PATH_FORMS = 9 };
enum rn_code rn_auth_unknown_path_print(const struct rn_context *x,
                                        unsigned form, struct rn_buf *link,
                                        struct rn_sign_parts *parts) RN_CHECK;
/* Sets x->link to the resource that an /addresses path is to resolve; false if
 * the path names none. */
bool rn_auth_unknown_path_resolve(struct rn_context *x);

#endif
