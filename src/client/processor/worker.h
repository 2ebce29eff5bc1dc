/* worker.h -- the life of one lease in this process: acquired, read, handled,
 * written and released.  state.h has the struct.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_WORKER_H
#define RN_CLIENT_PROCESSOR_WORKER_H

#include "client/lease/document.h"

#include <runnel/processor.h>

struct rn_host;
struct rn_worker;

runnel_code rn_worker_new(struct rn_host *h, struct rn_lease_document *document,
                          struct rn_worker **out) RN_CHECK;
/* Nothing of it is under way, unless the host is killed. */
void rn_worker_free(struct rn_worker *w);
/* Begins to acquire; `is_expired`: from an owner that seems dead. */
void rn_worker_acquire(struct rn_worker *w, bool is_expired);
/* Begins with a lease that this host has just created. */
void rn_worker_adopt(struct rn_worker *w, const char *session, int64_t sent_ns);
/* Steps; returns nanoseconds to its next wish. */
int64_t rn_worker_step(struct rn_worker *w, int64_t now_ns);
void rn_worker_drain(struct rn_worker *w, runnel_close_reason reason);
void rn_worker_lose(struct rn_worker *w, runnel_close_reason reason);
/* The deadline of a stop is over: release without waiting for handlers. */
void rn_worker_abandon(struct rn_worker *w);
void rn_worker_begin_reading(struct rn_worker *w);
/* Memory is short: drops pages whose batches all wait for a retry.  They are
 * read again at `due_ns`, behind what was done. */
void rn_worker_shed_pages(struct rn_worker *w, int64_t due_ns);
/* The read under way has ended or is about to be cancelled. */
void rn_worker_end_ask(struct rn_worker *w);
bool rn_worker_is_valid(const struct rn_worker *w, int64_t now_ns);

#endif
