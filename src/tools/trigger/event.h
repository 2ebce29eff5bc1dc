/* event.h -- prints the events of the processor, a line each. */
#ifndef RN_TOOLS_TRIGGER_EVENT_H
#define RN_TOOLS_TRIGGER_EVENT_H

#include "tools/trigger/trigger.h"

/* The callback for runnel_processor_options.event: prints the event, and ends
 * the trigger if the processor cannot go on. */
void rn_trigger_event(void *trigger, const runnel_event *event);

#endif
