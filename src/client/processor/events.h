/* events.h -- the events of a processor: a bounded queue and the thread that
 * calls the program's callback, in order.
 *
 * If the callback is slow, events are lost and counted; changes never are.
 *
 * Threads: any may put.
 */
#ifndef RN_CLIENT_PROCESSOR_EVENTS_H
#define RN_CLIENT_PROCESSOR_EVENTS_H

#include "base/env.h"

#include <runnel/processor.h>

enum {
    RN_EVENTS_MAX = 1024,       /* the capacity of the queue */
    RN_EVENT_MESSAGE_MAX = 320, /* an error's message and what it means */
};

struct rn_events;

runnel_code rn_events_new(struct rn_env *env, runnel_event_fn each,
                          void *context, struct rn_events **out) RN_CHECK;
/* Delivers all queued events first, on this thread.  NULL is fine. */
void rn_events_free(struct rn_events *e);

/* Everything is copied. */
void rn_events_put(struct rn_events *e, const runnel_event *event);
uint64_t rn_events_lost(struct rn_events *e);

#endif
