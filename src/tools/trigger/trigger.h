/* trigger.h -- a running trigger: a processor whose handler is a program or a
 * web service.
 *
 * Threads: the main thread starts it, waits and drains; librunnel's call the
 * handler, the events and the estimator; each endpoint has one.
 */
#ifndef RN_TOOLS_TRIGGER_TRIGGER_H
#define RN_TOOLS_TRIGGER_TRIGGER_H

#include "tools/trigger/dead_letter.h"
#include "tools/trigger/guard.h"
#include "tools/trigger/plan.h"

#include <pthread.h>
#include <stdatomic.h>

enum { RN_ANSWER_KINDS = RN_ANSWER_BROKEN + 1 };

struct rn_trigger {
    struct rn_trigger_plan plan;
    struct rn_target target;
    runnel_container *leases, *graveyard;
    struct rn_guard guard;
    struct rn_handler *handler;
    struct rn_dead_letters letters;
    runnel_processor *processor;
    bool wants_json;

    /* Calls of the handler since the start. */
    atomic_uint_fast64_t calls[RN_ANSWER_KINDS], timeouts, call_ns;

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool must_stop;
    int status; /* enum rn_exit, once it must stop */
    bool has_lag;
    int64_t lag_changes, lag_ms;
};

/* Ends the trigger: it drains and exits with the status, an enum rn_exit, of
 * the first call.  Any thread. */
void rn_trigger_stop(struct rn_trigger *trigger, int status);

#endif
