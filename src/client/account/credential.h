/* credential.h -- the authorization of requests: a key, a resource token, or a
 * callback that provides bearer tokens.
 *
 * Secrets are wiped when they are released and appear in no message.
 *
 * Threads: any; signing is serialised by a lock.
 */
#ifndef RN_CLIENT_ACCOUNT_CREDENTIAL_H
#define RN_CLIENT_ACCOUNT_CREDENTIAL_H

#include "client/http/exchange.h"
#include "cosmos/sign.h"

struct rn_credential;

/* Exactly one of key (base64), resource token and callback is given. */
struct rn_credential_options {
    struct rn_view key;
    const char *resource_token;
    runnel_token_fn token;
    void *token_context;
};

runnel_code rn_credential_new(const struct rn_credential_options *options,
                              struct rn_credential **out,
                              runnel_error *error) RUNNEL_CHECK;
void rn_credential_free(struct rn_credential *c); /* NULL is fine */

/* Adds the Authorization header.  Calls the callback if its token is about to
 * expire. */
runnel_code rn_credential_authorize(struct rn_credential *c,
                                    const struct rn_sign_parts *parts,
                                    int64_t now_ms, struct rn_headers *headers,
                                    runnel_error *error) RUNNEL_CHECK;

/* The server refused the token: the callback is asked for a new one.  False if
 * there is no callback. */
bool rn_credential_renew(struct rn_credential *c);
bool rn_credential_has_callback(const struct rn_credential *c);

#endif
