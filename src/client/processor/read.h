/* read.h -- the feed of a lease: one request at a time, a page ahead at most.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_READ_H
#define RN_CLIENT_PROCESSOR_READ_H

#include <stdint.h>

struct rn_worker;

/* Returns nanoseconds to the next step. */
int64_t rn_worker_read(struct rn_worker *w, int64_t now_ns);

#endif
