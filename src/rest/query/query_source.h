/* query_source.h -- the input of a query: documents, catalog objects, or the
 * ranges of a container. */
#ifndef RN_REST_QUERY_QUERY_SOURCE_H
#define RN_REST_QUERY_QUERY_SOURCE_H

#include "rest/query/query_page.h"

/* `no_order`: do not use an index for the order; see struct rn_access_ask. */
enum rn_code rn_query_source_open(struct rn_query_page *p,
                                  struct rn_source *source,
                                  bool no_order) RN_CHECK;
void rn_query_source_close(struct rn_query_page *p); /* unopened is allowed */
/* Restricts the page to the range in which it begins. */
void rn_query_source_narrow(struct rn_query_page *p);
/* The page was read up to its border: the next page begins there. */
void rn_query_source_cross(struct rn_query_page *p);

#endif
