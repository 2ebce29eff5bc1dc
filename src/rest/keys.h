/* keys.h -- the account's keys: four random ones, in a file of their own.
 *
 * The file `keys` in the data directory, mode 0600, is a JSON object with the
 * members primary, secondary, primaryReadOnly and secondaryReadOnly, each 64
 * bytes in base64, and sum, a checksum of them: 16 hexadecimal digits.  A file
 * without a sum is taken as it is.  The first start makes it.  On loopback the
 * key that all emulators share is valid as well, so that clients need no
 * configuration.
 */
#ifndef RN_REST_KEYS_H
#define RN_REST_KEYS_H

#include "base/env.h"

struct rn_rest_opts;

enum {
    RN_KEYS = 5, /* primary, secondary, both read-only, the emulators' */
    RN_KEY_WELL_KNOWN = 4,
    RN_KEY_BYTES = 64,
    RN_KEY_TEXT_MAX = 128,
};

/* The account's keys, as text and as bytes.  An unused one is empty. */
struct rn_keys {
    char text[RN_KEYS][RN_KEY_TEXT_MAX];
    char bytes[RN_KEYS][RN_KEY_TEXT_MAX];
    size_t len[RN_KEYS];
    /* What opens /metrics off loopback; empty: nothing does. */
    char metrics_token[RN_KEY_TEXT_MAX];
};

/* "primary"; NULL for the emulators'. */
const char *rn_keys_name(size_t which);

/* RN_NOT_FOUND if there is no file, RN_FORBIDDEN if others may read it,
 * RN_CORRUPT if its sum is not that of the keys. */
enum rn_code rn_keys_read(struct rn_env *env, const char *data_dir,
                          struct rn_keys *out, struct rn_err *err) RN_CHECK;
/* Draws one key anew.  The file holds the old keys or the new, whole; of
 * several at once each has its effect. */
enum rn_code rn_keys_rotate(struct rn_env *env, const char *data_dir,
                            size_t which, struct rn_err *err) RN_CHECK;
/* Adds to `text` what a file with four new keys has in it. */
enum rn_code rn_keys_draw(struct rn_env *env, struct rn_buf *text,
                          struct rn_err *err) RN_CHECK;
/* Draws all four; `data_dir` NULL: writes none. */
enum rn_code rn_keys_make(struct rn_env *env, const char *data_dir,
                          struct rn_keys *out, struct rn_err *err) RN_CHECK;

/* What the file has, made if it is not there, and the emulators' if it is
 * valid. */
enum rn_code rn_keys_load(const struct rn_rest_opts *opts, struct rn_keys *out,
                          struct rn_err *err) RN_CHECK;
/* Changes nothing unless the file will do. */
enum rn_code rn_keys_load_token(const struct rn_rest_opts *opts,
                                struct rn_keys *out,
                                struct rn_err *err) RN_CHECK;

#endif
