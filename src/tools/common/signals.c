/* signals.c -- a thread that waits for signals. */
#include "tools/common/signals.h"

#include "base/env.h"
#include "tools/common/screen.h"
#include "tools/tool.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock; /* guards fn and context, and is held while fn runs */
    rn_interrupt_fn *fn;
    void *context;
    atomic_bool interrupted;
    int wake[2];
} state = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = { -1, -1 } };

static sigset_t taken_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGWINCH);
    return set;
}

static void interrupt(void)
{
    if (atomic_exchange(&state.interrupted, true)) {
        rn_screen_restore();
        _exit(RN_EXIT_INTERRUPTED);
    }
    close(state.wake[1]);
    pthread_mutex_lock(&state.lock);
    if (state.fn)
        state.fn(state.context);
    pthread_mutex_unlock(&state.lock);
}

static void *wait_for_signals(void *nothing)
{
    sigset_t set = taken_signals();
    int number;

    (void)nothing;
    for (;;) {
        if (sigwait(&set, &number))
            continue;
        if (number != SIGWINCH)
            interrupt();
        else if (!rn_interrupted())
            (void)!write(state.wake[1], "w", 1);
    }
    return NULL;
}

bool rn_signals_begin(void)
{
    sigset_t set = taken_signals();
    pthread_t thread;

    signal(SIGPIPE, SIG_IGN);
    if (pipe2(state.wake, O_CLOEXEC | O_NONBLOCK) ||
        pthread_sigmask(SIG_BLOCK, &set, NULL) ||
        pthread_create(&thread, NULL, wait_for_signals, NULL))
        return false;
    pthread_detach(thread);
    return true;
}

bool rn_interrupted(void)
{
    return atomic_load(&state.interrupted);
}

void rn_on_interrupt(rn_interrupt_fn *fn, void *context)
{
    pthread_mutex_lock(&state.lock);
    state.fn = fn;
    state.context = context;
    if (fn && rn_interrupted())
        fn(context);
    pthread_mutex_unlock(&state.lock);
}

int rn_signals_fd(void)
{
    return state.wake[0];
}

bool rn_signals_pause(uint64_t ms)
{
    struct pollfd fd = { .fd = state.wake[0], .events = POLLIN };
    struct rn_env *env = rn_env_real();
    int64_t until = rn_mono_ns(env) + (int64_t)ms * 1000000;
    int64_t left;
    char byte;

    while (!rn_interrupted() && (left = until - rn_mono_ns(env)) > 0) {
        left = left / 1000000 + 1;
        if (poll(&fd, 1, left > INT32_MAX ? INT32_MAX : (int)left) > 0)
            (void)!read(fd.fd, &byte, 1); /* a new size, or the end */
    }
    return !rn_interrupted();
}

void rn_signals_reset(void)
{
    sigset_t set = taken_signals();

    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}
