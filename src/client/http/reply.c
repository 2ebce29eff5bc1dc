/* reply.c -- see reply.h. */
#include "client/http/reply.h"

runnel_code rn_reply_take(struct rn_exchange *x, runnel_reply **out,
                          runnel_error *error)
{
    runnel_reply *reply;

    if (!out)
        return RUNNEL_OK;
    reply = rn_new(sizeof(*reply));
    if (!reply)
        return rn_error_no_memory(error);
    reply->status = x->status;
    reply->headers = x->answer_headers;
    reply->body = x->answer;
    x->answer_headers = RN_HEADERS_INIT;
    x->answer = RN_BUF_INIT(reply->body.ceiling);
    *out = reply;
    return RUNNEL_OK;
}
