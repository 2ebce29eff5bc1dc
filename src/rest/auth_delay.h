/* auth_delay.h -- a wrong signature or token is told so after a while. */
#ifndef RN_REST_AUTH_DELAY_H
#define RN_REST_AUTH_DELAY_H

#include "rest/context.h"

/* The answer is made; says until when it is to be held, if it is.
 * It has been told, or will not be. */
void rn_refusal_hold(struct rn_context *x);
void rn_refusal_end(struct rn_context *x);

#endif
