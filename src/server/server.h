/* server.h -- the running server: store, engine, loops and listeners, started
 * and stopped in the right order. */
#ifndef RN_SERVER_SERVER_H
#define RN_SERVER_SERVER_H

#include "base/log.h"
#include "server/options.h"

struct rn_server;

/* Opens the data, binds the address and starts to serve. */
enum rn_code rn_server_start(const struct rn_options *options,
                             struct rn_log *log, struct rn_server **out,
                             struct rn_err *err) RN_CHECK;

/* The address it listens on, with the real port; the first one of two. */
const char *rn_server_address(const struct rn_server *s);
bool rn_server_has_tls(const struct rn_server *s);
/* The emulators' key, if the server accepts it and is reachable from this
 * machine only; else NULL. */
const char *rn_server_public_key(const struct rn_server *s);
/* The certificate is an automatic one: clients need not use it. */
bool rn_server_has_automatic_tls(const struct rn_server *s);

/* True if the data can be neither written nor read any more.  The process has
 * then sent itself a SIGTERM. */
bool rn_server_is_lost(const struct rn_server *s);

/* Accepts no more connections, lets requests in progress finish for `drain_ms`,
 * closes everything.  NULL is allowed. */
void rn_server_stop(struct rn_server *s);

#endif
