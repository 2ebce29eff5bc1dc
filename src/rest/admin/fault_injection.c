/* fault_injection.c -- faults that a test injects into later requests.
 *
 * Faults are kept in the order of their arrival; the first that matches a
 * request and has strikes left is used.  They strike after the signature and
 * the rights, before the handler or after it, so that they look like a fault of
 * the service to a client that did nothing wrong.
 */
#include "rest/admin/fault_injection.h"

#include "rest/context.h"
#include "rest/reply.h"

#include <stdio.h>

enum rn_code rn_injected_fault_add(struct rn_rest *r,
                                   const struct rn_injected_fault *order,
                                   struct rn_err *err)
{
    struct rn_injected_faults *all = &r->orders;
    enum rn_code rc = RN_OK;

    pthread_mutex_lock(&r->lock);
    if (all->count == RN_INJECTED_FAULTS_MAX) {
        rc = rn_fail(err, RN_TOO_LARGE, "%d faults are waiting already",
                     RN_INJECTED_FAULTS_MAX);
    } else {
        all->of[all->count++] = *order;
    }
    atomic_store(&all->any, all->count > 0);
    pthread_mutex_unlock(&r->lock);
    return rc;
}

void rn_injected_fault_clear(struct rn_rest *r)
{
    pthread_mutex_lock(&r->lock);
    r->orders.count = 0;
    atomic_store(&r->orders.any, false);
    pthread_mutex_unlock(&r->lock);
}

uint64_t rn_injected_fault_waiting(struct rn_rest *r, uint64_t *taken)
{
    uint64_t waiting = 0;

    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->orders.count; i++)
        waiting += r->orders.of[i].count;
    *taken = r->orders.taken;
    pthread_mutex_unlock(&r->lock);
    return waiting;
}

static bool fits(const struct rn_injected_fault *o, const struct rn_context *x)
{
    const struct rn_http_request *req = x->call->req;

    return (!o->method[0] ||
            strcmp(o->method, rn_http_method_name(req->method)) == 0) &&
           rn_view_starts(req->target, rn_view_text(o->path)) &&
           (!o->header[0] || rn_context_header(x, o->header).at);
}

/* Removes fault `i` and keeps the order of the others. */
static void drop(struct rn_injected_faults *all, size_t i)
{
    all->count--;
    memmove(&all->of[i], &all->of[i + 1],
            (all->count - i) * sizeof(all->of[0]));
    atomic_store(&all->any, all->count > 0);
}

static bool take(struct rn_context *x, struct rn_injected_fault *out)
{
    struct rn_injected_faults *all = &x->rest->orders;
    bool found = false;

    pthread_mutex_lock(&x->rest->lock);
    for (size_t i = 0; !found && i < all->count; i++) {
        struct rn_injected_fault *o = &all->of[i];
        if (!fits(o, x))
            continue;
        if (o->skip > 0) {
            o->skip--;
            continue;
        }
        found = true;
        all->taken++;
        *out = *o;
        if (--o->count == 0)
            drop(all, i);
    }
    pthread_mutex_unlock(&x->rest->lock);
    return found;
}

static enum rn_rest_step strike(struct rn_context *x,
                                struct rn_injected_effect blow)
{
    const struct rn_status *s = blow.status;

    x->call->is_lost = blow.loses;
    if (!s)
        return rn_reply_empty(x, RN_STATUS_NO_CONTENT); /* never sent */
    rn_fail(&x->err, s->code, "a test has ordered this fault");
    x->err.reason = (int)s->reason;
    return rn_reply_fail(x, s->code);
}

bool rn_injected_fault_strike(struct rn_context *x, enum rn_rest_step *step)
{
    RN_UNSET struct rn_injected_fault order;

    if (!atomic_load_explicit(&x->rest->orders.any, memory_order_relaxed) ||
        !take(x, &order))
        return false;
    if (order.after) {
        x->blow = order.blow;
        return false;
    }
    *step = strike(x, order.blow);
    return true;
}

void rn_injected_fault_strike_after(struct rn_context *x)
{
    struct rn_injected_effect blow = x->blow;

    x->blow = (struct rn_injected_effect){ 0 };
    if (blow.loses) {
        x->call->is_lost = true;
    } else if (blow.status) {
        /* Discards the handler's answer, including its headers. */
        rn_http_response_init(&x->call->res, x->call->req);
        x->has_owner = false;
        rn_reply_common(x);
        (void)strike(x, blow);
    }
}
