/* client.h -- the handle of a client, and what turns the arguments of a request
 * into its headers. */
#ifndef RN_CLIENT_API_CLIENT_H
#define RN_CLIENT_API_CLIENT_H

#include "client/account/account.h"
#include "client/account/call.h"

struct runnel_client {
    struct rn_account *account;
};

runnel_code rn_headers_add_list(struct rn_headers *h,
                                const runnel_header *headers, size_t count,
                                runnel_error *error) RUNNEL_CHECK;
/* Adds it unless `value` is NULL.  An empty one is RUNNEL_BAD_REQUEST: an empty
 * If-Match would mean any. */
runnel_code rn_headers_add_text(struct rn_headers *h, const char *name,
                                const char *value,
                                runnel_error *error) RUNNEL_CHECK;

/* The effect that such a request may have had if its answer is lost. */
enum rn_effect rn_effect_of(const char *method, const char *if_match);

#endif
