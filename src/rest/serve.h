/* serve.h -- the steps that all requests share, around the handler. */
#ifndef RN_REST_SERVE_H
#define RN_REST_SERVE_H

#include "rest/context.h"

/* Is the request's API version older than 2018-06-18? */
bool rn_context_is_old(const struct rn_context *x);

#endif
