/* reply.h -- an answer owned by the caller: status, headers and body.
 *
 * A reply owns the bytes that it lends.  It is immutable, so any thread may
 * read it.
 */
#ifndef RN_CLIENT_HTTP_REPLY_H
#define RN_CLIENT_HTTP_REPLY_H

#include "client/http/exchange.h"

struct runnel_reply {
    int status;
    struct rn_headers headers;
    struct rn_buf body;
};

/* Moves the answer out of an exchange.  `out` may be NULL. */
runnel_code rn_reply_take(struct rn_exchange *x, runnel_reply **out,
                          runnel_error *error) RUNNEL_CHECK;

#endif
