/* account.h -- GET /: the account document, which every client reads first. */
#ifndef RN_REST_ACCOUNT_H
#define RN_REST_ACCOUNT_H

#include "rest/context.h"

/* Prints the endpoint that the account document gives this client, without a
 * NUL.  Returns its length. */
enum { RN_ENDPOINT_MAX = 1024 };
size_t rn_endpoint_print(const struct rn_context *x, char out[RN_ENDPOINT_MAX]);

rn_handler_fn rn_rest_account_read;

#endif
