/* reply.h -- the end of a call: its answer in the caller's hands. */
#ifndef RN_CLIENT_API_REPLY_H
#define RN_CLIENT_API_REPLY_H

#include "client/account/call.h"
#include "client/http/reply.h"

/* Runs the call, moves its answer out and releases it.  If `rc`, the result of
 * preparing it, is a failure, only releases it. */
runnel_code rn_client_call_finish(struct rn_client_call *c, runnel_code rc,
                                  runnel_reply **out,
                                  runnel_error *error) RUNNEL_CHECK;

#endif
