/* signals.h -- SIGINT, SIGTERM, SIGHUP and SIGWINCH, taken by one thread.
 *
 * rn_signals_begin blocks these signals in every thread and starts a thread
 * that waits for them, so that no code runs in a signal handler.  The first of
 * SIGINT, SIGTERM and SIGHUP calls the registered function on that thread; the
 * second restores the terminal and ends the process at once.  SIGPIPE is
 * ignored: out.h reports a broken pipe.
 *
 * A child process inherits the blocked signals; the function that forks
 * unblocks them in the child with rn_signals_reset.
 */
#ifndef RN_TOOLS_COMMON_SIGNALS_H
#define RN_TOOLS_COMMON_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* Called once, by main, before there are other threads.  False: it failed. */
bool rn_signals_begin(void);

/* Did one of SIGINT, SIGTERM and SIGHUP come?  Any thread. */
bool rn_interrupted(void);

typedef void rn_interrupt_fn(void *context);

/* Registers what a signal does, in the place of the last registration; NULL:
 * nothing.  Called at once if the signal has come already.  When this returns,
 * the earlier function is not running and will not be called. */
void rn_on_interrupt(rn_interrupt_fn *fn, void *context);

/* A descriptor for poll: a byte to read for each SIGWINCH, end of file once
 * interrupted. */
int rn_signals_fd(void);

/* Waits that long, on the thread that has no screen open.  False: interrupted,
 * at once. */
bool rn_signals_pause(uint64_t ms);

/* In a child, between fork and exec: the default signals again. */
void rn_signals_reset(void);

#endif
