/* auth_delay.c -- the delay of answers to requests with a wrong signature or
 * token.
 *
 * An attacker who guesses keys on one connection makes ten attempts a second,
 * not a hundred thousand.  No thread waits: the answer is complete, and the
 * server holds it with a timer of the connection's event loop.  At most
 * HELD_MAX answers are held, so that they cannot exhaust anything; when all
 * slots are taken, further requests are refused at once, and no client is
 * locked out.
 */
#include "rest/auth_delay.h"

#include "rest/context.h"

enum { HELD_MAX = 64, DELAY_MS = 100 };

static int64_t delay_of(const struct rn_context *x)
{
    uint64_t ms = x->rest->opts.auth_delay_ms;

    if (!ms && !x->call->is_loopback)
        ms = DELAY_MS;
    return (int64_t)ms * 1000000;
}

void rn_auth_delay_begin(struct rn_context *x)
{
    struct rn_rest *rest = x->rest;
    int64_t delay = delay_of(x);

    if (!delay)
        return;
    if (atomic_fetch_add(&rest->held, 1) >= HELD_MAX) {
        atomic_fetch_sub(&rest->held, 1);
        return;
    }
    atomic_fetch_add(&rest->held_total, 1);
    x->is_held = true;
    x->call->note.waited_for = "delay";
    x->call->held_until_ns = rn_mono_ns(rest->opts.env) + delay;
}

void rn_auth_delay_end(struct rn_context *x)
{
    if (x->is_held)
        atomic_fetch_sub(&x->rest->held, 1);
    x->is_held = false;
}
