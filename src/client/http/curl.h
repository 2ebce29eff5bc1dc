/* curl.h -- the network over libcurl: HTTP/1.1, with TLS by OpenSSL.
 *
 * libcurl is configured to use nothing but these options: no proxy of the
 * environment, no .netrc, no redirects, no cookies.  It also resends a request
 * by itself when a reused connection turns out to be closed; that is refused
 * for writes, which might then be done twice.
 *
 * Besides curl.c only tests use libcurl.
 */
#ifndef RN_CLIENT_HTTP_CURL_H
#define RN_CLIENT_HTTP_CURL_H

#include "client/http/transport.h"

/* Strings are copied. */
struct rn_curl_options {
    const char *ca_file; /* NULL: the system's */
    bool insecure_tls;
    const char *proxy; /* NULL: none */
    uint32_t connect_timeout_ms;
};

runnel_code rn_curl_network_open(const struct rn_curl_options *options,
                                 struct rn_env *env, struct rn_network **out,
                                 runnel_error *error) RUNNEL_CHECK;

#endif
