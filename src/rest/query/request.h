/* request.h -- the body of a query request, parsed: query text, parameters,
 * resume filter. */
#ifndef RN_REST_QUERY_REQUEST_H
#define RN_REST_QUERY_REQUEST_H

#include "query/query.h"
#include "rest/context.h"

struct rn_query_request {
    struct rn_json json, definition; /* of the request; of the container */
    struct rn_policy policy;
    struct rn_query *query;         /* in the call's arena */
    struct rn_query_resume *resume; /* likewise; NULL: none */
    struct rn_faults faults;
};

/* Parses {"query":...,"parameters":[...],"resumeFilter":{...}}. On failure
 * `faults` may have the syntax errors; the caller calls
 * rn_query_request_refuse. */
enum rn_code rn_query_request_read(struct rn_query_request *a,
                                   struct rn_context *x) RN_CHECK;
void rn_query_request_release(struct rn_query_request *a);

/* Answers with the errors, in the service's format, and releases. */
enum rn_rest_step rn_query_request_refuse(struct rn_query_request *a,
                                          struct rn_context *x,
                                          enum rn_code rc);

#endif
