/* rewrite.h -- query rewriting: the text that a client sends to each range;
 * internal to the module. */
#ifndef RN_QUERY_CLIENT_PLAN_REWRITE_H
#define RN_QUERY_CLIENT_PLAN_REWRITE_H

#include "query/client_plan/plan.h"
#include "query/parse/print.h"

/* The text for each range; empty if the original text is used. */
enum rn_code rn_plan_rewrite(const struct rn_plan *p,
                             struct rn_buf *out) RN_CHECK;

/* Parts of such texts: the payload that becomes the client's row, and WHERE
 * with a placeholder for the client's own filter. */
void rn_plan_payload(struct rn_printer *p, const struct rn_select *s);
void rn_plan_filter(struct rn_printer *p, const struct rn_select *s);

#endif
