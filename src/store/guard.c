/* guard.c -- see guard.h. */
#include "store/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

/* Per thread, so that one thread's fault leaves the others alone. */
static _Thread_local struct rn_guard *volatile current;

static struct sigaction before[2];
static const int signals[2] = { SIGBUS, SIGSEGV };

/* Without a guard the fault is not ours: whoever had the signal before gets
 * it, when the instruction faults again. */
static void on_fault(int number)
{
    struct rn_guard *g = current;

    if (g)
        siglongjmp(g->back, 1);
    sigaction(number, &before[number == SIGBUS ? 0 : 1], NULL);
}

static void install(void)
{
    struct sigaction action = { .sa_handler = on_fault,
                                .sa_flags = SA_NODEFER | SA_ONSTACK };

    sigemptyset(&action.sa_mask);
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &action, &before[i]);
}

void rn_guard_install(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, install);
}

void rn_guard_enter(struct rn_guard *g)
{
    current = g;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void rn_guard_leave(struct rn_guard *g)
{
    (void)g;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    current = NULL;
}

enum rn_code rn_guard_caught(struct rn_guard *g)
{
    rn_guard_leave(g);
    return RN_CORRUPT;
}

void rn_guard_trip(void)
{
    if (current)
        siglongjmp(current->back, 1);
    abort();
}
