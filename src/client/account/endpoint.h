/* endpoint.h -- parses endpoint URLs and connection strings.
 *
 *   https://NAME.documents.azure.com:443/
 *   AccountEndpoint=https://...;AccountKey=...;
 *
 * Values only; any thread.
 */
#ifndef RN_CLIENT_ACCOUNT_ENDPOINT_H
#define RN_CLIENT_ACCOUNT_ENDPOINT_H

#include "client/account/regions.h"

/* Views of the text; `at` is NULL for absent members. */
struct rn_connection {
    struct rn_view endpoint, key;
    bool insecure_tls; /* DisableServerCertificateValidation=true */
};

/* RUNNEL_BAD_REQUEST without both endpoint and key.  Unknown members are
 * ignored: some programs add Database=... for themselves. */
runnel_code rn_connection_parse(const char *text, struct rn_connection *out,
                                runnel_error *error) RUNNEL_CHECK;

/* Checks that it is an http or https URL of a host alone, and copies it without
 * the trailing slash.  No message repeats it: a user may have put a key into
 * it. */
runnel_code rn_endpoint_parse(struct rn_view text, char out[RN_REGION_URL_MAX],
                              bool *is_loopback,
                              runnel_error *error) RUNNEL_CHECK;

#endif
