/* listener.h -- a listening socket, watched by one loop.
 *
 * There is one per address and no SO_REUSEPORT: a second server on the port
 * must fail, not share it silently.  Accepted sockets are non-blocking and
 * handed to `accepted`, which gives them to a loop.
 */
#ifndef RN_NET_LISTENER_H
#define RN_NET_LISTENER_H

#include "net/loop.h"

enum { RN_ADDRESS_TEXT_MAX = 64 };

/* Thread: the listener's loop.  Owns `fd` from now on; -1 if the system could
 * not give one, and then `address` says why. */
typedef void rn_listener_accepted_fn(void *context, int fd,
                                     const char *address);

struct rn_listener;

/* `where` is HOST:PORT, [HOST]:PORT for IPv6; port 0 takes any.  Binds and
 * listens; nothing is accepted before rn_listener_start. */
enum rn_code rn_listener_open(const char *where, struct rn_listener **out,
                              struct rn_err *err) RN_CHECK;
/* The same on 127.0.0.1 and on ::1, with one port: clients take the name
 * `localhost` for either.  out[1] is left alone where there is no IPv6. */
enum rn_code rn_listener_open_localhost(const char *port,
                                        struct rn_listener *out[2],
                                        struct rn_err *err) RN_CHECK;
/* Thread: any, before the loop runs; `closed` by the loop's end. */
enum rn_code rn_listener_start(struct rn_listener *l, struct rn_loop *loop,
                               rn_listener_accepted_fn *accepted, void *context,
                               struct rn_err *err) RN_CHECK;
/* Closes one that was started, so that clients are refused at once and need not
 * wait for an end.  Thread: the loop's. */
void rn_listener_stop(struct rn_listener *l);
/* Only if it was never started; the loop ends one that was. */
void rn_listener_close(struct rn_listener *l);

/* Where this end of a socket is. */
void rn_address_print(int fd, char out[RN_ADDRESS_TEXT_MAX]);

/* As bound: the real port. */
const char *rn_listener_address(const struct rn_listener *l);
bool rn_listener_is_loopback(const struct rn_listener *l);

#endif
