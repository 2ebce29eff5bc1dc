/* progress.h -- a progress bar on standard error: share, rate, time left.
 *
 * Silent when standard error is not a terminal, or a dumb one.  Redrawn at most
 * ten times a second.  One thread at a time.
 */
#ifndef RN_TOOLS_COMMON_PROGRESS_H
#define RN_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct rn_progress {
    const char *label; /* "copying" */
    const char *unit;  /* "documents" */
    uint64_t total;    /* 0: not known; no share, no time left */
    uint64_t done;

    /* private */
    int64_t began_ns, drawn_ns;
    uint64_t began_done;
    bool is_shown;
};

/* Fills in the struct and draws the bar.  `done`: what an earlier run did,
 * which does not count for the rate. */
void rn_progress_begin(struct rn_progress *progress, const char *label,
                       const char *unit, uint64_t total, uint64_t done);
/* Sets how much is done now; `total` may be changed in between. */
void rn_progress_set(struct rn_progress *progress, uint64_t done);
/* Draws the last state and ends the line. */
void rn_progress_end(struct rn_progress *progress);

#endif
