/* deliver.h -- the handler's calls of one lease, and what they return.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_DELIVER_H
#define RN_CLIENT_PROCESSOR_DELIVER_H

#include <stdint.h>

struct rn_delivery;
struct rn_job;
struct rn_worker;

/* Hands out batches and gives up those whose time is over.  Returns
 * nanoseconds to the next step. */
int64_t rn_worker_deliver(struct rn_worker *w, int64_t now_ns);
/* The handler has returned. */
void rn_worker_returned(struct rn_delivery *d);
/* The handler has given the verdict that it left pending. */
void rn_worker_acked(struct rn_delivery *d);
/* Calls a function of the observer that has no batch: open, close or
 * dead_letter.  `run` notes its beginning first. */
void rn_worker_start_job(struct rn_worker *w, void (*run)(struct rn_job *job));
void rn_worker_note_job(struct rn_worker *w);
/* Reports one that takes long, and gives up the lease because of it. */
int64_t rn_worker_watch_job(struct rn_worker *w, int64_t now_ns);
/* The observer's open and close, on a thread of handlers; and their ends. */
void rn_worker_start_open(struct rn_worker *w);
void rn_worker_start_close(struct rn_worker *w);
void rn_worker_opened(struct rn_worker *w);
void rn_worker_closed(struct rn_worker *w);
/* Drops every batch that no handler has. */
void rn_worker_forget_batches(struct rn_worker *w);
/* What was done may be stored now, depending on the options. */
void rn_worker_note_progress(struct rn_worker *w);

#endif
