/* endpoint.h -- metrics and health of a trigger over HTTP.
 *
 *   GET /metrics    the numbers, for Prometheus
 *   GET /live       200 while the trigger works, else 503
 *   GET /ready      200 from its start until it drains, else 503
 *
 * One thread answers one request after the other.
 */
#ifndef RN_TOOLS_TRIGGER_ENDPOINT_H
#define RN_TOOLS_TRIGGER_ENDPOINT_H

#include "tools/trigger/trigger.h"

struct rn_endpoint;

/* Listens on "[HOST]:PORT" and prints the address.  `option` is for the message
 * of a failure.  Returns an enum rn_exit. */
int rn_endpoint_open(struct rn_trigger *trigger, const char *option,
                     const char *address, struct rn_endpoint **out) RN_CHECK;
/* NULL is fine. */
void rn_endpoint_close(struct rn_endpoint *endpoint);

#endif
