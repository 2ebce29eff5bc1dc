/* exchange.h -- HTTP/1.1 on one connection: reads requests, makes calls, sends
 * answers.
 *
 * There is one per connection, in its loop.  Requests are answered in order,
 * one at a time; pipelined requests wait in the reader.
 */
#ifndef RN_SERVER_EXCHANGE_H
#define RN_SERVER_EXCHANGE_H

#include "http/parse.h"
#include "net/conn.h"
#include "rest/call.h"
#include "server/client_limits.h"
#include "server/request_log.h"
#include "server/worker.h"

#include <stdatomic.h>

struct rn_exchange_opts {
    struct rn_rest *rest;
    struct rn_workers *workers;
    struct rn_request_log *request_log;
    struct rn_env *env;
    const struct rn_http_limits *limits;
    uint32_t head_ms;    /* from the first byte to the end of a request; a body
                            that keeps its rate has longer */
    uint32_t idle_ms;    /* between requests */
    uint32_t stall_ms;   /* without a byte being accepted by the client */
    uint32_t latency_ms; /* minimum time from a request to its answer */
    uint32_t requests_max; /* per connection */
    struct rn_client_limits *client_limits;
    atomic_uint *open;     /* the number of open connections */
    atomic_bool *draining; /* close after the answer in progress */
};

/* An accepted connection. */
struct rn_exchange_client {
    int fd;
    const char *address; /* valid during the call only */
    struct rn_peer *peer;
    bool is_loopback;
};

/* Takes ownership of the socket, of the entry in client_limits.h and of the
 * count in `open`, in any case.  Thread: the loop's. */
void rn_exchange_begin(const struct rn_exchange_opts *opts,
                       struct rn_loop *loop, struct rn_tls *tls,
                       const struct rn_exchange_client *client);

#endif
