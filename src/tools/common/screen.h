/* screen.h -- a live view on the terminal: frames out, keys in.
 *
 *   struct rn_screen *screen;
 *   status = rn_screen_open(&screen);
 *   while (!status && key != 'q' && key != RN_KEY_INTERRUPT) {
 *       rn_screen_begin(screen);
 *       rn_screen_line(screen, "...");
 *       rn_screen_end(screen);
 *       key = rn_screen_wait(screen, 1000);
 *   }
 *   rn_screen_close(screen);
 *
 * The view uses the alternate screen, so that the user's text is there again
 * when it ends.  Keys come one by one without echo; Ctrl-C stays a signal, and
 * Ctrl-Z gives the terminal back to the shell until the command continues.  A
 * frame is cut to the size of the terminal, which is read anew for each frame.
 * There is one screen in a process; one thread at a time uses it.
 */
#ifndef RN_TOOLS_COMMON_SCREEN_H
#define RN_TOOLS_COMMON_SCREEN_H

#include "base/err.h"

#include <stdint.h>

/* What rn_screen_wait returns besides a character. */
enum rn_screen_key {
    RN_KEY_NONE = 0,    /* the time is over */
    RN_KEY_RESIZE = -1, /* draw again: another size, or back from Ctrl-Z */
    RN_KEY_INTERRUPT = -2,
    RN_KEY_UP = -3,
    RN_KEY_DOWN = -4,
    RN_KEY_LEFT = -5,
    RN_KEY_RIGHT = -6,
};

struct rn_screen;

/* Returns an enum rn_exit; RN_EXIT_USAGE, after the line that says so, if
 * standard input or output is not a terminal, or TERM is "dumb". */
int rn_screen_open(struct rn_screen **out) RN_CHECK;
/* Restores the terminal; NULL is fine. */
void rn_screen_close(struct rn_screen *screen);

/* The size of the frame; valid from rn_screen_begin to rn_screen_end. */
uint32_t rn_screen_rows(const struct rn_screen *screen);
uint32_t rn_screen_columns(const struct rn_screen *screen);

/* Begins a frame, adds lines to it, and shows it.  A line may hold UTF-8 and
 * colours (out.h); what does not fit is cut. */
void rn_screen_begin(struct rn_screen *screen);
void rn_screen_line(struct rn_screen *screen, const char *fmt, ...)
    RN_PRINTF(2, 3);
void rn_screen_end(struct rn_screen *screen);

/* Waits for a key, a new size or a signal for at most that long. */
int rn_screen_wait(struct rn_screen *screen, uint32_t ms);

/* Restores the terminal if a screen is open, for a thread that is about to
 * end the process.  Any thread; harmless at any time. */
void rn_screen_restore(void);

#endif
