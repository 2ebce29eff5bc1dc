/* waiters.h -- readers that have read all there is and wait for more.
 *
 * A waiter is a struct in its owner's memory: thousands of them cost no thread,
 * and a writer that nobody waits for pays one look at a counter.
 *
 *   idle --begin--> looking --park--> parked --wake--> idle
 *                      |                 |
 *                      +--end--> idle    +--dismiss (its client is gone)-->
 * idle
 *
 * A reader says that it looks before it takes its snapshot.  Whatever moves
 * after that keeps it from parking, and whatever moves once it is parked wakes
 * it: no change falls between the last look and the sleep.
 *
 * What moves is a range of a container; a reader of several ranges waits for
 * any range of its container.  Those who wait for one thing are woken in the
 * order in which they came.  A waiter is woken by its deadline, too, and by the
 * end of everything.
 *
 * Threads: any; a waiter's own calls one at a time, but for dismiss.
 */
#ifndef RN_WAITERS_WAITERS_H
#define RN_WAITERS_WAITERS_H

#include "base/env.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rn_waiters;

#define RN_CONTAINER_ANY UINT32_MAX
enum { RN_RANGE_ANY = -1 };

/* A part of a range, by numbers that rise along it; the ends belong to it.  A
 * part of what somebody cares for may be told as more than it is, never as
 * less. */
struct rn_stretch {
    uint64_t low, high;
};
#define RN_STRETCH_ALL ((struct rn_stretch){ 0, UINT64_MAX })

struct rn_waiter {
    /* Set by its owner before begin. */
    uint32_t container;
    int64_t range;             /* or RN_RANGE_ANY */
    struct rn_stretch stretch; /* of the range, that it cares for */
    int64_t deadline_ns;
    /* Once for each park that was RN_PARKED; from then on the waiter is its
     * owner's again, who may have freed it.  Any thread; must not block. */
    void (*wake)(struct rn_waiter *w);

    /* Its own. */
    struct rn_waiter *before, *after;
    size_t place;   /* among the deadlines */
    uint64_t moves; /* of its bucket, when it began */
    enum { RN_WAITER_IDLE, RN_WAITER_LOOKING, RN_WAITER_PARKED } state;
    bool is_dismissed;
};

enum rn_parked {
    RN_PARKED,
    RN_PARK_MOVED, /* something moved meanwhile: look again */
    RN_PARK_OVER,  /* dismissed, late, or all is ending: do not wait */
};

enum rn_code rn_waiters_new(struct rn_env *env, struct rn_waiters **out,
                            struct rn_err *err) RN_CHECK;
/* Nobody may be parked.  NULL is fine. */
void rn_waiters_free(struct rn_waiters *ws);
/* Wakes all; from now on nobody parks. */
void rn_waiters_close(struct rn_waiters *ws);

void rn_waiters_begin(struct rn_waiters *ws, struct rn_waiter *w);
void rn_waiters_end(struct rn_waiters *ws, struct rn_waiter *w);
/* Unless RN_PARKED, the waiter is idle again. */
enum rn_parked rn_waiters_park(struct rn_waiters *ws, struct rn_waiter *w);
/* Its client is gone: true if it was parked, and then it is not woken; else it
 * will not park any more. */
bool rn_waiters_dismiss(struct rn_waiters *ws, struct rn_waiter *w);

/* A stretch of a range has changed; with RN_RANGE_ANY, any of the container may
 * have, and then of RN_CONTAINER_ANY too, and who waits for less than all of a
 * range is told as well. */
void rn_waiters_move(struct rn_waiters *ws, uint32_t container, int64_t range,
                     struct rn_stretch stretch);

/* How many are parked. */
size_t rn_waiters_count(struct rn_waiters *ws);

#endif
