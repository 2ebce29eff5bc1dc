/* fault_guard.c -- see fault_guard.h. */
#include "store/integrity/fault_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

/* Per thread, so that one thread's fault does not affect the others. */
static _Thread_local struct rn_fault_guard *volatile current;

static struct sigaction before[2];
static const int signals[2] = { SIGBUS, SIGSEGV };

/* Without a guard the fault is not ours: the previous handler gets the signal
 * when the instruction faults again. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    struct rn_fault_guard *g = current;
    ucontext_t *interrupted = context;
    int error = errno;
    bool mended;

    if (!g) {
        sigaction(number, &before[number == SIGBUS ? 0 : 1], NULL);
        return;
    }
    mended = number == SIGSEGV && g->remedy &&
             g->remedy->mend(g->remedy, info->si_addr);
    errno = error;
    if (mended)
        return;
    /* A jump out of a handler does not restore the blocked signals.  Ours
     * blocks none, but another handler may have been interrupted. */
    pthread_sigmask(SIG_SETMASK, &interrupted->uc_sigmask, NULL);
    siglongjmp(g->back, 1);
}

static void install(int i)
{
    struct sigaction action = { .sa_sigaction = on_fault,
                                .sa_flags =
                                    SA_NODEFER | SA_ONSTACK | SA_SIGINFO };
    struct sigaction now;

    sigemptyset(&action.sa_mask);
    sigaction(signals[i], NULL, &now);
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_fault)
        return;
    before[i] = now;
    sigaction(signals[i], &action, NULL);
}

void rn_fault_guard_install(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    for (int i = 0; i < 2; i++)
        install(i);
    pthread_mutex_unlock(&lock);
}

void rn_fault_guard_enter(struct rn_fault_guard *g,
                          struct rn_fault_guard_remedy *remedy)
{
    g->remedy = remedy;
    g->outer = current;
    current = g;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void rn_fault_guard_leave(struct rn_fault_guard *g)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    current = g->outer;
}

enum rn_code rn_fault_guard_caught(struct rn_fault_guard *g)
{
    rn_fault_guard_leave(g);
    return RN_CORRUPT;
}

void rn_fault_guard_trip(void)
{
    if (current)
        siglongjmp(current->back, 1);
    abort();
}
