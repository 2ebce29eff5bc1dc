/* server.h -- the running server: store, engine, loops and listeners, started
 * and stopped in the right order. */
#ifndef RN_SERVER_SERVER_H
#define RN_SERVER_SERVER_H

#include "base/log.h"
#include "server/options.h"

struct rn_server;

enum { RN_SERVER_QUIET_MS = 400 };

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

/* Reloads certificates, keys and the metrics token, each by itself, and logs
 * the results.  What fails to load leaves the old ones in use. */
void rn_server_reload(struct rn_server *s);

/* Have the files of a reload changed since they were read, and are they stable?
 * Returns in how many milliseconds to look again in any case; -1: when
 * rn_server_watch_fd, which is a new descriptor after each look, is readable
 * and RN_SERVER_QUIET_MS have passed, but at least once a day, because an
 * automatic certificate expires without a change of a file.  Thread: the one
 * that reloads. */
int rn_server_look(struct rn_server *s, bool *is_outdated);
int rn_server_watch_fd(const struct rn_server *s); /* -1: none */

/* True if the data can be neither written nor read any more.  The process has
 * then sent itself a SIGTERM. */
bool rn_server_is_lost(const struct rn_server *s);

/* Accepts no more connections, lets requests in progress finish for `drain_ms`,
 * closes everything.  NULL is allowed. */
void rn_server_stop(struct rn_server *s);

#endif
