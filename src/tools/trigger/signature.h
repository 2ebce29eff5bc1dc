/* signature.h -- signs what is posted, so that the receiver can trust it.
 *
 *   Runnel-Signature: t=1700000000,v1=HEX
 *
 * HEX is the HMAC-SHA256 of "T.ID.BODY" with the key, where T is the time in
 * seconds since 1970 and ID the idempotency key.  A receiver refuses old times,
 * so that a request cannot be replayed.
 */
#ifndef RN_TOOLS_TRIGGER_SIGNATURE_H
#define RN_TOOLS_TRIGGER_SIGNATURE_H

#include "base/mem.h"

#include <stdint.h>

enum { RN_SIGNATURE_TEXT_MAX = 128 };

/* The value of the header.  Any thread. */
enum rn_code rn_signature_print(struct rn_view key, int64_t seconds,
                                const char *id, struct rn_view body,
                                char out[RN_SIGNATURE_TEXT_MAX]) RN_CHECK;

#endif
