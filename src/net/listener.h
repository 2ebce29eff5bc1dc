/* listener.h -- a listening TCP socket in one event loop.
 *
 * There is one per address and no SO_REUSEPORT: a second server on the port
 * must fail, not share it silently.  Accepted sockets are non-blocking and
 * passed to `accepted`, which gives them to a loop.
 */
#ifndef RN_NET_LISTENER_H
#define RN_NET_LISTENER_H

#include "net/loop.h"

enum { RN_ADDRESS_TEXT_MAX = 64 };

/* Thread: the listener's loop.  The callee owns `fd`; -1 if accept failed, and
 * then `address` says why. */
typedef void rn_listener_accepted_fn(void *context, int fd,
                                     const char *address);

struct rn_listener;

/* `where` is HOST:PORT, [HOST]:PORT for IPv6; port 0 takes any free port.
 * Binds and listens; nothing is accepted before rn_listener_start. */
enum rn_code rn_listener_open(const char *where, struct rn_listener **out,
                              struct rn_err *err) RN_CHECK;
/* The same on 127.0.0.1 and on ::1, with one port: clients resolve `localhost`
 * to either.  Without IPv6, out[1] is not set. */
enum rn_code rn_listener_open_localhost(const char *port,
                                        struct rn_listener *out[2],
                                        struct rn_err *err) RN_CHECK;
/* Thread: any, before the loop runs; `closed` by the loop's end. */
enum rn_code rn_listener_start(struct rn_listener *l, struct rn_loop *loop,
                               rn_listener_accepted_fn *accepted, void *context,
                               struct rn_err *err) RN_CHECK;
/* Closes a started listener, so that clients are refused at once and need not
 * wait for a timeout.  Thread: the loop's. */
void rn_listener_stop(struct rn_listener *l);
/* Only for a listener that was never started; the loop closes one that was. */
void rn_listener_close(struct rn_listener *l);

/* Prints the local address of a socket. */
void rn_address_print(int fd, char out[RN_ADDRESS_TEXT_MAX]);

/* As bound: the real port. */
const char *rn_listener_address(const struct rn_listener *l);
bool rn_listener_is_loopback(const struct rn_listener *l);

#endif
