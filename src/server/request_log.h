/* request_log.h -- the lines about requests in the server log.
 *
 * It logs every request, if that is enabled, and slow requests with what they
 * waited for.  Failed requests, requests with a wrong signature, and clients
 * that start TLS at a server without a certificate are rate-limited: a line now
 * and then, with a count.
 *
 * Fields are a fixed list: headers, bodies, keys and tokens are never logged.
 *
 * Threads: any.
 */
#ifndef RN_SERVER_REQUEST_LOG_H
#define RN_SERVER_REQUEST_LOG_H

#include "base/log.h"
#include "rest/call.h"

enum { RN_REQUEST_LOG_PEERS = 16 };

struct rn_request_log {
    struct rn_log *log;
    bool all;        /* every request */
    int64_t slow_ns; /* 0: no request is slow */
    struct rn_log_limit slow, failed, foreign;
    /* Rate limits by hashed client address, so that one client does not hide
     * the others. */
    struct rn_log_limit refused[RN_REQUEST_LOG_PEERS];
};

void rn_request_log_init(struct rn_request_log *j, struct rn_log *log, bool all,
                         uint64_t slow_ms);
/* The call is answered, or its client has disconnected. */
void rn_request_log_call(struct rn_request_log *j, const struct rn_call *call);
/* A client starts TLS with a server that has no certificate.  Few clients
 * report that problem clearly. */
void rn_request_log_foreign(struct rn_request_log *j, const char *peer);

#endif
