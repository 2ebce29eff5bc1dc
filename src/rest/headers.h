/* headers.h -- request and response headers that all resources share. */
#ifndef RN_REST_HEADERS_H
#define RN_REST_HEADERS_H

#include "rest/context.h"

/* Validates headers that no handler reads.  RN_BAD_REQUEST. */
enum rn_code rn_headers_check(struct rn_context *x) RN_CHECK;
/* Adds the headers that every complete answer has. */
void rn_headers_finish(struct rn_context *x);

#endif
