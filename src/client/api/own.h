/* own.h -- the handles of the public headers, and helpers that turn arguments
 * into calls. */
#ifndef RN_CLIENT_API_OWN_H
#define RN_CLIENT_API_OWN_H

#include "client/account/call.h"
#include "client/account/container.h"
#include "client/http/reply.h"

struct runnel_client {
    struct rn_account *account;
};

struct runnel_container {
    struct rn_client_container *inner;
};

/* Runs the call, moves its answer out and releases it.  If `rc`, the result of
 * preparing it, is a failure, only releases it. */
runnel_code rn_client_call_finish(struct rn_client_call *c, runnel_code rc,
                                  runnel_reply **out,
                                  runnel_error *error) RUNNEL_CHECK;

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

/* ---- partition keys ---- */

/* Appends the header's text for a key given as JSON: a value, an array, or NULL
 * for an item without one, for which the container is asked. */
runnel_code rn_key_print(struct rn_client_container *c, const char *json,
                         struct rn_buf *out, runnel_error *error) RUNNEL_CHECK;
/* The same for the key in an item. */
runnel_code rn_key_extract(const struct rn_definition *d,
                           const struct rn_json *item, struct rn_buf *out,
                           runnel_error *error) RUNNEL_CHECK;

enum { RN_KEY_TEXT_MAX = 16 << 10 };

#endif
