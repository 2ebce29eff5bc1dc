/* auth.h -- is the signature right, and may this key do that. */
#ifndef RN_REST_AUTH_H
#define RN_REST_AUTH_H

#include "rest/context.h"

/* Signers belong to one thread at a time, so each request borrows a set. */
struct rn_signers {
    struct rn_signer *of[RN_KEYS];
    unsigned which[RN_KEYS]; /* the key each is of */
    size_t count;
    size_t writers; /* of them, those that may write: the first */
    size_t last;    /* that matched: the next request's too, most likely */
    struct rn_buf text, link; /* what is signed, kept for their memory */
    struct rn_buf claim;      /* of the request at hand, */
    struct rn_buf right;      /* and the last that was signed rightly, */
    struct rn_buf token;      /* with this, */
    unsigned key;             /* by this */
    uint64_t version;
    struct rn_signers *next;
};

/* Fills x->rights, or what a permission grants.  RN_UNAUTHORIZED or
 * RN_FORBIDDEN. */
enum rn_code rn_rest_authorize(struct rn_context *x) RN_CHECK;
/* Signers of the present keys; the first is the primary key's, and those of
 * keys that may only read are the last. */
enum rn_code rn_signers_borrow(struct rn_rest *r,
                               struct rn_signers **out) RN_CHECK;
void rn_signers_return(struct rn_rest *r, struct rn_signers *s);
void rn_signers_free_all(struct rn_signers *s); /* NULL is fine */

#endif
