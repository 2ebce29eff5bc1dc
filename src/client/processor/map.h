/* map.h -- the routing map of the source container, read without blocking.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_MAP_H
#define RN_CLIENT_PROCESSOR_MAP_H

#include <stdint.h>

struct rn_host;

/* Reads the map again; `map_version` of the host rises when it is there. */
void rn_host_want_map(struct rn_host *h);
/* Asks for all of it next time, not for what is new. */
void rn_host_distrust_map(struct rn_host *h);
/* Returns nanoseconds to the next step. */
int64_t rn_host_step_map(struct rn_host *h, int64_t now_ns);
/* Frees the map, cancels the request. */
void rn_host_forget_map(struct rn_host *h);

#endif
