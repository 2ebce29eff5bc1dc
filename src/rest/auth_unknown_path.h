/* auth_unknown_path.h -- what a client signs of a path that names no resource.
 */
#ifndef RN_REST_AUTH_UNKNOWN_PATH_H
#define RN_REST_AUTH_UNKNOWN_PATH_H

#include "rest/context.h"

/* One of the forms in which a path that names nothing may
 * have been signed, the link into `link` and what it is of into `parts`.
 * RN_NOT_FOUND if it has no such form. */
enum { RN_STRAY_FORMS = 9 };
enum rn_code rn_stray_print(const struct rn_context *x, unsigned form,
                            struct rn_buf *link,
                            struct rn_sign_parts *parts) RN_CHECK;
/* What a path to addresses is to be resolved for becomes x->link; false if that
 * is nothing. */
bool rn_stray_resolve(struct rn_context *x);

#endif
