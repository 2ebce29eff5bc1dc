/* engine.h -- a host of a change feed processor, as a step function.
 *
 * One task of the env steps the engine; it owns all state of leases, batches
 * and requests.  Handlers, the event callback and a user's lease store run on
 * tasks of their own and send messages.  So a whole fleet can run in one
 * thread, in virtual time.
 *
 *   STARTING   the lease store is initialised (bootstrap.h)
 *   RUNNING    leases are balanced, read and handled
 *   DRAINING   handlers finish, leases are released
 *   STOPPED, FAILED
 */
#ifndef RN_CLIENT_PROCESSOR_ENGINE_H
#define RN_CLIENT_PROCESSOR_ENGINE_H

#include "client/processor/config.h"
#include "client/processor/window.h"

struct rn_engine;

/* Takes the config, also if it fails.  Starts the task. */
runnel_code rn_engine_start(struct rn_config *config, struct rn_engine **out,
                            runnel_error *error) RN_CHECK;
/* Waits until the lease store is initialised, at most config.o.start_ms. */
runnel_code rn_engine_wait_ready(struct rn_engine *e,
                                 runnel_error *error) RN_CHECK;
/* Begins to drain.  Any thread; also twice. */
void rn_engine_drain(struct rn_engine *e, uint32_t deadline_ms);
/* Waits until it is STOPPED or FAILED.  RUNNEL_TIMEOUT if batches had to be
 * given up. */
runnel_code rn_engine_wait_stopped(struct rn_engine *e, uint32_t deadline_ms,
                                   runnel_error *error);
/* Drained or not: waits for every callback, frees the engine. */
void rn_engine_free(struct rn_engine *e);
/* A crash, for simulations: no request is sent any more. */
void rn_engine_kill(struct rn_engine *e);

/* Makes a simulated one step soon: its transport has something. */
void rn_engine_wake(struct rn_engine *e);

void rn_engine_read_stats(struct rn_engine *e, runnel_processor_stats *out);
void rn_engine_each_lease(struct rn_engine *e,
                          bool (*each)(void *context,
                                       const runnel_lease_health *lease),
                          void *context);

/* For runnel_batch_ack and runnel_batch_checkpoint. */
void rn_engine_ack(struct rn_delivery *d, runnel_verdict verdict);
runnel_code rn_engine_checkpoint(struct rn_delivery *d, void *transaction,
                                 runnel_error *error);

#endif
