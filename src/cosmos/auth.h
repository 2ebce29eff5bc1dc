/* auth.h -- parses and prints the Authorization header.
 *
 *   type=master&ver=1.0&sig=<base64 of a signature (sign.h)>
 *   type=resource&ver=1&sig=<token the server gave out>
 *   type=aad&ver=1.0&sig=<JSON web token>
 *
 * URL-encoded once, or not at all (Python's aad); a '+' is a plus, never a
 * blank.  Parsing is otherwise strict: the words are lower case, the signature
 * is 32 bytes in padded base64, and there are no extra characters.
 *
 * A signature is dated, in x-ms-date or Date, and is valid for a quarter of an
 * hour before and after.
 *
 * Any thread.
 */
#ifndef RN_COSMOS_AUTH_H
#define RN_COSMOS_AUTH_H

#include "base/mem.h"
#include "cosmos/sign.h"

enum {
    RN_AUTH_HEADER_MAX = 16 << 10, /* enough for a JSON web token */
    RN_AUTH_TEXT_MAX = 168,        /* of a printed master token; no NUL */
    RN_AUTH_WINDOW_S = 15 * 60,
};

enum rn_auth_type { RN_AUTH_MASTER, RN_AUTH_RESOURCE, RN_AUTH_AAD };

struct rn_auth {
    enum rn_auth_type type;
    unsigned char signature[RN_SIGNATURE_LEN]; /* master only */
    struct rn_view token; /* the others: the text after sig= */
};

/* The token is a view of the header, or of the arena if it was encoded.
 * RN_UNAUTHORIZED for any other form. */
enum rn_code rn_auth_parse(struct rn_view header, struct rn_arena *arena,
                           struct rn_auth *out, struct rn_err *err) RN_CHECK;

/* Prints the header that a client sends. */
struct rn_view rn_auth_print(const unsigned char signature[RN_SIGNATURE_LEN],
                             char out[RN_AUTH_TEXT_MAX]);

/* RN_UNAUTHORIZED without a readable date, RN_FORBIDDEN if it is too far from
 * `now_s`.  x-ms-date takes precedence over Date. */
enum rn_code rn_auth_check_date(struct rn_view x_date, struct rn_view date,
                                int64_t now_s, struct rn_err *err) RN_CHECK;

#endif
