/* auth.h -- authentication by HMAC signature, and the rights of the key that
 * signed. */
#ifndef RN_REST_AUTH_H
#define RN_REST_AUTH_H

#include "rest/context.h"

/* HMAC signers of the account's keys.  A signer is not thread-safe, so each
 * request borrows a set. */
struct rn_signers {
    struct rn_signer *of[RN_KEYS];
    unsigned which[RN_KEYS]; /* which key each signer has */
    size_t count;
    size_t writers; /* the first `writers` signers have read-write keys */
    size_t last; /* the signer that matched last: the likeliest to match next */
    struct rn_buf text, link; /* scratch buffers for the payload and its link */
    struct rn_buf claim;      /* the signed fields of the current request */
    struct rn_buf right;      /* those of the last request that verified, */
    struct rn_buf token;      /* its token, */
    unsigned key;             /* and the key that signed it */
    uint64_t version;
    struct rn_signers *next;
};

/* Sets x->rights, or x->grant for a resource token.  RN_UNAUTHORIZED or
 * RN_FORBIDDEN. */
enum rn_code rn_rest_authorize(struct rn_context *x) RN_CHECK;
/* Signers of the current keys: the primary key's comes first, those of
 * read-only keys last. */
enum rn_code rn_signers_borrow(struct rn_rest *r,
                               struct rn_signers **out) RN_CHECK;
void rn_signers_return(struct rn_rest *r, struct rn_signers *s);
void rn_signers_free_all(struct rn_signers *s); /* NULL is allowed */

#endif
