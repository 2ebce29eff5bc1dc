/* secret.h -- handling bytes that must not leak: keys, signatures, tokens. */
#ifndef RN_BASE_SECRET_H
#define RN_BASE_SECRET_H

#include "base/env.h"
#include "base/err.h"

/* Equal?  Takes the same time wherever the first difference is, so that a
 * guesser learns nothing from it; lengths are not secret. */
bool rn_equal_secret(struct rn_view a, struct rn_view b);

/* Zeroes memory that is about to be given up.  Unlike memset it is not removed
 * by the compiler. */
void rn_wipe_secret(void *at, size_t len);

/* Zeroed memory for what is kept: in no core, and not swapped out if the limit
 * of locked memory allows it.  Takes whole pages.  NULL: there is none. */
void *rn_secret_new(size_t size);
/* Wipes it first; `size` is that of its making.  NULL is fine. */
void rn_secret_free(void *secret, size_t size);

/* RN_FORBIDDEN if others may read the file, or its group do more than that: it
 * is no secret then. */
enum rn_code rn_check_secret(const char *path, struct rn_err *err) RN_CHECK;
/* The same, of the very file that is opened, for reading. */
enum rn_code rn_secret_open(struct rn_env *env, const char *path,
                            enum rn_open how, struct rn_file **out,
                            struct rn_err *err) RN_CHECK;

#endif
