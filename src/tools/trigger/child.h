/* child.h -- processes that run a handler's command.
 *
 * A command is given to /bin/sh, in a process group of its own, so that it can
 * be killed with all that it has started, and so that Ctrl-C in a terminal does
 * not reach it: the trigger decides when it ends.  Its environment is the
 * trigger's without the keys, and with the facts of the call.
 *
 * A child belongs to one thread at a time.
 */
#ifndef RN_TOOLS_TRIGGER_CHILD_H
#define RN_TOOLS_TRIGGER_CHILD_H

#include "tools/trigger/guard.h"
#include "tools/trigger/handler.h"

struct rn_child {
    pid_t pid;  /* 0: there is none */
    int pid_fd; /* readable when it has ended */
    int in;     /* its standard input, not blocking; -1: closed */
    int out;    /* its standard output, not blocking; -1: it is the trigger's */
};

enum rn_child_pipes { RN_CHILD_INPUT, RN_CHILD_INPUT_AND_OUTPUT };

/* `call` gives the facts for the environment; NULL: none.  0, or an errno
 * value. */
int rn_child_start(struct rn_child *child, const struct rn_guard *guard,
                   const char *command, enum rn_child_pipes pipes,
                   const struct rn_handler_call *call) RN_CHECK;

/* Writes as much as the pipe takes now and shortens `rest`.  False: the child
 * does not read any more. */
bool rn_child_write(struct rn_child *child, struct rn_view *rest) RN_CHECK;
void rn_child_close_input(struct rn_child *child);

/* Waits until it has ended by itself, at most that long. */
void rn_child_await(struct rn_child *child, int ms);

/* Kills what is left of its process group, waits for the child, and gives its
 * status as waitpid(2) does.  A child that has ended by itself keeps its
 * status. */
int rn_child_end(struct rn_child *child, const struct rn_guard *guard);

/* The answer that such a status is; see exec.h. */
void rn_child_judge(int status, struct rn_handler_answer *answer);

#endif
