/* jwt.h -- checks the JSON web tokens that clients make for the emulator.
 *
 *   <base64url of a JSON header>.<base64url of JSON claims>.<signature>
 *
 * Tests of the SDKs use them instead of a login at Microsoft Entra.  The claims
 * name a fictitious issuer and audience (`iss`, `aud`) and the seconds between
 * which the token is valid (`nbf`, `exp`).  The signature is the emulators'
 * public key, or empty.  So a token proves no more than that key does: only a
 * server that accepts the key may accept the token.
 *
 * Any thread.
 */
#ifndef RN_COSMOS_JWT_H
#define RN_COSMOS_JWT_H

#include "base/mem.h"

/* Tolerated clock skew for a fresh token. */
enum { RN_JWT_SKEW_S = 5 * 60 };

/* RN_UNAUTHORIZED if it is not such a token, or not valid at `now_s`. */
enum rn_code rn_jwt_check(struct rn_view token, int64_t now_s,
                          struct rn_arena *arena, struct rn_err *err) RN_CHECK;

#endif
