/* transport.h -- what carries exchanges: libcurl, or a test's script.
 *
 * A transport belongs to one thread at a time, which starts exchanges and then
 * steps.  Any number of exchanges may be under way; there is no limit of
 * connections to a host, since a read that waits for changes holds one.
 *
 *   transport->ops->start(transport, x);
 *   while (x->running)
 *       transport->ops->wait(transport, INT64_MAX);
 *
 * Transports come from a network, of which a client has one:
 *
 *   rn_curl_network_open   libcurl (curl.h)
 *   tests/client/scripted  a service in the same process, in virtual time
 */
#ifndef RN_CLIENT_HTTP_TRANSPORT_H
#define RN_CLIENT_HTTP_TRANSPORT_H

#include "base/env.h"
#include "client/http/exchange.h"

struct rn_transport {
    const struct rn_transport_ops *ops;
};

struct rn_transport_ops {
    const char *name; /* "curl", "scripted" */

    /* Takes the exchange.  Failures are reported by `done`, in a later step or
     * wait. */
    void (*start)(struct rn_transport *t, struct rn_exchange *x);
    /* Gives an exchange back that was started and is not done.  `done` is not
     * called; `was_sent` is right afterwards. */
    void (*cancel)(struct rn_transport *t, struct rn_exchange *x);
    /* Calls `done` for what has ended.  The real one first waits up to
     * `wait_ns` for that, ends early when woken, and returns 0.  The scripted
     * one returns after how many nanoseconds it has something to do, or
     * RN_TASK_IDLE, without waiting: a task's step hands that on. */
    int64_t (*step)(struct rn_transport *t, int64_t wait_ns);
    /* The same for a call that blocks: returns after `wait_ns`, when an
     * exchange has ended or when woken; perhaps earlier. */
    void (*wait)(struct rn_transport *t, int64_t wait_ns);
    /* Makes a step or wait of another thread, or the next one, return. */
    void (*wake)(struct rn_transport *t);
    /* Exchanges under way are given back as by cancel. */
    void (*close)(struct rn_transport *t);
};

struct rn_network {
    const struct rn_network_ops *ops;
    struct rn_env *env; /* clock, random numbers, sleep */
};

struct rn_network_ops {
    /* A transport of the caller's own.  Any thread. */
    runnel_code (*open)(struct rn_network *n, struct rn_transport **out,
                        runnel_error *error);
    /* All its transports are closed. */
    void (*close)(struct rn_network *n);
};

#endif
