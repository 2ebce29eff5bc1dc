/* child.c -- fork, exec, kill and wait. */
#include "tools/trigger/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

extern char **environ;

/* What no handler must see. */
static bool is_secret(const char *variable)
{
    return strncmp(variable, "RUNNEL_KEY=", 11) == 0 ||
           (strncmp(variable, "RUNNEL_ACCOUNT=", 15) == 0 &&
            strstr(variable, "AccountKey="));
}

/* An environment for execve(2) in one block: the pointers, then the texts of
 * the facts. */
static char **new_environment(const struct rn_handler_call *call)
{
    size_t facts = call ? call->fact_count : 0;
    size_t count = 0, text_max = sizeof(call->facts[0].value) + 64;
    char **block, *text;

    for (char **at = environ; *at; at++)
        count++;
    block = rn_new((count + facts + 1) * sizeof(*block) + facts * text_max);
    if (!block)
        return NULL;
    text = (char *)(block + count + facts + 1);
    count = 0;
    for (char **at = environ; *at; at++) {
        if (!is_secret(*at))
            block[count++] = *at;
    }
    for (size_t i = 0; i < facts; i++, text += text_max) {
        snprintf(text, text_max, "%s=%s", call->facts[i].variable,
                 call->facts[i].value);
        block[count++] = text;
    }
    return block;
}

/* In the new process: only functions that are async-signal-safe. */
static void become(const struct rn_guard *guard, const char *command,
                   char **environment, int in, int out)
{
    char shell[] = "sh", option[] = "-c";
    char *argv[] = { shell, option, (char *)command, NULL };
    sigset_t none;

    setpgid(0, 0);
    rn_guard_add(guard, getpid());
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    if (dup2(in, STDIN_FILENO) < 0 ||
        (out >= 0 && dup2(out, STDOUT_FILENO) < 0) ||
        sigprocmask(SIG_SETMASK, &none, NULL))
        _exit(126);
    close_range(STDERR_FILENO + 1, UINT_MAX, 0);
    execve("/bin/sh", argv, environment);
    _exit(127);
}

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0)
            close(pair[i]);
        pair[i] = -1;
    }
}

/* Makes the pipes; our ends do not block. */
static bool open_pipes(int in[2], int out[2], enum rn_child_pipes pipes)
{
    if (pipe2(in, O_CLOEXEC))
        return false;
    if (pipes == RN_CHILD_INPUT_AND_OUTPUT && pipe2(out, O_CLOEXEC))
        return false;
    return !fcntl(in[1], F_SETFL, O_NONBLOCK) &&
           (out[0] < 0 || !fcntl(out[0], F_SETFL, O_NONBLOCK));
}

int rn_child_start(struct rn_child *child, const struct rn_guard *guard,
                   const char *command, enum rn_child_pipes pipes,
                   const struct rn_handler_call *call)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 };
    char **environment = new_environment(call);
    int error = 0;

    *child = (struct rn_child){ .pid_fd = -1, .in = -1, .out = -1 };
    if (!environment)
        return ENOMEM;
    if (!open_pipes(in, out, pipes) || (child->pid = fork()) < 0)
        error = errno;
    else if (child->pid == 0)
        become(guard, command, environment, in[0], out[1]);
    rn_free(environment);
    if (!error) {
        /* The child does the same: either may be first. */
        setpgid(child->pid, child->pid);
        child->pid_fd = pidfd_open(child->pid, 0);
        child->in = in[1];
        child->out = out[0];
        in[1] = out[0] = -1;
        error = child->pid_fd < 0 ? errno : 0;
        if (error)
            rn_child_end(child, guard);
    } else {
        child->pid = 0;
    }
    close_pair(in);
    close_pair(out);
    return error;
}

bool rn_child_write(struct rn_child *child, struct rn_view *rest)
{
    while (rest->len > 0) {
        ssize_t n = write(child->in, rest->at, rest->len);
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            *rest = rn_view_of(rest->at + n, rest->len - (size_t)n);
    }
    return true;
}

void rn_child_close_input(struct rn_child *child)
{
    if (child->in >= 0)
        close(child->in);
    child->in = -1;
}

void rn_child_await(struct rn_child *child, int ms)
{
    struct pollfd fd = { .fd = child->pid_fd, .events = POLLIN };

    if (child->pid > 0)
        poll(&fd, 1, ms);
}

int rn_child_end(struct rn_child *child, const struct rn_guard *guard)
{
    int status = 0;

    if (child->pid <= 0)
        return 0;
    /* Until it is waited for, its id is not given to another process. */
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL); /* it may have left the group */
    rn_guard_remove(guard, child->pid);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    rn_child_close_input(child);
    if (child->out >= 0)
        close(child->out);
    if (child->pid_fd >= 0)
        close(child->pid_fd);
    *child = (struct rn_child){ .pid_fd = -1, .in = -1, .out = -1 };
    return status;
}

void rn_child_judge(int status, struct rn_handler_answer *answer)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

    if (code == 0)
        *answer = (struct rn_handler_answer){ .kind = RN_ANSWER_DONE };
    else if (code == EX_DATAERR) {
        rn_handler_answer_set(answer, RN_ANSWER_POISON,
                              "the handler refused the changes (status 65)");
    } else if (code == 126 || code == 127) {
        rn_handler_answer_set(answer, RN_ANSWER_BROKEN,
                              "the handler cannot be executed (status %d)",
                              code);
    } else if (code > 0) {
        rn_handler_answer_set(answer, RN_ANSWER_RETRY,
                              "the handler exited with status %d", code);
    } else {
        rn_handler_answer_set(answer, RN_ANSWER_RETRY,
                              "the handler was ended by signal %d",
                              WTERMSIG(status));
    }
}
