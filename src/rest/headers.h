/* headers.h -- headers that mean the same whatever is asked for. */
#ifndef RN_REST_HEADERS_H
#define RN_REST_HEADERS_H

#include "rest/context.h"

/* Values of headers that no handler reads.  RN_BAD_REQUEST. */
enum rn_code rn_headers_check(struct rn_context *x) RN_CHECK;
/* The answer is complete: what is added to it whatever it is. */
void rn_headers_finish(struct rn_context *x);

#endif
