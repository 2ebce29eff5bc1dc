/* pass.h -- one balance pass of a host: lists the leases, compares them with
 * the host's share, takes, marks and gives.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_PASS_H
#define RN_CLIENT_PROCESSOR_PASS_H

#include "client/http/error.h"

struct rn_host;
struct rn_pass;

/* Begins one. */
runnel_code rn_pass_new(struct rn_host *h, struct rn_pass **out) RN_CHECK;
void rn_pass_free(struct rn_pass *p); /* NULL is fine */
/* True when it is over. */
bool rn_pass_step(struct rn_pass *p);

#endif
