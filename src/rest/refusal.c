/* refusal.c -- a wrong signature or token is told so after a while.
 *
 * Who guesses keys on one connection guesses ten times a second, and not a
 * hundred thousand.  No thread waits: a held answer lies with the readers that
 * wait for a change, until its deadline or the server's end.  There are few of
 * them, so that nothing can be filled up by them; who comes when all places are
 * taken is refused at once, and nobody is locked out.
 */
#include "base/queue.h"
#include "feed/waiters.h"
#include "rest/own.h"

enum {
    HELD_MAX = 64,
    DELAY_MS = 100,
    NOBODYS = 0, /* the catalog's number: its changes move no reader */
};

struct held {
    struct rn_waiter waiter;
    struct rn_call *call;
    int64_t begun_ns;
};

static int64_t delay_of(const struct rn_context *x)
{
    uint64_t ms = x->rest->opts.auth_delay_ms;

    if (!ms && !x->call->is_loopback)
        ms = DELAY_MS;
    return (int64_t)ms * 1000000;
}

static void wake(struct rn_waiter *w)
{
    struct held *h = RN_QUEUED(w, struct held, waiter);

    h->call->wake(h->call);
}

/* The answer is there since before. */
static enum rn_rest_step tell(struct rn_call *call)
{
    struct rn_context *x = call->state;

    atomic_fetch_sub(&x->rest->held, 1);
    call->note.idle_ns = rn_mono_ns(x->rest->opts.env) - x->held->begun_ns;
    return RN_REST_DONE;
}

enum rn_rest_step rn_refusal_hold(struct rn_context *x)
{
    struct rn_waiters *waiters = rn_engine_waiters(x->rest->engine);
    struct rn_call *call = x->call;
    int64_t delay = delay_of(x);
    struct held *h = delay ? rn_arena_alloc(&call->arena, sizeof(*h)) : NULL;

    if (!h)
        return RN_REST_DONE;
    if (atomic_fetch_add(&x->rest->held, 1) >= HELD_MAX) {
        atomic_fetch_sub(&x->rest->held, 1);
        return RN_REST_DONE;
    }
    atomic_fetch_add(&x->rest->held_total, 1);
    *h = (struct held){ .call = call,
                        .begun_ns = rn_mono_ns(x->rest->opts.env) };
    h->waiter = (struct rn_waiter){ .container = NOBODYS,
                                    .deadline_ns = h->begun_ns + delay,
                                    .wake = wake };
    x->held = h;
    call->note.waited_for = "delay";
    call->next = tell;
    rn_waiters_begin(waiters, &h->waiter);
    if (rn_waiters_park(waiters, &h->waiter) == RN_PARKED)
        return RN_REST_PENDING; /* it may be resumed by now */
    return tell(call);
}
