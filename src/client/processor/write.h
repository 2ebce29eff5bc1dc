/* write.h -- the writes of a worker's lease: acquired, renewed, checkpointed
 * and released by compare-and-swap.
 *
 * Threads: the host's.
 */
#ifndef RN_CLIENT_PROCESSOR_WRITE_H
#define RN_CLIENT_PROCESSOR_WRITE_H

#include "client/lease/store.h"
#include "client/processor/window.h"

struct rn_worker;

/* A handler that waits for its checkpoint. */
struct rn_checkpoint_wait {
    struct rn_message message;
    struct rn_delivery *delivery;
    void *transaction;
    runnel_code code;
    runnel_error error;
    bool is_over;    /* guarded by host.lock */
    bool is_granted; /* the handler's thread is to write `record` */
    struct rn_lease_store_call record;
    struct rn_checkpoint_wait *next;
};

/* A write that was sent then has succeeded: the lease is ours until shortly
 * before it expires. */
void rn_worker_note_written(struct rn_worker *w, int64_t sent_ns);
/* Returns nanoseconds to the next step. */
int64_t rn_worker_write(struct rn_worker *w, int64_t now_ns);
/* A handler wants the position behind its batch to be stored. */
void rn_worker_checkpoint(struct rn_worker *w, struct rn_checkpoint_wait *c);
/* Ends all checkpoints that wait. */
void rn_worker_end_checkpoints(struct rn_worker *w, runnel_code code);
/* The handler that had the write turn has given its verdict. */
void rn_worker_end_grant(struct rn_worker *w, bool is_done);
/* The position that a handler asked to store is not to be stored any more. */
void rn_worker_forget_manual(struct rn_worker *w);

#endif
