/* ack.h -- the acknowledgement of a batch, one line of JSON.
 *
 *   {"ok":true}                       done
 *   {"ok":false}                      retry
 *   {"ok":false,"retry":false}        poison: no further attempt
 *   {"fail":["a","b"]}                these ids are retried, the rest is done
 *   {"fail":["a"],"retry":false}      these ids are poison, the rest is done
 *
 * "why" gives the reason of a failure.  "batch", if it is there, must be the
 * number of the batch: a line that is one too many cannot acknowledge the batch
 * behind it.
 */
#ifndef RN_TOOLS_TRIGGER_ACK_H
#define RN_TOOLS_TRIGGER_ACK_H

#include "tools/trigger/handler.h"

/* Turns the line into an answer, and marks the changes that failed.  False: the
 * line is no acknowledgement of this batch; nothing was marked. */
bool rn_ack_parse(struct rn_view line, uint64_t number,
                  const struct rn_handler_call *call,
                  struct rn_handler_answer *answer) RN_CHECK;

#endif
