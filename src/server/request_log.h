/* request_log.h -- the log's lines about requests.
 *
 * Every request, if that is wanted; those that took long, with what they waited
 * for; those that the server could not fulfil, and those whose signature was
 * not right, a line now and then with how many there were; and likewise of
 * clients that begin in TLS where there is none.
 *
 * Fields are a fixed list: headers, bodies, keys and tokens are not in it.
 *
 * Threads: any.
 */
#ifndef RN_SERVER_REQUEST_LOG_H
#define RN_SERVER_REQUEST_LOG_H

#include "base/log.h"
#include "rest/call.h"

enum { RN_JOURNAL_PEERS = 16 };

struct rn_request_log {
    struct rn_log *log;
    bool all;        /* every request */
    int64_t slow_ns; /* 0: none is slow */
    struct rn_log_limit slow, failed, foreign;
    /* By client address, lest one hide the others; some share one. */
    struct rn_log_limit refused[RN_JOURNAL_PEERS];
};

void rn_request_log_init(struct rn_request_log *j, struct rn_log *log, bool all,
                         uint64_t slow_ms);
/* The call is answered, or its client gone. */
void rn_request_log_call(struct rn_request_log *j, const struct rn_call *call);
/* A client wants TLS of a server without a certificate.  Few of them can tell
 * their users what is the matter. */
void rn_request_log_foreign(struct rn_request_log *j, const char *peer);

#endif
