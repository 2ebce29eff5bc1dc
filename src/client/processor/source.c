/* source.c -- checks that the source is still the container of the leases.
 *
 * The check runs when reads of the feed fail as they do after the container was
 * deleted, or deleted and created anew under the same name.  The rid decides.
 */
#include "client/processor/source.h"

#include "client/account/call.h"
#include "client/account/container.h"
#include "client/processor/host.h"
#include "client/processor/state.h"

enum { SOURCE_CHECK_MS = 3000 }; /* between two checks */

void rn_host_check_source(struct rn_host *h)
{
    h->wants_source = true;
}

static void end_call(struct rn_host *h)
{
    rn_client_call_release(h->source_call);
    rn_free(h->source_call);
    h->source_call = NULL;
}

void rn_host_forget_source(struct rn_host *h)
{
    if (h->source_call)
        end_call(h);
}

void rn_host_replaced(struct rn_host *h)
{
    rn_host_fail(h, RUNNEL_CLOSE_RESOURCE_GONE, RUNNEL_NOT_FOUND, NULL,
                 "the source container was deleted and created anew; restart "
                 "the processor, which then begins as a new one");
}

static void start(struct rn_host *h, int64_t now_ns)
{
    struct rn_link link = rn_client_container_link(h->config.at.source);

    h->wants_source = false;
    h->source_due_ns = now_ns + (int64_t)SOURCE_CHECK_MS * 1000000;
    h->source_call = rn_new(sizeof(*h->source_call));
    if (!h->source_call)
        return; /* the next failed read asks again */
    rn_client_call_init(h->source_call, h->account, "GET", RN_EFFECT_READ,
                        &link);
    rn_client_call_begin(h->source_call, h->transport);
}

static void take_answer(struct rn_host *h)
{
    struct rn_client_call *call = h->source_call;
    struct rn_definition *now = NULL;

    if (call->code == RUNNEL_NOT_FOUND) {
        rn_host_fail(h, RUNNEL_CLOSE_RESOURCE_GONE, RUNNEL_NOT_FOUND,
                     &call->error, "the source container was deleted");
    } else if (!call->code &&
               !rn_client_container_learn(h->config.at.source,
                                          rn_buf_view(&call->exchange.answer),
                                          &now, NULL)) {
        if (strcmp(now->rid, h->definition->rid) != 0)
            rn_host_replaced(h);
    }
    rn_definition_unref(now);
    end_call(h);
}

int64_t rn_host_step_source(struct rn_host *h, int64_t now_ns)
{
    int64_t next;

    if (h->source_call) {
        next = rn_client_call_step(h->source_call);
        if (!h->source_call->is_over)
            return next;
        take_answer(h);
        return RN_TASK_NOW;
    }
    if (!h->wants_source || h->state != RUNNEL_RUNNING)
        return RN_TASK_IDLE;
    if (h->source_due_ns > now_ns)
        return h->source_due_ns - now_ns;
    start(h, now_ns);
    return RN_TASK_NOW;
}
