/* retry.h -- what to do after an exchange: the table of retries.
 *
 *   outcome                        reads       writes
 *   no connection                  again       again
 *   connection lost, timeout,      again       no; with If-Match once, see
 *   408, 500, 502, 504                         rn_retry_outcome
 *   429                            after x-ms-retry-after-ms
 *   449, 503, 410/1000, 410/1008,  after 10 ms x 2^n, at most 1 s
 *   404/1013
 *   410/1002, 410/1007             after the routing map was read again
 *   404/1002                       after 5, 10, 50 ms   -
 *   400/1001, 400/1024, 404/1003   once, after the definition was read again
 *   401, 403 with a clock that     once, with the server's time
 *   is more than 5 minutes off
 *   403/3                          in another region
 *
 * All within `limit` attempts after the first and `wait_ms` of pauses.
 *
 * Decides and counts; sends nothing and asks no clock.  A value; one thread.
 */
#ifndef RN_CLIENT_HTTP_RETRY_H
#define RN_CLIENT_HTTP_RETRY_H

#include "client/http/exchange.h"

struct rn_retry_policy {
    uint32_t limit;   /* attempts after the first */
    uint32_t wait_ms; /* all pauses together */
};

struct rn_retry {
    struct rn_retry_policy policy;
    uint32_t attempts;      /* made again so far */
    uint32_t waited_ms;     /* in pauses so far */
    uint32_t session_tries; /* of attempts, those after a 404/1002 */
    bool was_lost;          /* an answer was, of a write with If-Match */
    bool has_new_definition, has_new_clock, has_new_token;
};

enum rn_retry_act {
    RN_RETRY_OVER,  /* `code` is the outcome, RUNNEL_OK included */
    RN_RETRY_AGAIN, /* after `pause_ms`, and after what the flags say */
};

struct rn_retry_verdict {
    enum rn_retry_act act;
    runnel_code code;
    uint32_t pause_ms;
    bool wants_ranges;     /* forget the routing map of the container */
    bool wants_definition; /* forget the container's definition and rid */
    bool wants_clock;      /* sign by the server's Date */
    bool wants_token;      /* ask the token callback again */
    bool wants_region;     /* this region failed: the next one */
};

void rn_retry_init(struct rn_retry *r, struct rn_retry_policy policy);

/* Judges the exchange that has just ended and counts the attempt.  `clock_off`:
 * the local clock is more than five minutes off the answer's Date. */
struct rn_retry_verdict rn_retry_judge(struct rn_retry *r,
                                       const struct rn_exchange *x,
                                       bool clock_off, runnel_error *error);

/* The code of a call that is over.  If the answer to its first attempt was
 * lost, that attempt may have been carried out, whatever a later one met;
 * except that a refusal of the request for what it is would have met the first
 * attempt as well. */
runnel_code rn_retry_outcome(const struct rn_retry *r, runnel_code code);

#endif
