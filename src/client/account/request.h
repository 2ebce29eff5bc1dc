/* request.h -- a request of the protocol, and how it becomes an exchange.
 *
 *   struct rn_request r;
 *   rn_request_init(&r, "GET", RN_EFFECT_READ, &link);
 *   rc = rn_headers_add(&r.headers, RN_HEADER_MAX_ITEM_COUNT, RN_LIT("1"), e);
 *   rc = rn_request_build(account, &r, &x, e);
 *   ... transport, retry; build it again for another attempt: a signature
 *   holds for a quarter of an hour ...
 *   rn_request_release(&r);
 *
 * Most callers use call.h, which does all of that.  One thread.
 */
#ifndef RN_CLIENT_ACCOUNT_REQUEST_H
#define RN_CLIENT_ACCOUNT_REQUEST_H

#include "client/account/account.h"
#include "client/http/exchange.h"
#include "cosmos/header.h"
#include "cosmos/link.h"

struct rn_request {
    const char *method;        /* a literal, upper case */
    struct rn_link link;       /* its ids are borrowed */
    const char *path;          /* NULL, or sent in place of the link's */
    struct rn_headers headers; /* beyond those that every request has */
    struct rn_view body;       /* borrowed */
    enum rn_effect effect;
    /* How much longer than usual the server may take: Prefer: wait=N. */
    uint32_t wait_ms;
    /* The container whose session tokens, routing map and definition the
     * request uses; NULL: none.  Its rid is sent along. */
    struct rn_client_container *container;
    /* The partition key range that is addressed, by id, and whose session token
     * is sent; NULL: the server finds it.  RUNNEL_GONE if it was split or
     * merged. */
    const char *range;
    const char *session_token; /* sent as it is; NULL: the one that was seen */
};

/* `method` is a literal; `link` is copied, its ids are borrowed. */
void rn_request_init(struct rn_request *r, const char *method,
                     enum rn_effect effect, const struct rn_link *link);
void rn_request_release(struct rn_request *r);

/* Fills the upper half of the exchange: URL in the region that serves now,
 * date, signature or token, version, user agent, session token, and the
 * request's own headers, which win.  Asks the token callback if it must.  The
 * body is borrowed until the exchange has ended. */
runnel_code rn_request_build(struct rn_account *account,
                             const struct rn_request *r, struct rn_exchange *x,
                             runnel_error *error) RUNNEL_CHECK;

#endif
