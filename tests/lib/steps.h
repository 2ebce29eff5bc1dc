/* steps.h -- how many instructions a call takes, counted one by one.
 *
 * A clock says little on a busy machine; a count is the same every time.  A
 * child process makes the call between two stops and is led from the first to
 * the second in single steps.  What the stops themselves take is in the count,
 * alike each time.
 */
#ifndef RN_TESTS_LIB_STEPS_H
#define RN_TESTS_LIB_STEPS_H

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void steps_fn(void *context);

static inline void steps_be_counted(steps_fn *call, void *context)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
        _exit(1);
    raise(SIGSTOP);
    call(context);
    raise(SIGSTOP);
    _exit(0);
}

/* -1 where processes may not be traced. */
static inline long steps_of(steps_fn *call, void *context)
{
    pid_t child = fork();
    long count = 0;
    int status = 0;

    if (child == 0)
        steps_be_counted(call, context);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return -1;
    do {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL))
            count = -1;
        else if (waitpid(child, &status, 0) == child)
            count++;
    } while (count > 0 && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP)
        count = -1;
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
    return count;
}

#endif
