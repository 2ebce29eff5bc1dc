/* client_limits.h -- a limit on the connections of each client address: a hash
 * table of counts.
 *
 * A single client could otherwise use up --connections-max and shut out the
 * others.  Only addresses with a connection are kept.  Threads: any.
 */
#ifndef RN_SERVER_CLIENT_LIMITS_H
#define RN_SERVER_CLIENT_LIMITS_H

#include "base/err.h"
#include "base/mem.h"

struct rn_client_limits;
struct rn_peer; /* an address that has connections */

/* NULL if out of memory. */
struct rn_client_limits *rn_client_limits_new(void);
void rn_client_limits_free(struct rn_client_limits *p); /* NULL is allowed */

/* Counts one more connection from HOST:PORT.  NULL if the address has reached
 * its limit, or if out of memory. */
struct rn_peer *rn_client_limits_enter(struct rn_client_limits *p,
                                       const char *address,
                                       uint64_t connections_max);
void rn_client_limits_leave(struct rn_client_limits *p, struct rn_peer *peer);

#endif
