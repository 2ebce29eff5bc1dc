/* client_limits.h -- how many connections each client address has.
 *
 * One client that opens all that --connections-max allows would shut out the
 * others; so each address has a limit of its own.  Only addresses with a
 * connection are kept.  Threads: any.
 */
#ifndef RN_SERVER_CLIENT_LIMITS_H
#define RN_SERVER_CLIENT_LIMITS_H

#include "base/err.h"
#include "base/mem.h"

struct rn_client_limits;
struct rn_peer; /* an address that has connections */

/* NULL without memory. */
struct rn_client_limits *rn_client_limits_new(void);
void rn_client_limits_free(struct rn_client_limits *p); /* NULL is fine */

/* One connection more from HOST:PORT.  NULL if that address has as many as it
 * may, or without memory. */
struct rn_peer *rn_client_limits_enter(struct rn_client_limits *p,
                                       const char *address,
                                       uint64_t connections_max);
void rn_client_limits_leave(struct rn_client_limits *p, struct rn_peer *peer);

#endif
