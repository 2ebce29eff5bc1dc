/* call.c -- the memory of one request and its answer. */
#include "rest/call.h"

void rn_call_init(struct rn_call *call, struct rn_rest *rest,
                  const struct rn_http_request *req)
{
    *call = (struct rn_call){
        .req = req,
        .rest = rest,
        .body = RN_BUF_INIT(RN_CALL_BODY_MAX),
        .arena = RN_ARENA_INIT(RN_CALL_ARENA_MAX),
    };
}

static void end(struct rn_call *call)
{
    if (call->undo)
        call->undo(call);
    call->undo = NULL;
    call->on_disconnect = NULL;
    call->on_half_close = NULL;
    call->next = NULL;
    call->state = NULL;
    call->is_lost = call->may_shed = false;
    call->held_until_ns = 0;
    call->note = (struct rn_call_note){ 0 };
}

enum {
    HEAD_KEPT = 4 << 10,  /* memory a connection may keep for the next */
    BODY_KEPT = 64 << 10, /* request */
};

void rn_call_clear(struct rn_call *call)
{
    end(call);
    if (call->res.head.room > HEAD_KEPT)
        rn_http_response_release(&call->res);
    if (call->body.room > BODY_KEPT)
        rn_buf_release(&call->body);
    rn_buf_clear(&call->body);
    rn_arena_clear(&call->arena);
}

void rn_call_release(struct rn_call *call)
{
    end(call);
    rn_http_response_release(&call->res);
    rn_buf_release(&call->body);
    rn_arena_release(&call->arena);
}
