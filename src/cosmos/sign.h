/* sign.h -- request signatures: the string to sign, and its HMAC.
 *
 *   get\n                               verb
 *   docs\n                              the kind's word
 *   dbs/shop/colls/Orders/docs/1\n      link (link.h)
 *   thu, 27 apr 2017 00:51:12 gmt\n     x-ms-date
 *   \n                                  Date, if there is no x-ms-date
 *
 * All lines but the link are in lower case.  The signature is HMAC-SHA256 with
 * the account's key.
 *
 * A signer is a prepared key, so that a signature costs no more than its hash.
 * Threads: a signer may be used by one thread at a time; make one for each.
 */
#ifndef RN_COSMOS_SIGN_H
#define RN_COSMOS_SIGN_H

#include "base/mem.h"

enum { RN_SIGNATURE_LEN = 32 };

/* Empty means absent. */
struct rn_sign_parts {
    struct rn_view verb, word, link, x_date, date;
};

/* Appends the string to sign. */
enum rn_code rn_sign_print(const struct rn_sign_parts *parts,
                           struct rn_buf *out) RN_CHECK;

struct rn_signer;

/* `key` is the account's key, decoded and not empty; it is copied.
 * RN_NOMEM. */
enum rn_code rn_signer_new(struct rn_view key, struct rn_signer **out) RN_CHECK;
void rn_signer_free(struct rn_signer *s); /* NULL is fine; wipes the key */

/* RN_NOMEM; `out` is then undefined. */
enum rn_code rn_signer_sign(struct rn_signer *s, struct rn_view text,
                            unsigned char out[RN_SIGNATURE_LEN]) RN_CHECK;

/* Which of the signers made this signature of `text`: the first, if several
 * have the same key; RN_UNAUTHORIZED if none.  All are always tried, and
 * compared in constant time: the duration reveals only their number. */
enum rn_code rn_signer_match(struct rn_signer *const *signers, size_t count,
                             struct rn_view text,
                             const unsigned char signature[RN_SIGNATURE_LEN],
                             size_t *which) RN_CHECK;

#endif
