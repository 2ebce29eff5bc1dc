/* file.h -- a file replaced with care. */
#ifndef RN_BASE_FILE_H
#define RN_BASE_FILE_H

#include "base/env.h"
#include "base/err.h"

/* Puts the bytes under the name in the place of what is there, if anything is.
 * Whenever the power is cut, the name has all of the old ones or all of the
 * new; once this has returned RN_OK, the new.  NAME.tmp is used on the way. */
enum rn_code rn_file_replace(struct rn_env *env, const char *dir,
                             const char *name, struct rn_view bytes,
                             struct rn_err *err) RN_CHECK;

#endif
