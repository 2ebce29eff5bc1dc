/* token.h -- the continuation of a query, as text:
 *
 *   rnq2.<checksum>. and, in base64url without padding,
 *   {"query":"<fingerprint>","skip":n,"take":n,"last":"...",
 *    "seen":"<base64url>","after":[{"item":v}...],
 *    "at":[{"min":"","max":"1F","from":"<continuation>","items":[...],
 *           "rid":"...","rows":n}]}
 *
 * `last` is the row last returned of an ordered DISTINCT.  `seen` has 16 bytes
 * for each row that must not be returned again; null: there are too many.
 * `after` has the keys of the result last returned, of a query that is computed
 * again; the others have `at`: the sources that are not over, in order.  `from`
 * fetches the page that a source is in, and `items` and `rid` are of the row
 * last taken from it, which was the `rows`-th with that rid; or, if rows behind
 * that one were taken from other sources, only `items`, of the last of these.
 */
#ifndef RN_CLIENT_QUERY_TOKEN_H
#define RN_CLIENT_QUERY_TOKEN_H

#include "client/http/error.h"

struct rn_client_query;

/* Appends the token of what was returned so far. */
runnel_code rn_client_query_print_token(struct rn_client_query *q,
                                        struct rn_buf *out,
                                        runnel_error *error) RUNNEL_CHECK;
/* The sources are open; those that the token names take their place. */
runnel_code rn_client_query_read_token(struct rn_client_query *q,
                                       const char *token,
                                       runnel_error *error) RUNNEL_CHECK;

#endif
