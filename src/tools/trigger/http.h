/* http.h -- a handler that is a web service.
 *
 * Each call is a POST of a JSON array with the facts, the idempotency key and,
 * with a key, a signature (see signature.h) in its headers.  The answer:
 *
 *   2xx                   done
 *   429, 503 with         the same request again after that time, at most a
 *     Retry-After         minute; this is no failed attempt
 *   408, 429, 5xx, 3xx    retry; also no connection, and the time limit
 *   other 4xx             poison
 *   no trust in the       the trigger ends: the configuration is wrong
 *     certificate
 */
#ifndef RN_TOOLS_TRIGGER_HTTP_H
#define RN_TOOLS_TRIGGER_HTTP_H

#include "tools/trigger/handler.h"

struct rn_http_options {
    const char *url;
    const char *ca_file;        /* PEM; NULL: the system's */
    struct rn_view signing_key; /* empty: no signature */
    uint32_t count;             /* calls at once, at most */
    uint32_t timeout_ms;        /* of one request */
};

/* Once in a process, before there are threads. */
void rn_http_begin(void);
/* Is it an http or https URL? */
bool rn_http_is_url(const char *text);
/* What the options refer to is borrowed.  NULL without memory. */
struct rn_handler *rn_http_new(const struct rn_http_options *options) RN_CHECK;

#endif
