/* host.h -- a host of a change feed processor, as a step function.
 *
 * One task of the env steps the host; it owns all state of leases, batches
 * and requests.  Handlers, the event callback and a user's lease store run on
 * tasks of their own and send messages.  So a whole fleet can run in one
 * thread, in virtual time.
 *
 *   STARTING   the lease store is initialised (bootstrap.h)
 *   RUNNING    leases are balanced, read and handled
 *   DRAINING   handlers finish, leases are released
 *   STOPPED, FAILED
 */
#ifndef RN_CLIENT_PROCESSOR_HOST_H
#define RN_CLIENT_PROCESSOR_HOST_H

#include "client/lease/update.h"
#include "client/processor/config.h"

struct rn_delivery;
struct rn_host;
struct rn_lease_store_call;
struct rn_message;

/* ---- for the threads of the program -------------------------------------- */

/* Takes the config, also if it fails.  Starts the task. */
runnel_code rn_host_start(struct rn_config *config, struct rn_host **out,
                          runnel_error *error) RN_CHECK;
/* Waits until the lease store is initialised, at most config.o.start_ms. */
runnel_code rn_host_wait_ready(struct rn_host *h, runnel_error *error) RN_CHECK;
/* Begins to drain.  Any thread; also twice. */
void rn_host_drain(struct rn_host *h, uint32_t deadline_ms);
/* Waits until it is STOPPED or FAILED.  RUNNEL_TIMEOUT if batches had to be
 * given up. */
runnel_code rn_host_wait_stopped(struct rn_host *h, uint32_t deadline_ms,
                                 runnel_error *error);
/* Drained or not: waits for every callback, frees the host. */
void rn_host_free(struct rn_host *h);
/* A crash, for simulations: no request is sent any more. */
void rn_host_kill(struct rn_host *h);

/* Makes a simulated one step soon: its transport has something. */
void rn_host_wake(struct rn_host *h);

void rn_host_read_stats(struct rn_host *h, runnel_processor_stats *out);
void rn_host_each_lease(struct rn_host *h,
                        bool (*each)(void *context,
                                     const runnel_lease_health *lease),
                        void *context);

/* For runnel_batch_ack and runnel_batch_checkpoint. */
void rn_host_ack(struct rn_delivery *d, runnel_verdict verdict);
runnel_code rn_host_checkpoint(struct rn_delivery *d, void *transaction,
                               runnel_error *error);

/* ---- for the files of this folder, under the host's lock ----------------- */

void rn_host_tell(struct rn_host *h, runnel_event_kind kind,
                  runnel_severity severity, const char *lease,
                  const runnel_error *error, const char *fmt, ...)
    RN_PRINTF(6, 7);
void rn_host_put(struct rn_host *h, runnel_event *event, const char *fmt, ...)
    RN_PRINTF(3, 4);
/* A request failed and is tried again; `what` cannot be done meanwhile. */
void rn_host_tell_failure(struct rn_host *h, const char *lease,
                          const runnel_error *error, const char *what);
int64_t rn_host_step(void *host);
/* Ends a wait of its transport or its task.  Any thread. */
void rn_host_rouse(void *host);
void rn_host_post(struct rn_host *h, struct rn_message *m);
/* The processor cannot continue; its leases are closed for the reason. */
void rn_host_fail(struct rn_host *h, runnel_close_reason reason,
                  runnel_code code, const runnel_error *error,
                  const char *what);
/* Another host that started later has our name: the newest wins. */
void rn_host_clash(struct rn_host *h);
/* The store's clock now. */
int64_t rn_host_store_ms(const struct rn_host *h);
/* Learns the store's clock from an answer, counts the request. */
void rn_host_learn(struct rn_host *h, const struct rn_lease_store_call *call);
void rn_host_draw_session(struct rn_host *h, char out[RN_SESSION_MAX]);
/* A value of a percentage between `low` and `high` of `ms`, in nanoseconds. */
int64_t rn_host_jitter(struct rn_host *h, uint32_t ms, unsigned low,
                       unsigned high);

/* The next balance pass begins a second after the last one ended. */
void rn_host_hasten_pass(struct rn_host *h);

#endif
