/* plans.h -- query plans for clients that run a query over several ranges. */
#ifndef RN_REST_QUERY_PLANS_H
#define RN_REST_QUERY_PLANS_H

#include "rest/query/request.h"

rn_handler_fn rn_rest_query_plan;

/* Prints the plan for several ranges as JSON. */
enum rn_code rn_query_request_plan(struct rn_query_request *a,
                                   struct rn_context *x,
                                   struct rn_buf *out) RN_CHECK;
/* Answers that the client must execute a plan itself, and releases. */
enum rn_rest_step rn_query_request_give_plan(struct rn_query_request *a,
                                             struct rn_context *x);

#endif
