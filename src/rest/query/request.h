/* request.h -- a query as a request brings it: text, parameters and
 * where to resume, parsed. */
#ifndef RN_REST_QUERY_REQUEST_H
#define RN_REST_QUERY_REQUEST_H

#include "query/query.h"
#include "rest/context.h"

struct rn_asked {
    struct rn_json json, definition; /* of the request, of the container */
    struct rn_policy policy;
    struct rn_query *query;         /* in the call's arena */
    struct rn_query_resume *resume; /* there too; NULL: none */
    struct rn_faults faults;
};

/* Reads {"query":...,"parameters":[...],"resumeFilter":{...}}.  On failure the
 * faults, if any, say why; the caller refuses. */
enum rn_code rn_asked_read(struct rn_asked *a, struct rn_context *x) RN_CHECK;
void rn_asked_release(struct rn_asked *a);

/* Answers with what is wrong, in the service's form, and releases. */
enum rn_rest_step rn_asked_refuse(struct rn_asked *a, struct rn_context *x,
                                  enum rn_code rc);

/* The plan for several ranges, as JSON; plans.c. */
enum rn_code rn_asked_plan(struct rn_asked *a, struct rn_context *x,
                           struct rn_buf *out) RN_CHECK;
/* Answers that the client must make the plan itself, and releases. */
enum rn_rest_step rn_asked_give_plan(struct rn_asked *a, struct rn_context *x);

#endif
