/* health.h -- what may be asked without a signature: is it alive, is it ready.
 */
#ifndef RN_REST_HEALTH_H
#define RN_REST_HEALTH_H

#include "rest/context.h"

/* What of its configuration opens what is closed by default, in the
 * order of the names. */
enum { RN_INSECURE = 5 };
extern const char *const rn_insecure_names[RN_INSECURE];
void rn_insecure_find(struct rn_rest *r, bool out[RN_INSECURE]);

/* The paths that need no signature.  False if this is none. */
bool rn_rest_public(struct rn_context *x);
/* The same, for those that only say how the server is: whatever Host says. */
bool rn_rest_probe(struct rn_context *x);

#endif
