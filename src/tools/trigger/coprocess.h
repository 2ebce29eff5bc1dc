/* coprocess.h -- a handler that is a set of long-lived processes.
 *
 * A co-process gets one line on standard input for each call, and answers with
 * one line on standard output, an acknowledgement (see ack.h):
 *
 *   {"batch":1,"id":"...","lease":"0","attempt":1,...,"changes":[...]}
 *
 * It ends when its input ends.  One that ends early, prints something else or
 * takes too long is killed; the batch is retried with a new one.
 */
#ifndef RN_TOOLS_TRIGGER_COPROCESS_H
#define RN_TOOLS_TRIGGER_COPROCESS_H

#include "tools/trigger/child.h"

/* At most `count` processes at once, started when they are needed.  The command
 * is borrowed.  NULL without memory. */
struct rn_handler *rn_coprocess_new(const char *command, uint32_t count,
                                    const struct rn_guard *guard) RN_CHECK;

#endif
