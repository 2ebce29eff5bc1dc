/* source.h -- the check that the source is still the container that the leases
 * were made for.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_SOURCE_H
#define RN_CLIENT_PROCESSOR_SOURCE_H

#include <stdint.h>

struct rn_host;

/* Asks whether the source is still there, and the same container. */
void rn_host_check_source(struct rn_host *h);
/* Returns nanoseconds to the next step. */
int64_t rn_host_step_source(struct rn_host *h, int64_t now_ns);
/* Cancels the request. */
void rn_host_forget_source(struct rn_host *h);
/* It is not the same: the host fails. */
void rn_host_replaced(struct rn_host *h);

#endif
