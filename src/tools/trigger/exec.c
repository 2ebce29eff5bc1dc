/* exec.c -- a process for each call. */
#include "tools/trigger/exec.h"

#include <poll.h>

struct exec {
    struct rn_handler handler;
    const char *command;
    const struct rn_guard *guard;
};

/* Feeds the child and waits until it has ended.  False: the time is over, or
 * the call was cancelled. */
static bool feed_child(struct rn_child *child,
                       const struct rn_handler_call *call)
{
    struct rn_view rest = call->body;
    int slice;

    while (!rn_handler_is_cancelled(call) &&
           (slice = rn_handler_slice_ms(call)) > 0) {
        struct pollfd fds[] = { { .fd = child->pid_fd, .events = POLLIN },
                                { .fd = child->in, .events = POLLOUT } };
        if (poll(fds, 2, slice) <= 0)
            continue;
        if (fds[0].revents)
            return true;
        /* A handler need not read all that it is given. */
        if (!rn_child_write(child, &rest) || rest.len == 0)
            rn_child_close_input(child);
    }
    return false;
}

static void call_exec(struct rn_handler *handler,
                      const struct rn_handler_call *call,
                      struct rn_handler_answer *answer)
{
    struct exec *e = (struct exec *)handler;
    struct rn_child child;
    int error =
        rn_child_start(&child, e->guard, e->command, RN_CHILD_INPUT, call);
    bool has_ended;
    int status;

    if (error) {
        rn_handler_answer_set(answer, RN_ANSWER_RETRY,
                              "the handler cannot be started: %s",
                              strerror(error));
        return;
    }
    has_ended = feed_child(&child, call);
    status = rn_child_end(&child, e->guard);
    if (has_ended) {
        rn_child_judge(status, answer);
        return;
    }
    rn_handler_answer_set(answer, RN_ANSWER_RETRY,
                          rn_handler_is_cancelled(call)
                              ? "the handler was stopped"
                              : "the handler took too long and was killed");
    answer->is_timeout = !rn_handler_is_cancelled(call);
}

static void close_exec(struct rn_handler *handler)
{
    rn_free(handler);
}

struct rn_handler *rn_exec_new(const char *command,
                               const struct rn_guard *guard)
{
    struct exec *e = rn_new(sizeof(*e));

    if (!e)
        return NULL;
    *e = (struct exec){ .handler = { .call = call_exec, .close = close_exec },
                        .command = command,
                        .guard = guard };
    return &e->handler;
}
