/* route.h -- the route table: verb, resource kind and header to handler; the
 * first matching row wins. */
#ifndef RN_REST_ROUTE_H
#define RN_REST_ROUTE_H

#include "rest/context.h"

enum {
    RN_ROUTE_WRITES = 1 << 0, /* needs RN_MAY_WRITE */
    RN_ROUTE_KEYED = 1 << 1,  /* needs a complete partition key in the header */
    RN_ROUTE_PAYS = 1 << 2,   /* the handler calls rn_budget_check itself */
    RN_ROUTE_DOCUMENT = 1 << 3, /* the answer is about one document */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): as rows read */
struct rn_route {
    enum rn_http_method method;
    enum rn_kind kind;
    bool is_list;
    const char *given; /* a header that must be true or present; NULL: none */
    rn_handler_fn *run;
    unsigned traits;
};

/* NULL if there is none. */
const struct rn_route *rn_route_find(const struct rn_context *x);

#endif
