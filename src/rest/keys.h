/* keys.h -- the account's keys: four random ones, in a file of their own.
 *
 * The file `keys` in the data directory, mode 0600, is a JSON object with the
 * members primary, secondary, primaryReadOnly and secondaryReadOnly, each 64
 * bytes in base64, and sum, their checksum: 16 hexadecimal digits.  A file
 * without a checksum is accepted.  The first start creates the file.  On
 * loopback the well-known key of the emulators is valid as well, so that
 * clients need no configuration.
 */
#ifndef RN_REST_KEYS_H
#define RN_REST_KEYS_H

#include "base/env.h"

struct rn_rest_opts;

enum {
    RN_KEYS = 5, /* primary, secondary, two read-only, the emulators' */
    RN_KEY_WELL_KNOWN = 4,
    RN_KEY_BYTES = 64,
    RN_KEY_TEXT_MAX = 128,
};

/* The account's keys, as text and as bytes.  An unused one is empty. */
struct rn_keys {
    char text[RN_KEYS][RN_KEY_TEXT_MAX];
    char bytes[RN_KEYS][RN_KEY_TEXT_MAX];
    size_t len[RN_KEYS];
    /* The bearer token for /metrics off loopback; empty: there is none. */
    char metrics_token[RN_KEY_TEXT_MAX];
};

/* "primary"; NULL for the emulators' key. */
const char *rn_keys_name(size_t which);

/* RN_NOT_FOUND if there is no file, RN_FORBIDDEN if other users may read it,
 * RN_CORRUPT if the checksum does not match the keys. */
enum rn_code rn_keys_read(struct rn_env *env, const char *data_dir,
                          struct rn_keys *out, struct rn_err *err) RN_CHECK;
/* Replaces one key by a new random one.  The file is replaced atomically; of
 * concurrent rotations each takes effect. */
enum rn_code rn_keys_rotate(struct rn_env *env, const char *data_dir,
                            size_t which, struct rn_err *err) RN_CHECK;
/* Appends the contents of a key file with four new keys to `text`. */
enum rn_code rn_keys_draw(struct rn_env *env, struct rn_buf *text,
                          struct rn_err *err) RN_CHECK;
/* Generates all four keys; does not write a file if `data_dir` is NULL. */
enum rn_code rn_keys_make(struct rn_env *env, const char *data_dir,
                          struct rn_keys *out, struct rn_err *err) RN_CHECK;

/* Reads the key file, creating it if absent, and adds the emulators' key if
 * that is valid here. */
enum rn_code rn_keys_load(const struct rn_rest_opts *opts, struct rn_keys *out,
                          struct rn_err *err) RN_CHECK;
/* Leaves `out` unchanged unless the file is valid. */
enum rn_code rn_keys_load_token(const struct rn_rest_opts *opts,
                                struct rn_keys *out,
                                struct rn_err *err) RN_CHECK;

#endif
