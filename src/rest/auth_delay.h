/* auth_delay.h -- the delay of answers to requests with a wrong signature or
 * token, which slows down guessing. */
#ifndef RN_REST_AUTH_DELAY_H
#define RN_REST_AUTH_DELAY_H

#include "rest/context.h"

/* rn_auth_delay_begin sets call->held_until_ns of a complete answer, unless too
 * many are held already.  rn_auth_delay_end releases the slot once the answer
 * has been sent or dropped. */
void rn_auth_delay_begin(struct rn_context *x);
void rn_auth_delay_end(struct rn_context *x);

#endif
