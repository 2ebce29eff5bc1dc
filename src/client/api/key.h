/* key.h -- partition keys as the text of a header, from a caller's JSON or from
 * an item. */
#ifndef RN_CLIENT_API_KEY_H
#define RN_CLIENT_API_KEY_H

#include "client/account/container.h"

enum { RN_KEY_TEXT_MAX = 16 << 10 };

/* Appends the header's text for a key given as JSON: a value, an array, or NULL
 * for an item without one, for which the container is asked. */
runnel_code rn_key_print(struct rn_client_container *c, const char *json,
                         struct rn_buf *out, runnel_error *error) RUNNEL_CHECK;
/* The same for the key in an item. */
runnel_code rn_key_extract(const struct rn_definition *d,
                           const struct rn_json *item, struct rn_buf *out,
                           runnel_error *error) RUNNEL_CHECK;

#endif
