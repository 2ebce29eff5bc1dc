/* explain.h -- control routes that explain a query and build or drop an index.
 */
#ifndef RN_REST_QUERY_EXPLAIN_H
#define RN_REST_QUERY_EXPLAIN_H

#include "rest/context.h"

rn_handler_fn rn_rest_explain, rn_rest_index;

#endif
