/* queries.h -- executes a query over documents or catalog objects. */
#ifndef RN_REST_QUERY_QUERIES_H
#define RN_REST_QUERY_QUERIES_H

#include "rest/context.h"

rn_handler_fn rn_rest_query;

#endif
