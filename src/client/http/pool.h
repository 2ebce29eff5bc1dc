/* pool.h -- a pool of transports for blocking calls, and their cancellation.
 *
 * A call borrows an idle transport for its duration, so connections are reused;
 * a call that finds `limit` others inside waits for one to leave.
 *
 * Cancelling sets a flag and wakes every borrowed transport; the calls check
 * their flags, and those that are not cancelled continue.
 *
 * Threads: any, for all functions.
 */
#ifndef RN_CLIENT_HTTP_POOL_H
#define RN_CLIENT_HTTP_POOL_H

#include "client/http/transport.h"

#include <stdatomic.h>

/* A cancellation flag, with those of its parents. */
struct rn_cancel {
    atomic_bool is_set;
    const struct rn_cancel *parent; /* of the client, or NULL */
};

static inline bool rn_cancel_is_set(const struct rn_cancel *c)
{
    for (; c; c = c->parent) {
        if (atomic_load(&c->is_set))
            return true;
    }
    return false;
}

struct rn_pool;

/* The pool takes ownership of the network. */
runnel_code rn_pool_new(struct rn_network *network, uint32_t limit,
                        struct rn_pool **out, runnel_error *error) RUNNEL_CHECK;
/* Closes the network too.  No transport is borrowed.  NULL is fine. */
void rn_pool_free(struct rn_pool *pool);
struct rn_env *rn_pool_env(const struct rn_pool *pool);

/* RUNNEL_CANCELLED if the flag was set while waiting. */
runnel_code rn_pool_take(struct rn_pool *pool, const struct rn_cancel *cancel,
                         struct rn_transport **out,
                         runnel_error *error) RUNNEL_CHECK;
/* One beyond the limit, for a long-lived user: a feed, a processor. */
runnel_code rn_pool_take_own(struct rn_pool *pool, struct rn_transport **out,
                             runnel_error *error) RUNNEL_CHECK;
/* Returns either kind; nothing is in progress on it. */
void rn_pool_give(struct rn_pool *pool, struct rn_transport *t);

/* Sets the flag and wakes all borrowed transports. */
void rn_pool_cancel(struct rn_pool *pool, struct rn_cancel *cancel);

#endif
