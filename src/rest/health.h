/* health.h -- endpoints without authentication: liveness, readiness, metrics,
 * the CA certificate. */
#ifndef RN_REST_HEALTH_H
#define RN_REST_HEALTH_H

#include "rest/context.h"

/* Which insecure settings are active, in the order of the names. */
enum { RN_INSECURE = 5 };
extern const char *const rn_insecure_names[RN_INSECURE];
void rn_insecure_find(struct rn_rest *r, bool out[RN_INSECURE]);

/* Answers a path that needs no signature; false if the path is not one. */
bool rn_rest_public(struct rn_context *x);
/* Answers liveness and readiness probes, whatever the Host header is; false if
 * the path is not one. */
bool rn_rest_probe(struct rn_context *x);

#endif
