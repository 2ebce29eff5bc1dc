/* server_state.h -- the parts of a running server: its store, engine, loops and
 * listeners.
 *
 * Internal to server/.
 */
#ifndef RN_SERVER_SERVER_STATE_H
#define RN_SERVER_SERVER_STATE_H

#include "engine/engine.h"
#include "net/listener.h"
#include "rest/rest.h"
#include "server/certificate.h"
#include "server/exchange.h"
#include "server/file_watch.h"

enum { RN_SERVER_LOOPS_MAX = 64 };

struct rn_server {
    const struct rn_options *options;
    struct rn_log *log;
    struct rn_env *env;
    struct rn_shifted_clock turned; /* the engine's clock in test mode */
    struct rn_store *store;
    struct rn_engine *engine;
    struct rn_rest *rest;
    struct rn_workers *workers;
    struct rn_loop *loops[RN_SERVER_LOOPS_MAX];
    unsigned loop_count;
    struct rn_listener *listeners[2]; /* the second may be NULL */
    unsigned listening; /* listeners that their loops have taken over */
    bool serving;
    struct rn_http_limits limits;
    struct rn_request_log request_log;
    struct rn_exchange_opts exchange;
    struct rn_client_limits *client_limits;
    struct rn_buf config; /* the options, for the metrics */
    atomic_uint open, turn;
    atomic_size_t bodies_bytes; /* see http/parse.h */
    atomic_bool draining;
    atomic_bool lost; /* the store has failed */

    struct rn_file_watch watched;
    struct rn_certificate certificate;
};

#endif
