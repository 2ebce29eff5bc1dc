/* query_token.h -- the continuation token of a query: parsed and printed. */
#ifndef RN_REST_QUERY_QUERY_TOKEN_H
#define RN_REST_QUERY_QUERY_TOKEN_H

#include "rest/query/query_page.h"

/* Reads the request's continuation, if there is one.  RN_BAD_REQUEST if it is
 * malformed. */
enum rn_code rn_query_token_read(struct rn_query_page *p) RN_CHECK;
/* Adds the continuation to the reply. */
void rn_query_token_add(struct rn_query_page *p);

#endif
