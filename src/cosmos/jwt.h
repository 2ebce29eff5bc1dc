/* jwt.h -- the web tokens that clients make for the emulator themselves.
 *
 *   <base64url of a JSON header>.<base64url of JSON claims>.<signature>
 *
 * Tests of the SDKs use them in the place of a login at Microsoft Entra.  The
 * claims name a made-up issuer and audience (`iss`, `aud`) and the seconds
 * between which the token is valid (`nbf`, `exp`).  In the place of a signature
 * stands the emulators' public key, or nothing.  So a token proves no more than
 * that key does: only a server that takes the key may take the token.
 *
 * Any thread.
 */
#ifndef RN_COSMOS_JWT_H
#define RN_COSMOS_JWT_H

#include "base/mem.h"

/* Clocks may differ by that much when a token is fresh. */
enum { RN_JWT_SKEW_S = 5 * 60 };

/* RN_UNAUTHORIZED if it is no such token, or not valid at `now_s`. */
enum rn_code rn_jwt_check(struct rn_view token, int64_t now_s,
                          struct rn_arena *arena, struct rn_err *err) RN_CHECK;

#endif
