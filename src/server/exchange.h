/* exchange.h -- HTTP on a connection: requests in, calls made, answers out.
 *
 * One per connection, in its loop.  Requests are answered in order, one at a
 * time; what is pipelined behind waits in the reader.
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
    struct rn_request_log *journal;
    struct rn_env *env;
    const struct rn_http_limits *limits;
    uint32_t head_ms;    /* from its first byte to the end of a request; a body
                            that keeps its pace has longer */
    uint32_t idle_ms;    /* between requests */
    uint32_t stall_ms;   /* without a byte being taken by the client */
    uint32_t latency_ms; /* from a request to its answer, at least */
    uint32_t requests_max; /* per connection */
    struct rn_client_limits *peers;
    atomic_uint *open;     /* how many connections there are */
    atomic_bool *draining; /* close after the answer in progress */
};

/* Who has come. */
struct rn_exchange_client {
    int fd;
    const char *address; /* lent for the call */
    struct rn_peer *peer;
    bool is_loopback;
};

/* Takes over the socket, the place among the peers and the one that is counted
 * in `open`, in any case.  Thread: the loop's. */
void rn_exchange_begin(const struct rn_exchange_opts *opts,
                       struct rn_loop *loop, struct rn_tls *tls,
                       const struct rn_exchange_client *client);

#endif
