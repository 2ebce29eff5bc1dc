/* exec.h -- a handler that is a process for each call.
 *
 * The process gets the body on standard input and the facts in its environment.
 * Its end is the answer:
 *
 *   status 0           done
 *   status 75          retry (EX_TEMPFAIL)
 *   status 65          poison (EX_DATAERR)
 *   status 126, 127    the command cannot be executed: the trigger ends
 *   anything else      retry; also a signal and the time limit, at which the
 *                      process group is killed
 */
#ifndef RN_TOOLS_TRIGGER_EXEC_H
#define RN_TOOLS_TRIGGER_EXEC_H

#include "tools/trigger/child.h"

/* The command is borrowed.  NULL without memory. */
struct rn_handler *rn_exec_new(const char *command,
                               const struct rn_guard *guard) RN_CHECK;

#endif
