/* serve.h -- the steps that all requests share, around the handler. */
#ifndef RN_REST_SERVE_H
#define RN_REST_SERVE_H

#include "rest/call.h"

struct rn_context;

enum rn_rest_step rn_rest_serve(struct rn_call *call);
enum rn_rest_step rn_rest_resume(struct rn_call *call);
/* Answers 429 instead of working: too many calls of this principal are
 * queued. */
enum rn_rest_step rn_rest_shed(struct rn_call *call);
/* Answers bytes that were not a valid request, then closes. */
void rn_rest_refuse(struct rn_call *call, int status, const char *why);

/* Is the request's API version older than 2018-06-18? */
bool rn_context_is_old(const struct rn_context *x);

#endif
