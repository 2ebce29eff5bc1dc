/* call.h -- a request with its retries: sent, judged and sent again.
 *
 * Stepped, by a caller with a transport and timers of its own:
 *
 *   struct rn_client_call call;
 *   rn_client_call_init(&call, account, "GET", RN_EFFECT_READ, &link);
 *   ... call.request: headers, body, container ...
 *   rn_client_call_begin(&call, transport);
 *   until call.is_over: transport->ops->step; next = rn_client_call_step(&call)
 *   ... call.code, call.error, call.exchange ...
 *   rn_client_call_release(&call);
 *
 * or at once, on an idle transport of the account: rn_client_call_run.
 *
 * What an answer teaches (session token, the server's clock, a range that is
 * gone) is noted in the account before the call is over.  The call must stay
 * where it is from begin until it is over.  One thread.
 */
#ifndef RN_CLIENT_ACCOUNT_CALL_H
#define RN_CLIENT_ACCOUNT_CALL_H

#include "client/account/request.h"
#include "client/http/retry.h"
#include "client/http/transport.h"

struct rn_client_call {
    struct rn_account *account;
    struct rn_request request;
    struct rn_exchange exchange; /* of the last attempt */
    struct rn_retry retry;
    struct rn_transport *transport;
    const struct rn_cancel
        *cancel;    /* rn_client_call_run heeds it; NULL: account's */
    int64_t due_ns; /* the next attempt, of rn_mono_ns; 0: none is waiting */
    bool has_ended; /* the exchange has, and is not judged yet */

    bool is_over;
    runnel_code code; /* the outcome; 304 is RUNNEL_OK */
    runnel_error error;
};

void rn_client_call_init(struct rn_client_call *c, struct rn_account *account,
                         const char *method, enum rn_effect effect,
                         const struct rn_link *link);
/* Sends the first attempt.  A failure makes it over at once. */
void rn_client_call_begin(struct rn_client_call *c, struct rn_transport *t);
/* Judges an exchange that has ended, sends an attempt that is due.  Returns how
 * many nanoseconds until it wants to be called again, RN_TASK_IDLE if only the
 * transport can bring that about.  Nothing while there is nothing to do. */
int64_t rn_client_call_step(struct rn_client_call *c);
/* Gives up a call in progress: RUNNEL_CANCELLED, or RUNNEL_UNCERTAIN if a write
 * was sent.  The call is then over. */
void rn_client_call_cancel(struct rn_client_call *c);
/* Cancels it if it is in progress. */
void rn_client_call_release(struct rn_client_call *c);

/* The whole call, on the caller's thread.  Returns c->code; `error` gets
 * c->error if it failed. */
runnel_code rn_client_call_run(struct rn_client_call *c,
                               runnel_error *error) RUNNEL_CHECK;

/* The code of a call whose answer, which has come, could not be kept: if memory
 * was short for that of a write, the write is done all the same. */
runnel_code rn_client_call_unkept(const struct rn_client_call *c,
                                  runnel_code rc, runnel_error *error);

/* The status of the answer; 0: none. */
static inline int rn_client_call_status(const struct rn_client_call *c)
{
    return c->exchange.status;
}

#endif
