/* guard.c -- a process that reads a pipe and kills process groups. */
#include "tools/trigger/guard.h"

#include "tools/trigger/handler.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Co-processes of handlers, and commands for dead letters. */
enum { GROUPS_MAX = 2 * RN_SLOTS_MAX };

/* Runs in a process that was forked from one with threads: only functions that
 * are async-signal-safe. */
static void watch(int fd)
{
    static int32_t groups[GROUPS_MAX];
    size_t count = 0;
    int32_t message;
    ssize_t n;

    /* A message is smaller than PIPE_BUF, so it comes whole. */
    while ((n = read(fd, &message, sizeof(message))) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        if (n != sizeof(message))
            continue;
        if (message > 0 && count < GROUPS_MAX)
            groups[count++] = message;
        for (size_t i = 0; message < 0 && i < count; i++) {
            if (groups[i] == -message)
                groups[i] = groups[--count];
        }
    }
    for (size_t i = 0; i < count; i++)
        kill(-groups[i], SIGKILL);
    _exit(0);
}

bool rn_guard_start(struct rn_guard *guard)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC))
        return false;
    guard->pid = fork();
    if (guard->pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (guard->pid == 0) {
        prctl(PR_SET_NAME, "runnel-guard");
        /* Keeps nothing of the trigger's open, such as its output. */
        if (dup2(ends[0], 0) < 0)
            _exit(1);
        close_range(1, UINT_MAX, 0);
        watch(0);
    }
    close(ends[0]);
    guard->fd = ends[1];
    return true;
}

void rn_guard_stop(struct rn_guard *guard)
{
    if (guard->pid <= 0)
        return;
    close(guard->fd);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    *guard = (struct rn_guard){ .fd = -1 };
}

/* Ignores a failure: if the guard was killed, nothing reads messages. */
static void send(const struct rn_guard *guard, int32_t message)
{
    while (write(guard->fd, &message, sizeof(message)) < 0 && errno == EINTR)
        continue;
}

void rn_guard_add(const struct rn_guard *guard, pid_t group)
{
    send(guard, (int32_t)group);
}

void rn_guard_remove(const struct rn_guard *guard, pid_t group)
{
    send(guard, -(int32_t)group);
}
