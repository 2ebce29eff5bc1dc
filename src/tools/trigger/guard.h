/* guard.h -- ends the processes of handlers when the trigger itself is gone.
 *
 * A trigger that is killed cannot end its handlers.  A handler that outlives it
 * could write after the handler of the next owner of the lease, and so break
 * the order of a partition key.  The guard is a process that reads a pipe from
 * the trigger: every process that is started adds its process group, and when
 * the pipe ends because the trigger has died, the guard kills all that are
 * left.
 *
 * Any thread.
 */
#ifndef RN_TOOLS_TRIGGER_GUARD_H
#define RN_TOOLS_TRIGGER_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

struct rn_guard {
    int fd; /* the writing end of the pipe */
    pid_t pid;
};

/* False: errno says why. */
bool rn_guard_start(struct rn_guard *guard);
/* Ends the guard, which kills the process groups that were not removed. */
void rn_guard_stop(struct rn_guard *guard);

/* Async-signal-safe: the new process calls it between fork and exec, so that
 * no moment is left in which it could be missed. */
void rn_guard_add(const struct rn_guard *guard, pid_t group);
/* Before the process is waited for, while its id cannot be another's. */
void rn_guard_remove(const struct rn_guard *guard, pid_t group);

#endif
