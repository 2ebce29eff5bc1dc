/* secret.h -- secret bytes: constant-time comparison, wiping, locked memory. */
#ifndef RN_BASE_SECRET_H
#define RN_BASE_SECRET_H

#include "base/env.h"
#include "base/err.h"

/* Constant time: it does not depend on where the first difference is, so that
 * an attacker learns nothing from it.  Lengths are not secret. */
bool rn_equal_secret(struct rn_view a, struct rn_view b);

/* Zeroes memory before it is freed.  Unlike memset it is not removed by the
 * compiler. */
void rn_wipe_secret(void *at, size_t len);

/* Zeroed memory for long-lived secrets: excluded from core dumps, and not
 * swapped out if the limit of locked memory allows it.  Takes whole pages.
 * NULL: out of memory. */
void *rn_secret_new(size_t size);
/* Wipes it first; `size` is that given to rn_secret_new.  NULL is fine. */
void rn_secret_free(void *secret, size_t size);

/* RN_FORBIDDEN if other users may read the file, or if its group may do more
 * than read: then it is no secret. */
enum rn_code rn_check_secret(const char *path, struct rn_err *err) RN_CHECK;
/* The same check on the opened file itself; opens it for reading. */
enum rn_code rn_secret_open(struct rn_env *env, const char *path,
                            enum rn_open how, struct rn_file **out,
                            struct rn_err *err) RN_CHECK;

#endif
