/* reply.c -- an answer in the caller's hands. */
#include "client/api/reply.h"

runnel_code rn_client_call_finish(struct rn_client_call *c, runnel_code rc,
                                  runnel_reply **out, runnel_error *error)
{
    if (!rc)
        rc = rn_client_call_run(c, error);
    if (!rc)
        rc = rn_client_call_unkept(c, rn_reply_take(&c->exchange, out, error),
                                   error);
    rn_client_call_release(c);
    return rc;
}

int32_t runnel_reply_status(const runnel_reply *reply)
{
    return reply->status;
}

runnel_bytes runnel_reply_body(const runnel_reply *reply)
{
    return rn_bytes_view(rn_buf_view(&reply->body));
}

const char *runnel_reply_header(const runnel_reply *reply, const char *name)
{
    struct rn_view value = rn_headers_find(&reply->headers, name);

    return value.at ? value.at : "";
}

const char *runnel_reply_etag(const runnel_reply *reply)
{
    return runnel_reply_header(reply, RN_HEADER_ETAG);
}

const char *runnel_reply_session(const runnel_reply *reply)
{
    return runnel_reply_header(reply, RN_HEADER_SESSION_TOKEN);
}

double runnel_reply_charge(const runnel_reply *reply)
{
    return rn_headers_charge(&reply->headers);
}

void runnel_reply_close(runnel_reply *reply)
{
    if (!reply)
        return;
    rn_headers_release(&reply->headers);
    rn_buf_release(&reply->body);
    rn_free(reply);
}
