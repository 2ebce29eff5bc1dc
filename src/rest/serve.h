/* serve.h -- what every request shares, around its handler. */
#ifndef RN_REST_SERVE_H
#define RN_REST_SERVE_H

#include "rest/context.h"

/* Of the first API versions, before 2018-06-18? */
bool rn_context_is_old(const struct rn_context *x);

#endif
